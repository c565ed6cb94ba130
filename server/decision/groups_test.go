package decision_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

func TestImpliedGroups(t *testing.T) {
	for _, row := range []struct {
		name, user   string
		groups, want []string // want is what is added
	}{
		{"a user", "alice", []string{"dev"}, []string{"system:authenticated"}},
		{"a user who has it", "alice", []string{"system:authenticated"}, nil},
		{"a service account", "system:serviceaccount:ci:bot", nil, []string{"system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"}},
		{"a service account as it is reviewed", "system:serviceaccount:ci:bot", []string{"system:authenticated", "system:serviceaccounts:ci", "system:serviceaccounts"}, nil},
		{"a user named almost like one", "system:serviceaccount:ci", nil, []string{"system:authenticated"}},
		{"a name with a colon", "system:serviceaccount:ci:a:b", nil, []string{"system:authenticated"}},
		{"no namespace", "system:serviceaccount::b", nil, []string{"system:authenticated"}},
		{"an anonymous one", "system:anonymous", nil, []string{"system:unauthenticated"}},
		{"stated to be unauthenticated", "alice", []string{"system:unauthenticated"}, nil},
		{"groups alone", "", []string{"dev"}, nil},
	} {
		r := &decision.Request{User: row.user, Groups: row.groups, Verb: "get", Resource: "pods"}
		completed := r.WithImpliedGroups()
		if got := (decision.Decision{}).For(completed).ImpliedGroups; !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: added %q, want %q", row.name, got, row.want)
		}
		if want := append(slices.Clip(row.groups), row.want...); !reflect.DeepEqual(completed.Groups, want) {
			t.Errorf("%s: got %q, want %q", row.name, completed.Groups, want)
		}
		if completed.WithImpliedGroups() != completed {
			t.Errorf("%s: groups are added twice", row.name)
		}
		if !reflect.DeepEqual(r.Groups, row.groups) {
			t.Errorf("%s: the request was changed to %q", row.name, r.Groups)
		}
	}
}

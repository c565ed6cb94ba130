package reach_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/tests/revisions"
)

// change returns documents with one of them replaced, gone or new.
func (m maker) change(documents []object) []object {
	out := slices.Clone(documents)
	at := m.IntN(len(out))
	switch other := m.documents(); m.IntN(3) {
	case 0:
		out = slices.Delete(out, at, at+1)
		out = slices.DeleteFunc(out, func(d object) bool { // a binding needs its role
			ref, ok := d["roleRef"].(object)
			return ok && !slices.ContainsFunc(out, func(r object) bool {
				return r["kind"] == "ClusterRole" && r["metadata"].(object)["name"] == ref["name"]
			})
		})
	case 1:
		same := func(d object) bool {
			return d["kind"] == out[at]["kind"] && fmt.Sprint(d["metadata"]) == fmt.Sprint(out[at]["metadata"])
		}
		if i := slices.IndexFunc(other, same); i >= 0 {
			out[at] = other[i]
		}
	default:
		out = append(out, object{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": meta("", "new"), "rules": []object{m.rule(), m.rule()}},
			object{"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding", "metadata": meta("", "new"), "roleRef": object{"apiGroup": rbac, "kind": "ClusterRole", "name": "new"},
				"subjects": []object{{"kind": "User", "apiGroup": rbac, "name": pick(m, "u0", "u2")}}})
	}
	return out
}

// The pairs that are opened, closed or in another class are those by which the answers of two
// searches differ, and each names a document that differs.
func TestComparedPathsAreThoseOfTwoSearches(t *testing.T) {
	seen := make(map[string]int)
	for n := range *pairs {
		m := maker{rand.New(rand.NewPCG(*seed+uint64(n), 11))}
		documents := append(m.documents(), admins...)
		after := m.change(documents)
		var sides [2]reach.Options
		for i, list := range [][]object{documents, after} {
			sides[i] = options(t, list, revisions.Of(t, texts(t, list)))
			sides[i].MaxChanges, sides[i].GitOnly = 1, true
		}
		got, err := reach.Compare(t.Context(), sides[0], sides[1])
		if err != nil {
			t.Fatalf("seed %d: %v", *seed+uint64(n), err)
		}
		var classes [2]map[string]string
		for i := range sides {
			o := sides[i]
			o.From = []string{"user:u0", "user:u1", "user:u2", "group:g0", account("n0", "sa"), account("n1", "sa"), account("n0", "default"), account("n1", "default")}
			o.To, o.Known = []string{reach.ClusterAdmin, "namespace-admin:n0", "namespace-admin:n1"}, slices.Concat(o.From, subjects)
			report, err := reach.Find(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			classes[i] = make(map[string]string)
			for _, p := range report.Paths {
				classes[i][p.Subject+" "+p.To] = p.Class.String()
			}
		}
		known := make(map[string]bool)
		check := func(p *diff.ReachChange, was, is string) {
			key := p.Pair.From + " " + p.Pair.To
			known[key] = true
			if strings.HasPrefix(key, "group:system:") || p.Pair.From == "user:own" {
				return // the searches do not ask about it
			}
			if classes[0][key] != was || classes[1][key] != is {
				t.Errorf("seed %d: %s: %q, then %q; the searches have %q, then %q", *seed+uint64(n), key, was, is, classes[0][key], classes[1][key])
			}
			if len(p.Causes) == 0 {
				t.Errorf("seed %d: %s has no cause\n%s\n\n%s", *seed+uint64(n), p.Text, strings.Join(texts(t, documents), "\n"), strings.Join(texts(t, after), "\n"))
			}
		}
		for i := range got.Opened {
			check(&got.Opened[i], "", got.Opened[i].Class)
			seen["opened"]++
		}
		for i := range got.Closed {
			check(&got.Closed[i], got.Closed[i].Class, "")
			seen["closed"]++
		}
		for i := range got.Changed {
			check(&got.Changed[i], got.Changed[i].Was, got.Changed[i].Is)
			seen["changed"]++
		}
		for key, was := range classes[0] {
			if is := classes[1][key]; is != was && !known[key] {
				t.Errorf("seed %d: %s: %q, then %q: not reported", *seed+uint64(n), key, was, is)
			}
		}
	}
	t.Log(seen)
	if seen["opened"] == 0 || seen["closed"] == 0 {
		t.Errorf("%v: the test proves too little", seen)
	}
}

// admins bind accounts to a role that grants everything, so that becoming them matters.
var admins = []object{
	{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": meta("", "all"), "rules": []object{{"apiGroups": []string{"*"}, "resources": []string{"*"}, "verbs": []string{"*"}}}},
	{"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding", "metadata": meta("", "all"), "roleRef": object{"apiGroup": rbac, "kind": "ClusterRole", "name": "all"},
		"subjects": []object{{"kind": "ServiceAccount", "namespace": "n0", "name": "sa"}}},
	{"apiVersion": rbac + "/v1", "kind": "RoleBinding", "metadata": meta("n1", "all"), "roleRef": object{"apiGroup": rbac, "kind": "ClusterRole", "name": "all"},
		"subjects": []object{{"kind": "ServiceAccount", "namespace": "n1", "name": "sa"}, {"kind": "User", "apiGroup": rbac, "name": "own"}}},
}

// What is the same in both revisions is walked once. A role or a deny policy that keeps its name
// is not the same if its rule differs.
func TestCompareSeesARuleThatDiffers(t *testing.T) {
	of := func(verb, denied string) []object {
		return append([]object{
			{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": meta("", "r"), "rules": []object{{"apiGroups": []string{""}, "resources": []string{"pods"}, "verbs": []string{verb}}}},
			{"apiVersion": rbac + "/v1", "kind": "RoleBinding", "metadata": meta("n0", "b"), "roleRef": object{"apiGroup": rbac, "kind": "ClusterRole", "name": "r"},
				"subjects": []object{{"kind": "User", "apiGroup": rbac, "name": "u0"}}},
			{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": meta("", "d"), "spec": object{"rules": []object{
				{"verbs": []string{denied}, "apiGroups": []string{""}, "resources": []string{"pods"}}}}},
		}, admins...)
	}
	for _, test := range []struct {
		about        string
		before, then []object
		want         int
	}{
		{"nothing", of("create", "get"), of("create", "get"), 0},
		{"a rule", of("create", "get"), of("watch", "get"), 1},
		{"a deny policy", of("create", "get"), of("create", "create"), 1},
	} {
		var sides [2]reach.Options
		for i, list := range [][]object{test.before, test.then} {
			sides[i] = options(t, list, revisions.Of(t, texts(t, list)))
			sides[i].GitOnly = true
		}
		got, err := reach.Compare(t.Context(), sides[0], sides[1])
		if err != nil {
			t.Fatal(err)
		}
		closed := 0
		for _, p := range got.Closed {
			if p.Pair.From == "user:u0" && p.Pair.To == reach.ClusterAdmin {
				closed++
			}
		}
		if closed != test.want || len(got.Opened) > 0 {
			t.Errorf("%s differs: %d paths of user:u0 closed, want %d; %d opened", test.about, closed, test.want, len(got.Opened))
		}
	}
}

package visibility

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// An authorization is kept while the policies and the source that it depends on have the same
// content, and it then equals a new one.
func TestKeeps(t *testing.T) {
	old := newPolicies(t, everyPolicy, Options{})
	replace := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(everyPolicy) }
	dev := []string{"dev"}
	requests := map[string]*decision.VisibilityRequest{
		"allowed":         {User: "u", Groups: dev, Cluster: cluster("prod"), Type: "pods"},
		"partial":         {User: "u", Groups: dev, Cluster: cluster("part"), Type: "pods"},
		"a type":          {User: "u", Groups: dev, Type: "volume"},
		"denied":          {User: "u", Groups: dev, Cluster: cluster("gone")},
		"not permitted":   {User: "u", Groups: dev, Cluster: cluster("numbers")},
		"nothing matched": {User: "u", Groups: dev, Cluster: cluster("x")},
		"an account":      {ServiceAccount: decision.ServiceAccount{Namespace: "ci", Name: "bot"}, Cluster: cluster("prod")},
		"another":         {User: "u", Cluster: cluster("prod")},
		"no principal":    {},
	}
	all := []string{"allowed", "partial", "a type", "denied", "not permitted", "nothing matched", "an account"}
	for name, row := range map[string]struct {
		documents string
		lost      []string
	}{
		"moved":            {"\n# moved\n" + everyPolicy, nil},
		"a policy renamed": {replace("name: late-deny", "name: later-deny"), all},
		"a policy changed": {replace("matchNames: [part]", "matchNames: [other]"), all},
		"a source":         {replace("kind: PersistentVolumeClaim", "kind: VolumeClaim"), []string{"a type"}},
	} {
		next := newPolicies(t, row.documents, Options{})
		for of, r := range requests {
			t.Run(name+", "+of, func(t *testing.T) {
				r.Items = &[]decision.Item{{Name: "a", Namespace: "n"}}
				a := old.Visibility(t.Context(), r)
				before, kept := string(a.AppendJSON(nil)), a
				if keeps, want := next.Keeps(r, &kept), !slices.Contains(row.lost, of); keeps != want {
					t.Fatalf("got %v, want %v", keeps, want)
				} else if !keeps {
					return
				}
				got, want := complete(t.Context(), next, r, kept), decide(t.Context(), next, r)
				if kept.Revision != next.revision || string(got.AppendJSON(nil)) != string(want.AppendJSON(nil)) {
					t.Errorf("got %s\nwant %s", got.AppendJSON(nil), want.AppendJSON(nil))
				}
				if string(a.AppendJSON(nil)) != before {
					t.Error("the old authorization was modified")
				}
			})
		}
	}
	failed := decision.FailedAuthorization("evaluation error")
	if old.Keeps(requests["another"], &failed) {
		t.Error("an evaluation error is kept")
	}
}

package shrink_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/shrink"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/source"
)

// Rules that may not go still grant what they have: entries and subjects that they make
// superfluous go, and the proof that nothing more can go holds.
func TestRulesThatStayStillGrant(t *testing.T) {
	role := func(name string, verbs ...string) string {
		out := "---\nkind: Role\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: " + name + ", namespace: shop}\nrules:\n"
		for _, v := range verbs {
			out += "- {apiGroups: [\"\"], resources: [pods], verbs: [" + v + "]}\n"
		}
		return out + "---\nkind: RoleBinding\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: " + name + ", namespace: shop}\n" +
			"roleRef: {kind: Role, name: " + name + ", apiGroup: rbac.authorization.k8s.io}\nsubjects: [{kind: User, name: u, apiGroup: rbac.authorization.k8s.io}]\n"
	}
	for _, test := range []struct {
		about, documents, log string
		only                  []string
		want                  []string
	}{
		{
			"two rules of a role", role("a", "get, list", "get, watch"), "get list",
			[]string{shrink.OnlyEntries}, []string{"verbs: [list]", "verbs: [get]"},
		},
		{
			"two roles", role("a", "get, list") + role("b", "get, watch"), "get list",
			[]string{shrink.OnlyEntries}, []string{"verbs: [get]", "verbs: [list]"},
		},
		{
			"a rule that nothing uses", role("a", "get, list", "watch, delete"), "get",
			[]string{shrink.OnlyEntries}, []string{"verbs: [get]", "verbs: [watch, delete]"},
		},
		{
			"a subject of two", role("b", "get") + role("a", "get", "list"), "get list",
			[]string{shrink.OnlySubjects}, []string{"verbs: [list]", "subjects: []"},
		},
		{
			"a wildcard", role("a", `"*"`, "list, watch"), "get list",
			[]string{shrink.OnlyWildcards}, []string{"verbs: [get]", "verbs: [list, watch]"},
		},
	} {
		t.Run(test.about, func(t *testing.T) {
			var log strings.Builder
			for verb := range strings.FieldsSeq(test.log) {
				fmt.Fprintf(&log, `{"user":"u","verb":%q,"resource":"pods","namespace":"shop"}`+"\n", verb)
			}
			before := load(t, []source.File{source.NewFile("a.yaml", []byte(test.documents))})
			facts := statement.FactsOf(before.side.World)
			for _, noSplit := range []bool{false, true} {
				o := &shrink.Options{Only: test.only, NoSplit: noSplit}
				if check(t, 0, before, log.String(), facts, o) == 0 {
					t.Error("nothing is smaller")
				}
				m, u := before.use(t, log.String(), facts, o)
				change, err := m.Shrink(u, false)
				if err != nil {
					t.Fatal(err)
				}
				text := textOf(before.with(t, change.Files).files)
				for _, want := range test.want {
					if !strings.Contains(text, want) {
						t.Errorf("no %s in\n%s", want, text)
					}
				}
			}
		})
	}
}

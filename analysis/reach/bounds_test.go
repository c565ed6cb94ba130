package reach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/revisions"
)

// isSaid reports whether a report has something that was not tried, in its text and as JSON.
func isSaid(r *reach.Report, what string) bool {
	inText := strings.Contains(strings.Join(strings.Fields(r.Text()), " "), "Not tried: "+what)
	return inText && slices.ContainsFunc(r.NotCovered, func(s string) bool { return strings.HasPrefix(s, what) })
}

// Where a bound ends the search for further paths, the report has that.
func TestPathsThatAreNotTriedAreSaid(t *testing.T) {
	documents := grantedTo(t, places, "u", "shop", "["+allow("create", "", "pods, pods/exec, pods/attach, serviceaccounts/token")+"]")
	for walks, want := range map[int]bool{3: true, 1000: false} {
		o := options(t, documents, revisions.Of(t, texts(t, documents)))
		o.From, o.To, o.Paths, o.GitOnly = []string{"user:u"}, []string{robot}, 10, true
		report, err := reach.FindAmong(t.Context(), o, walks)
		if err != nil {
			t.Fatal(err)
		}
		if got := isSaid(report, "further paths of some pairs"); got != want {
			t.Errorf("%d walks: said: %v, want %v\n%v", walks, got, want, report.NotCovered)
		}
	}
}

// Of many groups that take something away, not all combinations are impersonated: the report has that.
func TestGroupsThatAreNotTriedAreSaid(t *testing.T) {
	const role = `
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: "no", namespace: master}, rules: [{deny: true, verbs: [delete], resourceKinds: [pods]}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: "no", namespace: master}, roleRef: {name: "no"}, groupNames: [%s]}
`
	for groups, want := range map[string]bool{"a, b, c, d, e": true, "a, b, c, d": false} {
		documents := grantedTo(t, places+fmt.Sprintf(role, groups)+"---", "u", "", "["+allow("impersonate", "", "users, groups")+"]")
		o := options(t, documents, revisions.Of(t, texts(t, documents)))
		o.From, o.To, o.GitOnly = []string{"user:u"}, []string{"user:alice"}, true
		report, err := reach.Find(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := isSaid(report, "some combinations of groups"); got != want {
			t.Errorf("%s: said: %v, want %v\n%v", groups, got, want, report.NotCovered)
		}
	}
}

// Who has a role with restrictions holds it: what the restrictions never allow is not part of it.
func TestRestrictedRolesAreHeld(t *testing.T) {
	for _, row := range [][2]string{
		{"[update]", `labelsContain: ["tier=web", team]`}, {"[update]", `fieldsMutatable: [labels]`}, {"[update]", `fieldsSelect: ["metadata.name=web"]`},
		{"[patch, delete]", `fieldsMutatable: [labels]`}, {`["*"]`, `fieldsMutatable: [labels]`},
	} {
		documents := parse(t, `
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: r, namespace: master}, rules: [{verbs: `+row[0]+`, resourceKinds: [pods], attributeRestrictions: {`+row[1]+`}}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: r, namespace: shop}, roleRef: {namespace: master, name: r}, userNames: [u]}
`)
		for from, want := range map[string]int{"user:u": 1, "user:other": 0} {
			o := options(t, documents, revisions.Of(t, texts(t, documents)))
			o.From, o.To, o.GitOnly = []string{from}, []string{"ROLE:master/r"}, true
			report, err := reach.Find(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Paths) != want {
				t.Errorf("%v: %s has %d paths, want %d", row, from, len(report.Paths), want)
			}
		}
	}
}

// Who is an administrator by a session is at the target: no hop leads there.
func TestSessionsMakeAdministrators(t *testing.T) {
	documents := parse(t, `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: all}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: all}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: all}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: admins}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassSession, metadata: {name: s, namespace: bg}, spec: {cluster: prod, user: dora, grantedGroup: admins},
 status: {state: Approved, approvedAt: "2026-03-01T01:00:00Z", expiresAt: "2026-03-01T09:00:00Z"}}
`)
	clock := &revisions.Clock{Time: revisions.Hour(2)}
	o := options(t, documents, clock.At(t, texts(t, documents)))
	o.Now, o.Stated = clock.Time, map[string]any{"cluster": "prod"}
	o.From, o.To, o.GitOnly = []string{"user:dora"}, []string{reach.ClusterAdmin}, true
	report, err := reach.Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Paths) != 1 || len(report.Paths[0].Hops) != 0 {
		t.Errorf("at %s: got %s, want a path without hops", clock.Time.Format(time.RFC3339), statement.JSONText(report.Paths))
	}
}

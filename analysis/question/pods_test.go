package question_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/tests/revisions"
)

const overridden = `{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d},
 spec: {podSecurityRules: {riskFactors: {privilegedContainer: 30}, thresholds: [{maxScore: 10, action: allow}, {maxScore: 50, action: deny}]}}}
---
{kind: BreakglassEscalation, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: e, namespace: bg},
 spec: {escalatedGroup: idle, allowed: {clusters: ["*"], groups: [sre]}, approvers: {groups: [leads]}, podSecurityOverrides: {enabled: true, maxAllowedScore: 50}}}
---
{kind: BreakglassSession, apiVersion: breakglass.t-caas.telekom.com/v1alpha1,
 metadata: {name: s, namespace: bg, ownerReferences: [{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, name: e, uid: u}]},
 spec: {cluster: c1, user: bob, grantedGroup: idle}, status: {state: Approved, approvedAt: "2026-03-01T00:00:00Z", expiresAt: "2026-03-01T10:00:00Z"}}
---
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: shell}, rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}]}
---
{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: shell}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shell},
 subjects: [{kind: User, name: ann}, {kind: User, name: bob}]}`

// A session that lends nothing of the answer may still override pod security for its user.
func TestOverridesDifferByUser(t *testing.T) {
	clock := &revisions.Clock{Time: revisions.Hour(1)}
	side := clock.At(t, strings.Split(overridden, "\n---\n"))
	asker := &question.Asker{World: side.World, Judge: side.Judge, Now: clock.Time}
	privileged := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "securityContext": map[string]any{"privileged": true}}}}}
	answer, err := asker.WhoCan(t.Context(), &question.Question{Stated: map[string]any{
		"verb": "create", "resource": "pods", "subresource": "exec", "namespace": "shop", "cluster": "c1", "pod": privileged,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"bob"}; !slices.Equal(answer.Users, want) {
		t.Errorf("got users %q, want %q", answer.Users, want)
	}
}

// A question that does not leave the pod open has no request with one: no user is listed whom only a
// pod lets pass.
func TestPodThatIsNotOpenIsAbsent(t *testing.T) {
	clock := &revisions.Clock{Time: revisions.Hour(1)}
	side := clock.At(t, strings.Split(overridden, "\n---\n"))
	asker := &question.Asker{World: side.World, Judge: side.Judge, Now: clock.Time}
	for _, row := range []struct{ open, want []string }{
		{[]string{"pod"}, []string{"ann", "bob"}},
		{nil, []string{}},
	} {
		stated := map[string]any{"verb": "create", "resource": "pods", "subresource": "exec", "namespace": "shop"}
		answer, err := asker.WhoCan(t.Context(), &question.Question{Stated: stated, Open: row.open})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(answer.Users, row.want) {
			t.Errorf("open %q: got users %q, want %q", row.open, answer.Users, row.want)
		}
	}
}

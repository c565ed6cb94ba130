package diff_test

import (
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/tests/revisions"
)

// Pods are tried with each group of an escalation: the first one may be denied what another one is
// allowed.
func TestPodsAreTriedWithEachGroupOfAnEscalation(t *testing.T) {
	documents := func(most string) []string {
		return []string{
			`{apiVersion: writ.dev/v1, kind: Role, metadata: {name: "no", namespace: master}, rules: [{deny: true, verbs: ["*"], resourceKinds: ["*"]}]}`,
			`{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: "no", namespace: master}, roleRef: {name: "no"}, groupNames: [barred]}`,
			`{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: p}, spec: {podSecurityRules: {riskFactors: {hostNetwork: 50, privilegedContainer: 40}, thresholds: [{maxScore: 30, action: allow}, {maxScore: 1000, action: deny}]}}}`,
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}]}`,
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: sre}]}`,
			`{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, metadata: {name: fix, namespace: bg}, spec: {escalatedGroup: adm, allowed: {clusters: ["*"], groups: [barred, sre]}, approvers: {users: [boss]}, podSecurityOverrides: {enabled: true, maxAllowedScore: ` + most + `}}}`,
		}
	}
	report, err := diff.Compare(t.Context(), revisions.Of(t, documents("45")), revisions.Of(t, documents("60")), diff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Classes) == 0 {
		t.Fatal("no class differs")
	}
	for _, k := range report.Classes {
		if len(k.Transitions) > 0 {
			return
		}
	}
	t.Errorf("no pod was found that the revisions decide differently: %+v", report.Classes)
}

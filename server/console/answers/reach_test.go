package answers

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
)

// ways are paths of which a denial cuts one.
const ways = `== policies.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: everything}
rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: makers}
rules: [{verbs: [create], apiGroups: [""], resources: [pods, pods/exec]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: robot}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}
subjects: [{kind: ServiceAccount, name: robot, namespace: shop}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: makers, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: makers}
subjects: [{kind: Group, name: dev}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: no-pods}
spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pods], subresources: [""]}]}
`

// A path is shown with its grants and requests, and one that a denial cuts with the denial.
func TestReach(t *testing.T) {
	s := newSite(t, ways)
	v := s.explorer.Now()
	got, err := v.Reach(t.Context(), console.Caller{SeesAll: true}, console.ReachQuery{From: "group:dev", To: "cluster-admin"})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range got.Paths {
		lines = append(lines, p.From+" "+p.Class)
		for _, h := range p.Hops {
			lines = append(lines, h.What, h.Result, h.Grants[0].Text+" at "+h.Grants[0].Source, string(h.Requests[0]))
			for _, d := range h.Denies {
				lines = append(lines, "denied by "+d.Text+" at "+d.Source)
			}
		}
	}
	want := `group:dev assumed
create pods/exec in shop
becomes service account shop/robot
RoleBinding shop/makers (ClusterRole makers, rule 0) at policies.yaml:9
{"apiGroup":"","groups":["dev","system:authenticated"],"name":"other","namespace":"shop","resource":"pods","subresource":"exec","user":"","verb":"create"}
group:dev certain
create pods in shop
becomes service account shop/robot
RoleBinding shop/makers (ClusterRole makers, rule 0) at policies.yaml:9
{"apiGroup":"","groups":["dev","system:authenticated"],"namespace":"shop","resource":"pods","user":"","verb":"create"}
denied by DenyPolicy no-pods, rule 0 at policies.yaml:26`
	if text := strings.Join(lines, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	for _, part := range []string{`href="#hop-0-0"`, `href="#hop-1-0"`, `class="hop denied"`, `class="hop assumed"`} {
		if !strings.Contains(got.SVG, part) {
			t.Errorf("the picture has no %s", part)
		}
	}
	if _, err := v.Reach(t.Context(), console.Caller{User: "dev"}, console.ReachQuery{To: "cluster-admin"}); err == nil {
		t.Error("who is not an auditor got an answer")
	}
	if _, err := v.Reach(t.Context(), console.Caller{SeesAll: true}, console.ReachQuery{From: "dev", To: "cluster-admin"}); err == nil {
		t.Error("a subject that is not one got an answer")
	}
}

package answers

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
)

// cell is the outcome and the text of a cell.
func cell(m *console.Matrix, row, column string) string {
	for _, r := range m.Rows {
		if r.Name == row {
			c := r.Cells[slices.Index(m.Columns, column)]
			return strings.TrimSpace(c.Outcome + " " + c.Text)
		}
	}
	return "no row"
}

// A namespace that is not given is open: a cell states the namespaces in which it holds.
func TestOpenNamespace(t *testing.T) {
	role, _, _ := strings.Cut(policies[strings.Index(policies, "== rbac.yaml"):], "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n")
	s := newSite(t, policies+strings.NewReplacer("shop", "mall", "rbac.yaml", "mall.yaml").Replace(role))
	m := s.matrix(console.MatrixQuery{Resource: "pods"})
	for row, want := range map[string]string{"dev": "depends in mall, shop", "ops": "allow", "ed": "none"} {
		if got := cell(m, row, "get"); got != want {
			t.Errorf("%s gets pods: got %q, want %q", row, got, want)
		}
	}
	if got, want := cell(m, "ed", "update"), "depends in shop; unless label protected (RoleBinding shop/editors rule 1)"; got != want {
		t.Errorf("ed updates pods: got %q, want %q", got, want)
	}
	if got, want := cell(s.matrix(console.MatrixQuery{Resource: "secrets"}), "ada", "get"), "depends if name tls in mall, shop"; got != want {
		t.Errorf("ada gets secrets: got %q, want %q", got, want)
	}
	if got, want := cell(s.matrix(console.MatrixQuery{Of: "what", Subject: "group:dev"}), "pods", "list"), "depends in mall, shop"; got != want {
		t.Errorf("what dev can: got %q, want %q", got, want)
	}
}

// An API group that is not given is that of the documents.
func TestGroupOfDocuments(t *testing.T) {
	const more = `== more.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: more}
rules:
  - {apiGroups: [apps], resources: [deployments, deployments/scale], verbs: [get]}
  - {apiGroups: [extensions, networking.k8s.io], resources: [ingresses], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: more}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: more}
subjects: [{kind: User, name: mia, apiGroup: rbac.authorization.k8s.io}]
`
	s := newSite(t, policies+more)
	for name, row := range map[string]struct {
		q          console.MatrixQuery
		want, note string
	}{
		"of one group":    {console.MatrixQuery{Resource: "deployments"}, "allow", "the API group is apps: documents name deployments in no other"},
		"a subresource":   {console.MatrixQuery{Resource: "deployments/scale"}, "allow", "the API group is apps: documents name deployments in no other"},
		"of two groups":   {console.MatrixQuery{Resource: "ingresses"}, "depends if API group extensions, networking.k8s.io", "the API group is open: documents name ingresses in extensions, networking.k8s.io"},
		"of every group":  {console.MatrixQuery{Resource: "deployments", APIGroup: "*"}, "depends if API group apps", ""},
		"of a group":      {console.MatrixQuery{Resource: "deployments", APIGroup: "batch"}, "none", ""},
		"of the core one": {console.MatrixQuery{Resource: "pods"}, "none", ""},
		"of no document":  {console.MatrixQuery{Resource: "jobs"}, "none", ""},
	} {
		m := s.matrix(row.q)
		if got := cell(m, "mia", "get"); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
		if got := strings.Join(m.Warnings[1:], "; "); got != row.note {
			t.Errorf("%s: got the warning %q, want %q", name, got, row.note)
		}
	}
	if got := cell(s.matrix(console.MatrixQuery{Of: "what", Subject: "mia"}), "deployments/scale", "get"); got != "allow" {
		t.Errorf("a row of a subresource: got %q", got)
	}
}

// The matrix has the users of sessions that are valid, and what these give to them.
func TestUsersOfSessionsHaveRows(t *testing.T) {
	const session = `== session.yaml
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassSession
metadata: {name: s1, namespace: bg}
spec: {cluster: prod-1, user: bob, grantedGroup: ops}
status: {state: Approved, approvedAt: "2000-01-01T00:00:00Z", expiresAt: "2200-01-01T00:00:00Z"}
`
	m := newSite(t, policies+session).matrix(console.MatrixQuery{Resource: "pods", Namespace: "shop"})
	if got := cell(m, "bob", "get"); got != "depends if cluster prod-1" {
		t.Errorf("got %q for the user of a session", got)
	}
	if got := cell(newSite(t, policies).matrix(console.MatrixQuery{Resource: "pods", Namespace: "shop"}), "bob", "get"); got != "no row" {
		t.Errorf("without the session there is a row: %q", got)
	}
}

// A caller who is not an auditor sees what it can do itself: with its groups, and without the
// resources that only rules of others name.
func TestOwnMatrix(t *testing.T) {
	s := newSite(t, policies)
	ed := console.Caller{User: "ed", Groups: []string{"dev"}}
	m, err := s.explorer.Now().Matrix(t.Context(), ed, console.MatrixQuery{Of: "what", Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{"get": "allow", "update": "depends unless label protected (RoleBinding shop/editors rule 1)", "delete": "none"} {
		if got := cell(m, "pods", column); got != want {
			t.Errorf("%s pods: got %q, want %q", column, got, want)
		}
	}
	var names []string
	for _, row := range m.Rows {
		names = append(names, row.Name)
	}
	if got := strings.Join(names, " "); got != "pods pods/exec secrets" {
		t.Errorf("got the rows %s", got)
	}
	if request := string(m.Rows[0].Cells[0].Request); !strings.Contains(request, `"user":"ed"`) || !strings.Contains(request, `"groups":["dev"]`) {
		t.Errorf("got the request %s", request)
	}
	stranger, err := s.explorer.Now().Matrix(t.Context(), console.Caller{User: "zoe"}, console.MatrixQuery{Of: "what"})
	if err != nil || len(stranger.Rows) != 0 {
		t.Errorf("got %s, %v for a caller without bindings", text(t, stranger), err)
	}
	for name, q := range map[string]console.MatrixQuery{
		"who can": {Resource: "pods"}, "what another can": {Of: "what", Subject: "user:ada"}, "what its group can": {Of: "what", Subject: "group:dev"},
	} {
		if _, err := s.explorer.Now().Matrix(t.Context(), ed, q); reasonOf(err) != console.Forbidden {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, subject := range []string{"ed", "user:ed"} {
		if _, err := s.explorer.Now().Matrix(t.Context(), ed, console.MatrixQuery{Of: "what", Subject: subject}); err != nil {
			t.Errorf("what %s can: got %v", subject, err)
		}
	}
}

// Subjects whom no rule allows anything are left out on demand, and no other ones.
func TestOnlyThoseWhoCan(t *testing.T) {
	s := newSite(t, policies)
	for _, q := range []console.MatrixQuery{
		{Resource: "pods"}, {Resource: "pods", Namespace: "shop"}, {Resource: "secrets"}, {Resource: "nodes"}, {Resource: "pods", APIGroup: "apps"}, {Resource: "pods", APIGroup: "*"},
	} {
		every := s.matrix(q)
		q.Only = true
		only := s.matrix(q)
		for _, row := range every.Rows {
			can := slices.ContainsFunc(row.Cells, func(c console.Cell) bool { return c.Outcome == console.Allow || c.Outcome == console.Depends })
			isThere := slices.ContainsFunc(only.Rows, func(r console.Row) bool { return r.Name == row.Name })
			if can && !isThere {
				t.Errorf("%+v: %s is left out, who can %s", q, row.Name, text(t, row))
			}
		}
		if q.Resource == "nodes" && only.Total >= every.Total {
			t.Errorf("%d of %d subjects are left for %s", only.Total, every.Total, q.Resource)
		}
	}
}

// Resources that no rule allows a subject anything on are left out on demand, and no other ones.
func TestOnlyWhatItCanDo(t *testing.T) {
	s := newSite(t, policies)
	left, allowed := 0, 0
	for _, subject := range []string{"user:ada", "user:ed", "group:dev", "group:ops", "user:stranger"} {
		for _, namespace := range []string{"", "shop", "elsewhere"} {
			q := console.MatrixQuery{Of: "what", Subject: subject, Namespace: namespace, Limit: 1000}
			every := s.matrix(q)
			q.Only = true
			only := s.matrix(q)
			left += every.Total - only.Total
			for _, row := range every.Rows {
				can := slices.ContainsFunc(row.Cells, func(c console.Cell) bool { return c.Outcome == console.Allow || c.Outcome == console.Depends })
				isThere := slices.ContainsFunc(only.Rows, func(r console.Row) bool { return r.Name == row.Name && r.Kind == row.Kind })
				if can {
					allowed++
				}
				if can && !isThere {
					t.Errorf("%+v: %s of %q is left out, with which it can %s", q, row.Name, row.Kind, text(t, row))
				}
			}
		}
	}
	if left == 0 || allowed == 0 {
		t.Errorf("%d rows were left out, and %d have something allowed: want some of each", left, allowed)
	}
}

// Letters lead to the first row of each.
func TestLettersLeadToRows(t *testing.T) {
	s := newSite(t, policies)
	m := s.matrix(console.MatrixQuery{Resource: "pods", Limit: 1})
	for _, letter := range m.Letters {
		page := s.matrix(console.MatrixQuery{Resource: "pods", Limit: 1, After: letter.After})
		if !strings.EqualFold(page.Rows[0].Name[:1], letter.Letter) {
			t.Errorf("%s leads to %s", letter.Letter, page.Rows[0].Name)
		}
	}
	if len(m.Letters) != 4 || s.matrix(console.MatrixQuery{Resource: "pods"}).Letters != nil {
		t.Errorf("got the letters %+v, want those of ada, dev, ed and ops, and none on one page", m.Letters)
	}
}

// A kind is one row, as a rule excludes it too.
func TestKindsAreRowsOnce(t *testing.T) {
	s := newSite(t, `== origin.yaml
apiVersion: writ.dev/v1
kind: Role
metadata: {name: most, namespace: master}
rules:
- {verbs: [get], resourceKinds: ["*", "-Secret", "-RoleBinding", "-DeploymentConfig"]}
- {verbs: [get], resourceKinds: [Pod, pods]}
---
apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: most, namespace: shop}
roleRef: {namespace: master, name: most}
userNames: [ed]
`)
	var names []string
	for _, row := range s.matrix(console.MatrixQuery{Of: "what", Subject: "ed"}).Rows {
		names = append(names, row.Name)
	}
	if got, want := strings.Join(names, " "), "deploymentconfigs pods rolebindings secrets"; got != want {
		t.Errorf("the rows are %s, want %s", got, want)
	}
}

package answers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/tests/gate"
)

// randomBindings returns roles of both families and bindings of three users and two groups.
func randomBindings(r *rand.Rand) string {
	var text strings.Builder
	text.WriteString("== random.yaml\n")
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for i := range 4 {
		fmt.Fprintf(&text, `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: role-%d}
rules:
  - {apiGroups: [""], resources: [%s], verbs: [%s]}
---
apiVersion: writ.dev/v1
kind: Role
metadata: {name: origin-%d, namespace: shop}
rules:
  - {verbs: [%s], resourceKinds: [%s], deny: %t}
`, i, pick("pods", "secrets"), pick("get", "list"), i, pick("get", "list"), pick("pods", "secrets"), r.IntN(3) == 0)
	}
	for i := range 3 + r.IntN(8) {
		subject := pick("{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}", "{kind: User, name: bob, apiGroup: rbac.authorization.k8s.io}",
			"{kind: Group, name: dev, apiGroup: rbac.authorization.k8s.io}", "{kind: Group, name: \"system:authenticated\", apiGroup: rbac.authorization.k8s.io}")
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&text, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: all-%d}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role-%d}\nsubjects: [%s]\n", i, r.IntN(4), subject)
		case 1:
			fmt.Fprintf(&text, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: one-%d, namespace: %s}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role-%d}\nsubjects: [%s]\n", i, pick("shop", "web"), r.IntN(4), subject)
		default:
			fmt.Fprintf(&text, "---\napiVersion: writ.dev/v1\nkind: RoleBinding\nmetadata: {name: origin-%d, namespace: shop}\nroleRef: {name: origin-%d}\nuserNames: [%s]\n", i, r.IntN(4), pick("ann", "bob"))
		}
	}
	text.WriteString("---\napiVersion: writ.dev/v1\nkind: Policy\nmetadata: {name: default, namespace: shop}\n---\napiVersion: writ.dev/v1\nkind: PolicyBinding\nmetadata: {name: shop, namespace: shop}\npolicyRef: {namespace: shop}\n")
	return text.String()
}

// The view of a subject has exactly the bindings that decisions on its requests find, and the
// view of each of their roles has the subject.
func TestSubjectsHaveWhatDecides(t *testing.T) {
	found := 0
	for seed := range uint64(gate.Worlds(12)) {
		s := newSite(t, randomBindings(rand.New(rand.NewPCG(seed, 1))))
		v := s.explorer.Now()
		for subject, groups := range map[string]string{"user:ann": `["system:authenticated"]`, "user:bob": `["system:authenticated"]`, "group:dev": `["dev"]`} {
			answer, err := v.Subject(all, subject, 0, "")
			if err != nil {
				t.Fatal(err)
			}
			var listed, decided []string
			for _, b := range answer.Bindings {
				listed = append(listed, b.Kind+" "+b.Namespace+"/"+b.Name+" "+b.Source)
				s.holds(v, &b)
			}
			user, _ := strings.CutPrefix(subject, "user:")
			if strings.HasPrefix(subject, "group:") {
				user = ""
			}
			for _, namespace := range []string{"", "shop", "web"} {
				for _, verb := range []string{"get", "list"} {
					for _, resource := range []string{"pods", "secrets"} {
						e := s.explain("access", fmt.Sprintf(`{"user":%q,"groups":%s,"verb":%q,"resource":%q,"namespace":%q}`, user, groups, verb, resource, namespace))
						for _, step := range e.Steps {
							for _, m := range step.Matched {
								decided = append(decided, m.Kind+" "+m.Namespace+"/"+m.Name+" "+m.Binding.Source)
							}
						}
					}
				}
			}
			slices.Sort(listed)
			slices.Sort(decided)
			if decided = slices.Compact(decided); !slices.Equal(listed, decided) {
				t.Errorf("seed %d, %s: got bindings %q, and decisions find %q", seed, subject, listed, decided)
			}
			found += len(listed)
		}
	}
	if found < gate.Worlds(50) {
		t.Errorf("found %d bindings: nothing is compared", found)
	}
}

// holds checks that the role of a binding lists it.
func (s *site) holds(v console.Viewer, b *console.Held) {
	s.t.Helper()
	role, err := v.Role(all, console.RoleQuery{Family: b.Role.Family, Namespace: b.Role.Namespace, Name: b.Role.Name})
	if err != nil {
		s.t.Fatal(err)
	}
	if !slices.Contains(role.Holders, b.BindingOf) || role.Source != b.Role.Source || len(role.Rules) != b.Role.Rules {
		s.t.Errorf("role %v does not list %v: %v", role.RoleName, b.BindingOf, role.Holders)
	}
}

func TestSubject(t *testing.T) {
	s := newSite(t, policies+ownDocuments)
	v := s.explorer.Now()
	ada, err := v.Subject(all, "ada", 0, "")
	if err != nil || ada.Subject != "user:ada" || ada.Kind != "user" || ada.Total != 1 || len(ada.Bindings) != 1 {
		t.Fatalf("got %s, %v", text(t, ada), err)
	}
	const permits = "get, list, create pods, pods/exec; get secrets (name tls)"
	if b := ada.Bindings[0]; b.In != "shop" || b.Source != "rbac.yaml:14" || b.Role.Text != permits || b.Role.Rules != 2 || b.Subject != "user:ada" {
		t.Errorf("got %s", text(t, b))
	}
	own := console.Caller{User: "eve", Groups: []string{"dev"}}
	eve, err := v.Subject(own, "", 0, "")
	if err != nil || eve.Total != 2 || eve.Bindings[0].Name != "eve" || eve.Bindings[1].Subject != "group:dev" || len(eve.Policies) != 1 || eve.Policies[0].Subject != "group:dev" {
		t.Errorf("a caller about itself: got %s, %v", text(t, eve), err)
	}
	account, err := v.Subject(all, "user:system:serviceaccount:shop:web", 0, "")
	if err != nil || account.Kind != "service account" || strings.Join(account.Groups, " ") != "system:serviceaccounts system:serviceaccounts:shop system:authenticated" {
		t.Errorf("a service account: got %s, %v", text(t, account), err)
	}
	anonymous, err := v.Subject(all, "system:anonymous", 0, "")
	if err != nil || strings.Join(anonymous.Groups, " ") != "system:unauthenticated" {
		t.Errorf("anonymous: got %s, %v", text(t, anonymous), err)
	}
	for name, row := range map[string]struct {
		c       console.Caller
		subject string
		want    console.Reason
	}{
		"another user": {own, "ada", console.Forbidden}, "an own group": {own, "group:dev", console.Forbidden}, "no subject": {all, "", console.Invalid},
	} {
		if _, err := v.Subject(row.c, row.subject, 0, ""); reasonOf(err) != row.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRole(t *testing.T) {
	s := newSite(t, policies)
	s.decide(t.Context(), `{"user":"ada","verb":"get","resource":"pods","namespace":"shop"}`)
	v := s.explorer.Now()
	dev, err := v.Role(all, console.RoleQuery{Namespace: "shop", Name: "dev", Limit: 1})
	if err != nil || dev.Kind != "Role" || len(dev.Rules) != 2 || dev.Rules[0].Decided != 1 || dev.Rules[1].Decided != 0 || dev.Rules[1].Condition != "name tls" || dev.Rules[0].Source != "rbac.yaml:5" {
		t.Errorf("got %s, %v", text(t, dev), err)
	}
	if dev.Total != 2 || len(dev.Holders) != 1 || dev.Holders[0].Subject != "user:ada" || dev.After != "1" {
		t.Errorf("got holders %s", text(t, dev))
	}
	editor, err := v.Role(all, console.RoleQuery{Namespace: "shop", Name: "editor"})
	if err != nil || editor.Family != "origin" || editor.Rules[1].Effect != "Deny" || !strings.Contains(editor.Rules[1].Condition, "protected") {
		t.Errorf("got %s, %v", text(t, editor), err)
	}
	for name, row := range map[string]struct {
		c    console.Caller
		q    console.RoleQuery
		want console.Reason
	}{
		"no auditor":     {console.Caller{User: "ada"}, console.RoleQuery{Namespace: "shop", Name: "dev"}, console.Forbidden},
		"no name":        {all, console.RoleQuery{}, console.Invalid},
		"another family": {all, console.RoleQuery{Family: "origin", Namespace: "shop", Name: "dev"}, console.NotFound},
		"no family":      {all, console.RoleQuery{Family: "deny", Name: "dev"}, console.Invalid},
		"no role":        {all, console.RoleQuery{Name: "dev"}, console.NotFound},
	} {
		if _, err := v.Role(row.c, row.q); reasonOf(err) != row.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

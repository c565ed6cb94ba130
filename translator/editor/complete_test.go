package editor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

const stored = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: operator}
---
apiVersion: writ.dev/v1
kind: Role
metadata: {name: viewer, namespace: master}
`

// open returns a workspace of a directory with files.
func open(t *testing.T, files map[string]string) *Workspace {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Open(dir, translator.Options{}, source.DirOptions{})
}

func analyse(t *testing.T, w *Workspace) *Analysis {
	t.Helper()
	a, err := w.Analyse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The cursor is at the bar.
func TestComplete(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"roles.yaml": stored})
	a := analyse(t, w)
	const binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b, namespace: shop}\n"
	const deny = "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicy\n"
	for _, row := range []struct {
		name, text string
		want       string // comma-separated; with "..." at the end, the first ones
		isKey      bool
	}{
		{"a kind", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Ro|", "Role,RoleBinding", false},
		{"a kind before its API version", "kind: Clu|\napiVersion: rbac.authorization.k8s.io/v1\n", "ClusterRole,ClusterRoleBinding", false},
		{"an API version", "apiVersion: |\nkind: DenyPolicy", "breakglass.t-caas.telekom.com/v1alpha1", false},
		{"fields of a document", binding + "|", "roleRef,subjects", true},
		{"of which one is there", binding + "subjects: []\nr|", "roleRef", true},
		{"fields of a mapping", binding + "roleRef:\n  k|", "kind", true},
		{"fields of a mapping in braces", binding + "roleRef: {kind: Role, n|", "name", true},
		{"fields of an item", binding + "subjects:\n- kind: User\n  n|", "name,namespace", true},
		{"fields of an item in braces", binding + "subjects: [{kind: User}, {n|", "name,namespace", true},
		{"fields of an item in braces after a list", deny + "spec:\n  rules:\n    - {verbs: [get], apiG|", "apiGroups", true},
		{"a value of an item in braces", binding + "subjects:\n  - {name: a, kind: Us|", "User", false},
		{"fields of a new item", deny + "spec:\n  rules:\n    - ver|", "verbs", true},
		{"of an unknown document", "|", "apiVersion,kind,metadata", true},
		{"a role", binding + "roleRef:\n  kind: Role\n  name: |", "reader", false},
		{"a role beside a label namespace", "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  namespace: shop\n" +
			"  labels:\n    namespace: other\nroleRef:\n  kind: Role\n  name: |", "reader", false},
		{"a role of any kind", binding + "roleRef:\n  name: |", "operator,reader", false},
		{"a role for the whole cluster", strings.Replace(binding, "RoleBinding", "ClusterRoleBinding", 1) + "roleRef:\n  name: |", "operator", false},
		{"a role whose kind follows", binding + "roleRef: {kind: ClusterRole, name: o|", "operator", false},
		{"a role of Origin", "apiVersion: writ.dev/v1\nkind: RoleBinding\nmetadata:\n  name: b\n  namespace: shop\nroleRef:\n  name: v|", "viewer", false},
		{"a verb", strings.Replace(binding, "RoleBinding", "Role", 1) + "rules:\n- apiGroups: ['']\n  verbs: [get, li|", "list", false},
		{"a verb of a list in lines", strings.Replace(binding, "RoleBinding", "Role", 1) + "rules:\n- apiGroups: ['']\n  verbs:\n  - get\n  - li|", "list", false},
		{"a verb of Origin", "apiVersion: writ.dev/v1\nkind: Role\nmetadata: {name: r, namespace: n}\nrules:\n- verbs: [perm|", "permission-request", false},
		{"a word of an enumeration", deny + "spec:\n  podSecurityRules:\n    failMode: |", "closed,open", false},
		{"after another document", stored + "---\nkind: Deny|", "DenyPolicy", false},
		{"nothing in a free text", binding + "subjects:\n- name: |", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			before, after, _ := strings.Cut(row.text, "|")
			line := strings.Count(before, "\n") + 1
			column := len(before) - strings.LastIndex(before, "\n") - 1
			for _, end := range []string{"\n", "\r\n", "\r"} {
				c := w.Complete(a, strings.ReplaceAll(before+after, "\n", end), line, column)
				if got := strings.Join(c.Items, ","); got != row.want || c.IsKey != row.isKey {
					t.Errorf("lines that end in %q: got %s, key %t; want %s, %t", end, got, c.IsKey, row.want, row.isKey)
				}
			}
		})
	}
}

// A binding and its role lead to each other, in open files as well, and even if another
// document has an error.
func TestDefinitionAndReferences(t *testing.T) {
	t.Parallel()
	const bindings = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
---
apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: o, namespace: shop}
userNames: [u]
roleName: viewer
referencesGlobalRole: true
`
	w := open(t, map[string]string{"roles.yaml": stored, "bindings.yaml": bindings, "broken.yaml": "kind: RoleBinding\nroleRef: 1\n"})
	w.Edit("roles.yaml", "# one line more\n"+stored)
	a := analyse(t, w)
	if a.Result != nil || !a.List.HasErrors() {
		t.Fatalf("got %v", a.List)
	}
	role := diag.Position{File: "roles.yaml", Line: 4, Column: 18}
	name := diag.Position{File: "bindings.yaml", Line: 4, Column: 66}
	check := func(what string, got []Range, want ...diag.Position) {
		t.Helper()
		positions := make([]diag.Position, len(got))
		for i := range got {
			positions[i] = got[i].Position
		}
		if !slices.Equal(positions, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	check("the role of a binding", a.Definition(name), role)
	check("the bindings of a role", a.References(role, false), name)
	check("with the role", a.References(name, true), name, role)
	check("a role of Origin", a.Definition(diag.Position{File: "bindings.yaml", Line: 10, Column: 12}), diag.Position{File: "roles.yaml", Line: 13, Column: 18})
	check("no name", a.Definition(diag.Position{File: "roles.yaml", Line: 1, Column: 1}))
}

// Open files take the place of stored ones; files that are left out stay so.
func TestOpenFiles(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{".writignore": "chart.yaml\n", "roles.yaml": stored, "chart.yaml": "{{ .Values }}"})
	files := func() string {
		var out []string
		for _, d := range analyse(t, w).List {
			if d.Severity == diag.Error {
				out = append(out, d.File)
			}
		}
		return strings.Join(slices.Compact(out), ",")
	}
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"as stored", func() {}, ""},
		{"left out", func() { w.Edit("chart.yaml", "{{ .Values }}") }, ""},
		{"a mistake", func() { w.Edit("roles.yaml", "kind: Role\nrules: 1\n") }, "roles.yaml"},
		{"a file that is not stored", func() { w.Edit("new.yaml", "kind: [") }, "new.yaml,roles.yaml"},
		{"no document", func() { w.Edit("notes.txt", "kind: [") }, "new.yaml,roles.yaml"},
		{"closed", func() { w.Close("roles.yaml") }, "new.yaml"},
		{"both", func() { w.Close("new.yaml") }, ""},
	} {
		if step.do(); files() != step.want {
			t.Errorf("%s: got errors in %q, want %q", step.what, files(), step.want)
		}
	}
}

func TestExplanation(t *testing.T) {
	t.Parallel()
	text := Explanation(diag.Diagnostic{Code: diag.DanglingRole, Message: `role "x" is not declared`, Hint: "declare it"})
	for _, want := range []string{"**dangling-role**: role \"x\" is not declared\n\ndeclare it\n", "For example:\n\n```yaml\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s\nwithout %s", text, want)
		}
	}
}

// In an assertion, what documents name can be typed.
func TestCompleteAssertions(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"roles.yaml": stored + "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: dev}]}\n"})
	a := analyse(t, w)
	const begin = "apiVersion: writ.dev/v1\nkind: Assertions\nmetadata: {name: a}\nspec:\n  assertions:\n    - name: x\n      never: allowed\n      of:\n        "
	for text, want := range map[string]string{"namespace: ": "shop", "resource: po": "pods", "holds: ": "group:dev", "holds: {only: gr": "group:dev", "name": ""} {
		whole := begin + text
		lines := strings.Split(whole, "\n")
		c := w.Complete(a, whole, len(lines), len(lines[len(lines)-1]))
		if want != "" && !slices.Contains(c.Items, want) || want == "" && !c.IsKey {
			t.Errorf("%q: got %v, want %s", text, c.Items, want)
		}
	}
}

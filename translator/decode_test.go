package translator_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// decode is Decode for documents without mistakes.
func decode(t *testing.T, file, content string) []syntax.Document {
	t.Helper()
	read := translator.Kinds().Decode(file, []byte(content), syntax.Options{})
	documents, list := read.Documents, read.List
	for _, d := range list {
		t.Errorf("%s:%d:%d: %s[%s]: %s", d.File, d.Line, d.Column, d.Severity, d.Code, d.Message)
	}
	return documents
}

func one[T syntax.Document](t *testing.T, documents []syntax.Document) T {
	t.Helper()
	if len(documents) != 1 {
		t.Fatalf("got %d documents, want one", len(documents))
	}
	d, ok := documents[0].(T)
	if !ok {
		t.Fatalf("got a %T", documents[0])
	}
	return d
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func TestKubernetesRole(t *testing.T) {
	r := one[*access.KubernetesRole](t, decode(t, "r.yaml", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: agg
  labels: {a: b}
aggregationRule:
  clusterRoleSelectors:
  - matchLabels: {z: "1", x: "2"}
    matchExpressions: [{key: k, operator: NotIn, values: [v]}]
rules:
- {apiGroups: ["", apps], resources: [pods], verbs: [get], resourceNames: [n]}
- nonResourceURLs: [/x]
  verbs: [get]
`))
	same(t, "name", r.Name, "agg")
	same(t, "family", r.Family, access.FamilyKubernetes)
	same(t, "at", r.At, diag.Position{File: "r.yaml", Line: 3, Column: 1})
	same(t, "name at", r.NameAt, diag.Position{File: "r.yaml", Line: 5, Column: 9})
	same(t, "labels", r.Labels, map[string]string{"a": "b"})
	same(t, "aggregated", r.Aggregation != nil, true)
	same(t, "selectors", r.Aggregation.Selectors[0].Requirements, []syntax.Requirement{
		{Key: "x", Operator: "In", Values: []string{"2"}},
		{Key: "z", Operator: "In", Values: []string{"1"}},
		{Key: "k", Operator: "NotIn", Values: []string{"v"}},
	})
	same(t, "first rule", r.Rules[0], access.KubernetesRule{
		At: diag.Position{File: "r.yaml", Line: 12, Column: 3}, KubernetesLists: &tables.KubernetesLists{
			Verbs: []string{"get"}, Groups: []string{"", "apps"}, Resources: []string{"pods"}, Names: []string{"n"},
		},
	})
	same(t, "second rule", r.Rules[1], access.KubernetesRule{
		At: diag.Position{File: "r.yaml", Line: 13, Column: 3}, KubernetesLists: &tables.KubernetesLists{Verbs: []string{"get"}, Paths: []string{"/x"}},
	})
}

func TestKubernetesBinding(t *testing.T) {
	b := one[*access.KubernetesBinding](t, decode(t, "b.yaml", `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: shop}
roleRef: {kind: ClusterRole, name: view}
subjects:
- {kind: User, name: u}
- {kind: ServiceAccount, name: own}
- {kind: Group, name: g}
- {kind: ServiceAccount, name: other, namespace: Else}
`))
	same(t, "users", b.Users, []string{"u", "system:serviceaccount:shop:own", "system:serviceaccount:Else:other"})
	same(t, "groups", b.Groups, []string{"g"})
	same(t, "role", b.RoleKind+" "+b.RoleName.Value, "ClusterRole view")
	same(t, "role at", b.RoleName.At, diag.Position{File: "b.yaml", Line: 5, Column: 36})
}

func TestOriginRole(t *testing.T) {
	r := one[*access.OriginRole](t, decode(t, "r.yaml", `
apiVersion: writ.dev/v1
kind: Role
metadata: {name: r, namespace: shop}
rules:
- verbs: [GET, "-List", "*"]
  resourceKinds: ["*", -DeploymentConfigs, Pods/Log, "-*/Status"]
- deny: true
  verbs: [update]
  resourceKinds: [pods]
  attributeRestrictions:
    fieldsMutatable: [labels.x, "annotations[a]", labelsX, spec.labels, ownerReferences]
    labelsContain: [a=b]
    kind: ext
    n: 0x10
    deep: {list: [1, 1.50, "t", null, true]}
`))
	same(t, "first rule", r.Rules[0], access.OriginRule{
		At:    diag.Position{File: "r.yaml", Line: 6, Column: 3},
		Verbs: []string{"get", "*"}, NotVerbs: []string{"list"},
		Kinds: []string{"*", "pods/log"}, NotKinds: []string{"deploymentconfigs", "*/status"},
	})
	got := r.Rules[1]
	same(t, "deny", got.Deny, true)
	same(t, "fields", got.Restrictions.Fields, []string{"metadata.labels.x", "metadata.annotations[a]", "labelsX", "spec.labels", "metadata.ownerReferences"})
	same(t, "labels", got.Restrictions.Labels[0].Value, "a=b")
	same(t, "kind", got.Restrictions.Kind.Value, "ext")
	same(t, "params", got.Restrictions.Params, map[string]any{
		"n":    json.Number("16"),
		"deep": map[string]any{"list": []any{json.Number("1"), json.Number("1.50"), "t", nil, true}},
	})
	same(t, "param at", got.Restrictions.ParamsAt["n"], diag.Position{File: "r.yaml", Line: 15, Column: 5})
}

func TestOriginReferences(t *testing.T) {
	tests := []struct {
		name, role      string
		namespace, want string
		global          bool
		line, column    int
	}{
		{name: "roleRef", role: "roleRef: {namespace: master, name: r}", namespace: "master", line: 4, column: 22},
		{name: "roleRef without namespace", role: "roleRef: {name: r}", namespace: "shop", line: 4, column: 17},
		{name: "older, own", role: "roleName: r", namespace: "shop", line: 4, column: 11},
		{name: "older, global", role: "referencesGlobalRole: true\nroleName: r", global: true, line: 4, column: 23},
		{name: "older, not global", role: "referencesGlobalRole: false\nroleName: r", namespace: "shop", line: 4, column: 23},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := "kind: roleBinding\nname: b\nnamespace: shop\n" + test.role + "\nuserNames: [u, v]\ngroupNames: [g]\n"
			b := one[*access.OriginBinding](t, decode(t, "b.yaml", text))
			same(t, "namespace", b.RoleNamespace, test.namespace)
			same(t, "global", b.Global, test.global)
			same(t, "name", b.RoleName.Value, "r")
			same(t, "namespace at", b.RoleNamespaceAt, diag.Position{File: "b.yaml", Line: test.line, Column: test.column})
			same(t, "users", b.Users, []string{"u", "v"})
			same(t, "groups", b.Groups, []string{"g"})
			same(t, "in", b.In == nil, true)
		})
	}
}

func TestContainers(t *testing.T) {
	documents := decode(t, "c.yaml", `
kind: policy
name: p
namespace: shop
roles:
  r: {rules: [{verbs: [get], resourceKinds: [pods]}]}
---
apiVersion: writ.dev/v1
kind: PolicyBinding
metadata: {name: shop, namespace: shop}
policyRef: {namespace: shop, name: p}
roleBindings:
  b: {roleRef: {name: r}, userNames: [u]}
`)
	if len(documents) != 4 {
		t.Fatalf("got %d documents, want 4", len(documents))
	}
	role := documents[1].(*access.OriginRole)
	same(t, "role", role.Namespace+"/"+role.Name, "shop/r")
	same(t, "role at", role.At, diag.Position{File: "c.yaml", Line: 6, Column: 3})
	holder := documents[2].(*access.OriginPolicyBinding)
	same(t, "policyRef", holder.RefNamespace.Value+"/"+holder.RefName.Value, "shop/p")
	binding := documents[3].(*access.OriginBinding)
	same(t, "binding", binding.Namespace+"/"+binding.Name, "shop/b")
	same(t, "role of the binding", binding.RoleNamespace, "shop")
	same(t, "in", binding.In == holder, true)
}

func TestDecisionTest(t *testing.T) {
	d := one[*decisiontest.DecisionTest](t, decode(t, "t.yaml", `
apiVersion: writ.dev/v1
kind: DecisionTest
metadata: {name: t}
spec:
  point: access
  now: 2026-01-20T10:00:00Z
  cases:
  - name: n
    request: {verb: get, user: "<ü>", labels: null, n: 0o17, list: [yes, true]}
    expect: {allowed: true}
`))
	same(t, "point", d.Point, "access")
	same(t, "now", d.Now.String(), "2026-01-20 10:00:00 +0000 UTC")
	same(t, "case", d.Cases[0].Name, "n")
	same(t, "at", d.Cases[0].At, diag.Position{File: "t.yaml", Line: 9, Column: 5})
	var got map[string]any
	if err := json.Unmarshal(d.Cases[0].Request, &got); err != nil {
		t.Fatal(err)
	}
	same(t, "request", got, map[string]any{"verb": "get", "user": "<ü>", "labels": nil, "n": 15.0, "list": []any{"yes", true}})
	same(t, "expect", string(d.Cases[0].Expect), `{"allowed":true}`)
}

func TestExtension(t *testing.T) {
	text := "# About regions.\npackage writ.extensions.lib.region\n\nholds(request, _) if time.now_ns() > 0\n"
	e := one[*extension.Extension](t, decode(t, "any/name.rego", "\ufeff"+text))
	same(t, "name", e.Name, "lib.region")
	same(t, "file", e.File, "any/name.rego")
	same(t, "at", e.At, diag.Position{File: "any/name.rego", Line: 2, Column: 1})
	same(t, "source", string(e.Source), text)
	same(t, "clock", e.ReadsClock, true)
	same(t, "rules", len(e.Module.Rules), 1)
}

// A document with a mistake still resolves references to it, unless the mistake leaves
// the document without an identity.
func TestDocumentsWithMistakes(t *testing.T) {
	tests := []struct {
		name, text string
		want       int
	}{
		{"a bad rule", "kind: role\nname: r\nnamespace: n\nrules: [{}]\n", 1},
		{"no namespace", "kind: role\nname: r\n", 0},
		{"a bad name", "kind: role\nname: a/b\nnamespace: n\n", 0},
		{"a binding to nothing", "kind: rolebinding\nname: r\nnamespace: n\nuserNames: [u]\n", 0},
		{"a binding without a valid user", "kind: rolebinding\nname: r\nnamespace: n\nroleName: r\nuserNames: [7]\n", 1},
		{"before and after invalid YAML", "kind: role\nname: a\nnamespace: n\n---\n[\n---\nkind: role\nname: b\nnamespace: n\n", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			read := translator.Kinds().Decode("f.yaml", []byte(test.text), syntax.Options{})
			documents, list := read.Documents, read.List
			same(t, "documents", len(documents), test.want)
			same(t, "errors", list.HasErrors(), true)
		})
	}
}

// The same documents in JSON are the same documents.
func TestJSONIsYAML(t *testing.T) {
	const text = `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
 "metadata": {"name": "r\u00e9\ud83d\ude00", "namespace": "shop"},
 "rules": [
  {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
`
	want := one[*access.KubernetesRole](t, decode(t, "r.json", text))
	same(t, "name", want.Name, "ré😀")
	same(t, "at", want.At, diag.Position{File: "r.json", Line: 1, Column: 48})
	same(t, "rule at", want.Rules[0].At, diag.Position{File: "r.json", Line: 4, Column: 3})
	for _, file := range []string{"r.yaml", "r.yml"} {
		for _, wrapped := range []string{text, "---\n" + text, text + "---\n", "--- " + text} {
			got := one[*access.KubernetesRole](t, decode(t, file, wrapped))
			same(t, file, got.Name, want.Name)
			same(t, file, got.Rules[0].Verbs, want.Rules[0].Verbs)
		}
	}
	flow := strings.Replace(text, `"verbs": ["get"]`, `verbs: [get]`, 1)
	flow = strings.Replace(flow, `\ud83d\ude00`, `😀`, 1)
	got := one[*access.KubernetesRole](t, decode(t, "r.yaml", flow))
	same(t, "flow", got.Name, want.Name)
}

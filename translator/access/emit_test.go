package access

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

// Modules of any names and sources parse, and are in a folder of their own.
func FuzzEmit(f *testing.F) {
	f.Add("view", "hammer", "roles.yaml:3", "pods", "get")
	f.Add("a\"]\nallow := true", "*/", "x\ny:1", "*", "*")
	f.Add("..", "..", "../../etc", "pods/exec", "exec")
	f.Fuzz(func(t *testing.T, name, namespace, file, kind, verb string) {
		for _, text := range []*string{&name, &namespace, &file, &kind, &verb} {
			*text = strings.ToValidUTF8(*text, "?")
		}
		key := tables.RoleKey(tables.FamilyOrigin, namespace, name)
		lowered := &tables.Access{
			Roles: tables.MapOf(map[string]tables.Role{key: {
				Family: tables.FamilyOrigin, Kind: "Role", Namespace: namespace, Name: name, Source: file,
				Origin: []tables.OriginRule{{Source: file, Verbs: []string{verb}, Kinds: []string{kind}}},
			}}),
			Bindings:   tables.MapOf(map[string]tables.Binding{"b": {Namespace: namespace, Name: name, Role: key}}),
			Subjects:   tables.Subjects{Cluster: tables.MapOf(map[string][]string{"user:" + name: {"b"}})},
			Extensions: []string{name},
		}
		files := emitFiles(lowered, emit.Options{Tests: true})
		for path, content := range files {
			if strings.Contains(path, "..") || strings.HasPrefix(path, "/") {
				t.Errorf("a file outside of the bundle: %q", path)
			}
			if !strings.HasSuffix(path, ".rego") {
				continue
			}
			if _, err := ast.ParseModuleWithOpts(path, string(content), ast.ParserOptions{RegoVersion: ast.RegoV1}); err != nil {
				t.Errorf("%s does not parse: %v\n%s", path, err, content)
			}
		}
	})
}

func access() *tables.Access {
	return &tables.Access{
		Master: "master",
		Roles: tables.MapOf(map[string]tables.Role{
			"kubernetes:/pods": {Family: tables.FamilyKubernetes, Kind: "ClusterRole", Name: "pods", Source: "a.yaml:1", Kubernetes: []tables.KubernetesRule{
				{Rule: 0, Source: "a.yaml:2", KubernetesLists: &tables.KubernetesLists{Verbs: []string{"get"}, Groups: []string{""}, Resources: []string{"pods"}}},
				{Rule: 1, Source: "a.yaml:3", KubernetesLists: &tables.KubernetesLists{Verbs: []string{"*"}, Paths: []string{"*"}}},
			}},
			"origin:master/nothing": {Family: tables.FamilyOrigin, Kind: "Role", Namespace: "master", Name: "nothing", Source: "a.yaml:5", Origin: []tables.OriginRule{
				{Rule: 0, Source: "a.yaml:6", Verbs: []string{"get"}, Kinds: nil, NotKinds: []string{"pods"}},
			}},
		}),
		Bindings: tables.MapOf(map[string]tables.Binding{
			"kubernetes:/b":     {Family: tables.FamilyKubernetes, Kind: "ClusterRoleBinding", Name: "b", Role: "kubernetes:/pods", Cluster: true},
			"origin:master/b":   {Family: tables.FamilyOrigin, Kind: "RoleBinding", Namespace: "master", Name: "b", Role: "origin:master/nothing", Cluster: true},
			"kubernetes:/empty": {Family: tables.FamilyKubernetes, Kind: "ClusterRoleBinding", Name: "empty", Role: "kubernetes:/pods", Cluster: true},
		}),
		Subjects: tables.Subjects{Cluster: tables.MapOf(map[string][]string{"group:g": {"kubernetes:/b"}, "user:u": {"kubernetes:/b", "origin:master/b"}})},
	}
}

func TestEmitTests(t *testing.T) {
	files := emitFiles(access(), emit.Options{Tests: true})
	want := []string{"compiled/extensions/dispatch.rego", "compiled/tests/access/kubernetes--pods_test.rego"}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	content := string(files[want[1]])
	for _, row := range []string{
		`"rule 0": {"request": `, `"request": {"apiGroup": "", "groups": ["g"], "resource": "pods", "subresource": "", "user": "", "verb": "get"}`,
		`"verb": "writ-other-verb"`, `"user": "writ:unbound"`,
	} {
		if !strings.Contains(content, row) {
			t.Errorf("%s is not in\n%s", row, content)
		}
	}
}

func TestEmitWithoutTests(t *testing.T) {
	files := emitFiles(access(), emit.Options{})
	for path := range files {
		if strings.HasSuffix(path, "_test.rego") {
			t.Errorf("got %s, want no tests", path)
		}
	}
}

func TestDispatch(t *testing.T) {
	files := emitFiles(&tables.Access{Extensions: []string{"region"}}, emit.Options{})
	if !bytes.Contains(files[dispatchPath], []byte(`data.writ.extensions.region.holds(request, params)`)) {
		t.Errorf("the extension is not asked in\n%s", files[dispatchPath])
	}
}

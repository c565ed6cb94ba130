package translator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// object is an object of a cluster.
func object(path, content string) source.File {
	f := file(path, content)
	f.Object = true
	return f
}

const edge = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"edge","namespace":"net"},` +
	`"spec":{"gatewayClassName":"x","listeners":[{"allowedRoutes":{"namespaces":{"from":"All"}},"name":"http","port":80,"protocol":"HTTP"}]}}`

func route(namespace string, year int) string {
	return fmt.Sprintf(`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"creationTimestamp":"%d-01-01T00:00:00Z","name":"r","namespace":%q},`+
		`"spec":{"parentRefs":[{"name":"edge","namespace":"net"}],"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/a"}}]}]}}`, year, namespace)
}

// An API server's creationTimestamp decides between routes of two namespaces; an author's
// does not.
func TestAgeCountsBetweenObjects(t *testing.T) {
	for _, row := range []struct {
		name      string
		files     []source.File
		conflicts int
	}{
		{"objects", []source.File{object("kube:Gateway/net/edge", edge), object("kube:HTTPRoute/a/r", route("a", 2026)), object("kube:HTTPRoute/b/r", route("b", 2020))}, 0},
		{"a document", []source.File{file("r.yaml", route("b", 1970)), object("kube:Gateway/net/edge", edge), object("kube:HTTPRoute/a/r", route("a", 2026))}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, list := New(Options{}).Translate(context.Background(), source.Snapshot{Files: row.files})
			if result == nil {
				t.Fatal(list)
			}
			conflicts := 0
			for _, d := range list {
				if d.Code == diag.RouteConflict {
					conflicts++
				}
			}
			if conflicts != row.conflicts {
				t.Errorf("got %d conflicts, want %d: %v", conflicts, row.conflicts, list)
			}
		})
	}
}

// What decided is the name of an object and the field of the rule.
func TestSourcesOfObjects(t *testing.T) {
	result, list := New(Options{}).Translate(context.Background(), source.Snapshot{Files: []source.File{
		object("kube:ClusterRole/view", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"view"},`+
			`"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]},{"apiGroups":[""],"resources":["nodes"],"verbs":["get"]}]}`),
		object("kube:ClusterRoleBinding/x.rego", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"x.rego"},`+
			`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"u"}]}`),
	}})
	if result == nil {
		t.Fatal(list)
	}
	access := tables.Of[*tables.Access](result.Tables)
	var sources []string
	for _, role := range access.Roles.All() {
		sources = append(sources, role.Source)
		for _, rule := range role.Kubernetes {
			sources = append(sources, rule.Source)
		}
	}
	for _, binding := range access.Bindings.All() {
		sources = append(sources, binding.Source)
	}
	want := []string{"kube:ClusterRole/view", "kube:ClusterRole/view:rules[0]", "kube:ClusterRole/view:rules[1]", "kube:ClusterRoleBinding/x.rego"}
	if !slices.Equal(sources, want) {
		t.Errorf("got %q, want %q", sources, want)
	}
}

// One of several sources without documents may be an unmounted volume.
func TestEachSourceHoldsDocuments(t *testing.T) {
	two := []source.Origin{{Name: "a"}, {Name: "b"}}
	for _, row := range []struct {
		name    string
		options Options
		origins []source.Origin
		want    string
	}{
		{"one source", Options{}, nil, ""},
		{"two, one of them empty", Options{}, two, "b: no-documents"},
		{"an empty one is intended", Options{AllowEmpty: true}, two, ""},
		{"the other one has sessions alone", Options{}, []source.Origin{{Name: "a"}, {Name: "b", MayBeEmpty: true}}, ""},
		{"sessions alone, but not in all", Options{}, []source.Origin{{Name: "empty"}, {Name: "b", MayBeEmpty: true}}, "empty: no-documents"},
		{"sessions alone", Options{}, []source.Origin{{Name: "empty", MayBeEmpty: true}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			snapshot := source.Snapshot{Files: []source.File{file("a/edge.yaml", edge)}, Origins: row.origins}
			if len(row.origins) > 0 && row.origins[0].Name == "empty" {
				snapshot.Files = nil
			}
			_, list := New(row.options).Translate(context.Background(), snapshot)
			var got []string
			for _, d := range list {
				if d.Severity == diag.Error {
					got = append(got, d.Position.String()+": "+string(d.Code))
				}
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

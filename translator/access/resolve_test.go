package access

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

func binding(i int, role string) *KubernetesBinding {
	return &KubernetesBinding{
		Header: syntax.Header{
			Family: FamilyKubernetes, Kind: "ClusterRoleBinding", Name: fmt.Sprintf("b%d", i),
			At: diag.Position{File: fmt.Sprintf("b%06d", i), Line: 1},
		},
		RoleKind: kindClusterRole,
		RoleName: syntax.Text{Value: role},
	}
}

// The order of the documents affects neither the result nor the diagnostics: the first of
// two duplicates is the first by position.
func TestOrderOfDocumentsDoesNotMatter(t *testing.T) {
	var documents []syntax.Document
	for i := range 20 {
		documents = append(documents, binding(i/2, "a"), binding(i, fmt.Sprintf("missing%d", i)), clusterRole(fmt.Sprintf("r%d", i), map[string]string{"to": "a"}))
	}
	documents = append(documents, clusterRole("a", nil, in("to", "a")))
	for i, d := range documents {
		d.Meta().At = diag.Position{File: "all.yaml", Line: i + 1}
	}
	want, wantList := resolveDocuments(documents)
	if countOf(wantList, diag.Duplicate) != 20 || countOf(wantList, diag.DanglingRole) != 19 {
		t.Fatalf("got %v, want enough diagnostics to compare the order", wantList)
	}
	slices.Reverse(documents)
	got, gotList := resolveDocuments(documents)
	if !reflect.DeepEqual(gotList, wantList) {
		t.Errorf("diagnostics: got %d other than the %d wanted", len(gotList), len(wantList))
	}
	if !reflect.DeepEqual(resources(got), resources(want)) {
		t.Errorf("roles: got %v, want %v", resources(got), resources(want))
	}
}

// Every dangling reference is reported. Similar names are searched only for the first
// ones, because each search reads every role.
func TestManyDanglingReferences(t *testing.T) {
	documents := []syntax.Document{clusterRole("viewer", nil)}
	const n = 5000
	for i := range n {
		documents = append(documents, binding(i, "viewr"))
	}
	_, list := resolveDocuments(documents)
	if got := countOf(list, diag.DanglingRole); got != n {
		t.Errorf("got %d diagnostics, want %d", got, n)
	}
	near := 0
	for _, d := range list {
		near += len(d.Related)
	}
	if near != directory.MaxSuggestions {
		t.Errorf("got %d near names, want %d", near, directory.MaxSuggestions)
	}
}

func resolveDocuments(documents []syntax.Document) (*Resolved, diag.List) {
	d := new(directory.Names).NewDirectory(documents, directory.Options{})
	return new(references).resolve(d), d.List
}

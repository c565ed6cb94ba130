package roles_test

import (
	"bytes"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/translator/roles"
)

// exported is what Kubernetes itself creates, written by its own code.
const exported = "../../tests/kubernetes/testdata/default/clusterroles.yaml"

// decode reads a stream of documents by name.
func decode(t *testing.T, stream []byte) map[string]map[string]any {
	t.Helper()
	documents := make(map[string]map[string]any)
	for part := range bytes.SplitSeq(stream, []byte("\n---\n")) {
		var d map[string]any
		if err := yaml.Unmarshal(part, &d); err != nil {
			t.Fatalf("decode: %v\n%s", err, part)
		}
		if d == nil {
			continue
		}
		metadata := d["metadata"].(map[string]any)
		name := metadata["name"].(string)
		if documents[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		documents[name] = d
	}
	return documents
}

// The stock roles of Kubernetes must equal those that an API server exports.
func TestKubernetesRolesAreKubernetesOwn(t *testing.T) {
	own, err := os.ReadFile(exported)
	if err != nil {
		t.Fatal(err)
	}
	want := decode(t, own)
	stream, err := roles.Documents(roles.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, stream)
	if len(got) != 7 {
		t.Errorf("got %d documents, want 7: four roles and what three of them aggregate", len(got))
	}
	for name, d := range got {
		for _, key := range []string{"apiVersion", "kind", "rules", "aggregationRule"} {
			if g, w := d[key], want[name][key]; !reflect.DeepEqual(g, w) && !(empty(g) && empty(w)) {
				t.Errorf("%s: %s:\n got %v\nwant %v", name, key, g, w)
			}
		}
		g, w := d["metadata"].(map[string]any)["labels"], want[name]["metadata"].(map[string]any)["labels"]
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s: labels: got %v, want %v", name, g, w)
		}
	}
}

func empty(value any) bool {
	list, ok := value.([]any)
	return value == nil || ok && len(list) == 0
}

func TestDocumentsOfOneRole(t *testing.T) {
	for _, row := range []struct {
		note, family string
		names        []string
		want         []string
	}{
		{"an Origin role stands alone", roles.Origin, []string{"admin"}, []string{"admin"}},
		{"all of a family", roles.Origin, nil, []string{"admin", "cluster-admin", "edit", "view"}},
		{"a Kubernetes role comes with what it aggregates", roles.Kubernetes, []string{"edit"},
			[]string{"edit", "system:aggregate-to-edit", "system:aggregate-to-view", "view"}},
		{"each document once", roles.Kubernetes, []string{"view", "view"}, []string{"system:aggregate-to-view", "view"}},
	} {
		t.Run(row.note, func(t *testing.T) {
			stream, err := roles.Documents(row.family, row.names...)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(decode(t, stream))); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if strings.Contains(string(stream), "\t") {
				t.Error("there is a tab in the documents")
			}
		})
	}
}

func TestDocumentsRefusesUnknownNames(t *testing.T) {
	for _, row := range [][]string{{"openshift"}, {roles.Origin, "viewer"}} {
		if _, err := roles.Documents(row[0], row[1:]...); err == nil {
			t.Errorf("Documents(%q): got no error", row)
		}
	}
}

package kube

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A mirror has objects by their paths, so that two objects must not have one.
func TestPathsDiffer(t *testing.T) {
	names := make(map[string]string)
	for _, name := range []string{"a\nb", `a\nb`, `a\\nb`, "a\u0001", `a\x01`, `a\u0001`, "a\u0001\"", `a\x01"`, "é\u0001", `\u00e9\x01`} {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetName(name)
		path := resource{kind: kind{label: "ClusterRole"}}.path(object)
		if other, taken := names[path]; taken {
			t.Errorf("%q and %q have the path %s", other, name, path)
		}
		names[path] = name
	}
}

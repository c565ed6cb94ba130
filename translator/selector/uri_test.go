package selector

import (
	"reflect"
	"testing"
)

func TestSelectorsOfURIs(t *testing.T) {
	for uri, want := range map[string]map[string]any{
		"/api/v1/pods": nil,
		"/apis/apps/v1/deployments?labelSelector=a&fieldSelector=metadata.name!%3Dx": {
			LabelKey: Written([]Requirement{{"a", exists, []string{}}}), FieldKey: Written([]Requirement{{"metadata.name", notIn, []string{"x"}}}),
		},
		"/apis/apps/v1/watch/deployments?labelSelector=a":      nil,
		"/apis/apps/v1/namespaces/watch/x?labelSelector=a%3E1": nil,
	} {
		got, err := OfURI(uri)
		if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v, want %v", uri, got, err, want)
		}
	}
	for _, uri := range []string{"", "pods", "/p?labelSelector=%3D", "/p?fieldSelector=x", "/p?%zz"} {
		if got, err := OfURI(uri); err == nil {
			t.Errorf("%s: got %v and no error", uri, got)
		}
	}
}

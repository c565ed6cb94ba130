package decision

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
)

// The schemas by which the Rego library is checked have the keys of requests.
func TestSchemasHaveTheKeysOfRequests(t *testing.T) {
	for point, keys := range map[string][]string{Access: accessKeys, Visibility: visibilityKeys, Gateway: gatewayKeys[:]} {
		content, err := os.ReadFile("../../rego/schemas/" + point + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(content, &schema); err != nil {
			t.Fatal(err)
		}
		if got, want := slices.Sorted(maps.Keys(schema.Properties)), slices.Sorted(slices.Values(keys)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", point, got, want)
		}
	}
}

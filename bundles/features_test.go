package bundles

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/tables"
)

// A bundle states the features of all families, also of those without tables in the
// data, and reading it rejects those that no family has.
func TestReadFeatures(t *testing.T) {
	access := translated(1)
	lowered := tables.List{access}
	for _, table := range translator.Tables() {
		if table.Key() != access.Key() {
			lowered = append(lowered, table)
		}
	}
	stated := lowered.Features()
	if len(stated) < 4 {
		t.Fatalf("got features %v", stated)
	}
	stated[tables.FeatureNamespaceLabels] = true
	for _, row := range []struct {
		name, feature, want string
	}{
		{"stated", tables.FeatureDenyPolicies, ""},
		{"unknown", "bells", `unknown field "bells"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			features := maps.Clone(stated)
			features[row.feature] = true
			b := assembled(t, lowered, map[string]any{"access": access, tables.FeaturesKey: features})
			read, err := Read(bytes.NewReader(tarball(t, b)))
			if row.want != "" {
				if err == nil || !strings.Contains(err.Error(), row.want) {
					t.Errorf("got %v, want %s", err, row.want)
				}
				return
			}
			check(t, err)
			if !maps.Equal(read.Features, features) {
				t.Errorf("got %v, want %v", read.Features, features)
			}
		})
	}
}

// A table whose files hold all of it has no key in the data.
func TestReadEmptyKey(t *testing.T) {
	d, err := dataFileOf(tables.TextOf([]byte(`{"access":{"master":"m"},"":{}}`)))
	check(t, err)
	if _, _, err := decodeTables(d); err == nil {
		t.Error("got no error for an empty key")
	}
}

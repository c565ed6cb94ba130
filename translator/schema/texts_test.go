package schema_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/schema"
)

// Each field that a decoder reads has a text, and each text describes a field.
func TestFieldsHaveTexts(t *testing.T) {
	used := make(map[string]bool)
	unused := make(map[string]string)
	for _, kind := range translator.Kinds() {
		if kind.APIVersion == "" {
			continue
		}
		missing := make(map[string]bool)
		var visit func(path []string, s *schema.Schema)
		visit = func(path []string, s *schema.Schema) {
			if s == nil {
				return
			}
			if used[s.Description] = true; s.Description == "" && len(path) > 0 && (path[len(path)-1] != "*" || len(s.Properties) > 0) {
				missing[strings.Join(path, ".")] = true
			}
			if strings.HasSuffix(s.Description, "Not read.") {
				return // what is below has no meaning either
			}
			for name, field := range s.Properties {
				visit(append(slices.Clone(path), name), field)
			}
			if s.Values != nil {
				visit(append(slices.Clone(path), "*"), s.Values)
			}
			for items := s.Items; items != nil; items = items.Items {
				for name, field := range items.Properties {
					visit(append(slices.Clone(path), name), field)
				}
			}
		}
		visit(nil, schema.Of(translator.Kinds(), kind))
		for i, path := range slices.Sorted(maps.Keys(missing)) {
			if i == 20 {
				t.Errorf("%s: and %d more", kind.Name, len(missing)-i)
				break
			}
			t.Errorf("%s: field %s has no text; add it to the file fields.txt beside the decoder", kind.Name, path)
		}
		for path, text := range kind.Texts {
			unused[text] = kind.APIVersion + " " + path
		}
	}
	for text, path := range unused {
		if !used[text] {
			t.Errorf("the text of %s describes no field: %s", path, text)
		}
	}
}

package schema_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/schema"
	"github.com/writ-policy/writ/translator/syntax"
)

// folders have documents of every kind, most of them valid.
var folders = []string{"../../examples", "../testdata", "../../tests/conformance"}

// What decodes validates, and a field that the decoder does not know is refused by both.
func TestSchemasAgreeWithDecoders(t *testing.T) {
	schemas := make(map[[2]string]*schema.Schema)
	for _, k := range translator.Kinds() {
		if k.APIVersion != "" {
			schemas[[2]string{k.APIVersion, k.Name}] = schema.Of(translator.Kinds(), k)
		}
	}
	compared := make(map[[2]string]int)
	refused := 0
	for _, document := range documents(t) {
		key := [2]string{fmt.Sprint(document["apiVersion"]), fmt.Sprint(document["kind"])}
		s := schemas[key]
		if s == nil || !decodes(t, document) {
			continue
		}
		if why := mismatch(s, document, ""); why != "" {
			t.Fatalf("the decoder accepts what the schema of %s refuses: %s\n%s", key, why, text(t, document))
		}
		compared[key]++
		if compared[key] > 25 {
			continue
		}
		for _, inner := range mappings(document) {
			inner["writUnknown"] = "x"
			if unknown, why := unknownField(t, document), mismatch(s, document, ""); unknown != strings.HasSuffix(why, "writUnknown: unknown") {
				t.Errorf("%s: the decoder reports an unknown field: %t, the schema %q\n%s", key, unknown, why, text(t, document))
			} else if unknown {
				refused++
			}
			delete(inner, "writUnknown")
		}
	}
	for key := range schemas {
		if compared[key] == 0 {
			t.Errorf("no document of %s", key)
		}
	}
	if refused < 1000 {
		t.Errorf("got %d refused fields, want 1000", refused)
	}
}

// Enumerations and examples are those of the decoders.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ version, kind, path, want string }{
		{"breakglass.t-caas.telekom.com/v1alpha1", "DenyPolicy", "spec.podSecurityRules.failMode", `{"description":"What happens if the pod cannot be read: closed denies, open allows.","enum":["open","closed",null],"type":["string","null"]}`},
		{"clusterpulse.io/v1alpha1", "MonitorAccessPolicy", "spec.access.effect", `{"description":"Allow or Deny. A Deny hides the clusters that its rules match.","enum":["Allow","Deny",null],"type":["string","null"]}`},
		{"rbac.authorization.k8s.io/v1", "Role", "rules.0.verbs.0", `{"examples":["post",`},
		{"writ.dev/v1", "Role", "rules.0.verbs.0", `{"examples":["exec",`},
	} {
		for _, kind := range translator.Kinds() {
			if kind.APIVersion != row.version || kind.Name != row.kind {
				continue
			}
			got, err := json.Marshal(schema.Of(translator.Kinds(), kind).At(strings.Split(row.path, ".")))
			if err != nil || !strings.HasPrefix(string(got), row.want) {
				t.Errorf("%s %s: got %s, %v; want %s", row.kind, row.path, got, err, row.want)
			}
		}
	}
}

// documents are all documents of the folders, also those inside goldens.
func documents(t *testing.T) []map[string]any {
	var all []map[string]any
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json", ".txtar"}, filepath.Ext(path)) {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for part := range strings.SplitSeq("\n"+string(content), "\n---") {
				for file := range strings.SplitSeq(part, "\n-- ") { // of a golden
					if _, body, isFile := strings.Cut(file, " --\n"); isFile {
						file = body
					}
					var document map[string]any
					if yaml.Unmarshal([]byte(strings.TrimPrefix(file, " ")), &document) == nil && document["apiVersion"] != nil && document["metadata"] != nil {
						all = append(all, document)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func text(t *testing.T, document map[string]any) []byte {
	out, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decode(t *testing.T, document map[string]any) diag.List {
	return translator.Kinds().Decode("d.json", text(t, document), syntax.Options{DefaultNamespace: "d"}).List
}

func decodes(t *testing.T, document map[string]any) bool {
	if _, err := json.Marshal(document); err != nil {
		return false // a key that is not text
	}
	return !decode(t, document).HasErrors()
}

func unknownField(t *testing.T, document map[string]any) bool {
	return slices.ContainsFunc(decode(t, document), func(d diag.Diagnostic) bool {
		return d.Code == diag.UnknownField && strings.Contains(d.Message, "writUnknown")
	})
}

// mappings are the mappings of a value, without those whose fields have any names.
func mappings(value any) []map[string]any {
	var all []map[string]any
	switch v := value.(type) {
	case map[string]any:
		all = append(all, v)
		for _, inner := range v {
			all = append(all, mappings(inner)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, mappings(inner)...)
		}
	}
	return all
}

// mismatch returns why a value does not validate, "" if it does.
func mismatch(s *schema.Schema, value any, at string) string {
	if s.Const != "" && value != s.Const {
		return at + ": another constant"
	}
	if kind := typeOf(value); len(s.Types) > 0 && !slices.Contains(s.Types, kind) {
		return fmt.Sprintf("%s: %s is not one of %s", at, kind, s.Types)
	}
	if text, ok := value.(string); ok && s.Words.Only != nil && !slices.Contains(s.Words.Only, text) {
		return fmt.Sprintf("%s: %q is not one of %q", at, text, s.Words.Only)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			property := s.Properties[name]
			switch {
			case property != nil:
			case s.Closed:
				return at + "." + name + ": unknown"
			case s.Values != nil:
				property = s.Values
			default:
				continue
			}
			if why := mismatch(property, inner, at+"."+name); why != "" {
				return why
			}
		}
	case []any:
		for _, inner := range v {
			if s.Items == nil {
				continue
			}
			if why := mismatch(s.Items, inner, at+"[]"); why != "" {
				return why
			}
		}
	}
	return ""
}

func typeOf(value any) string {
	switch v := value.(type) {
	case float64:
		if v == float64(int(v)) {
			return "integer"
		}
	case nil:
		return "null"
	case string, time.Time:
		return "string"
	case bool:
		return "boolean"
	case int:
		return "integer"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	}
	return "number"
}

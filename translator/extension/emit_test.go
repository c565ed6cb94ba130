package extension

import (
	"maps"
	"slices"
	"testing"

	"github.com/writ-policy/writ/translator/syntax"
)

func TestExtensionFiles(t *testing.T) {
	extension := func(name, file string) *Extension {
		return &Extension{Header: syntax.Header{Name: name}, File: file, Source: []byte(file)}
	}
	files := emitFiles([]*Extension{extension("region", "a/x.rego"), extension("region", "b/x.rego"), extension("lib.time", "t.rego"),
		extension("region_test", "t.rego")})
	for _, path := range []string{
		"writ/extensions/region/a__x.rego", "writ/extensions/region/b__x.rego", "writ/extensions/lib/time/t.rego",
		"writ/extensions/region_test/t_test.rego",
	} {
		if files[path] == nil {
			t.Errorf("%s is not among %q", path, slices.Sorted(maps.Keys(files)))
		}
	}
}

package translator

import (
	"strings"
	"testing"

	formatting "github.com/writ-policy/writ/tests/generated"
	"github.com/writ-policy/writ/translator/source"
)

// Generated Rego, tests included, is formatted as opa fmt writes it. Rego of a
// document stays as its author wrote it.
func TestGeneratedRegoIsFormatted(t *testing.T) {
	t.Parallel()
	snapshots := suites(t)
	for _, g := range goldens(t) {
		snapshots[g.path] = g.snapshot("")
	}
	folders := make(map[string]int)
	for path, snapshot := range snapshots {
		r, _ := New(Options{Tests: true}).Translate(t.Context(), snapshot)
		if r == nil {
			continue
		}
		if err := formatting.CheckFormat(r.Files); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for name := range r.Files {
			if formatting.IsRego(name) {
				folders[strings.Join(strings.Split(name, "/")[:2], "/")]++
			}
		}
	}
	for _, folder := range []string{"deny", "escalations", "expressions", "extensions", "gateway", "tests", "visibility"} {
		if folders["compiled/"+folder] == 0 {
			t.Errorf("no file of compiled/%s was formatted", folder)
		}
	}
}

// suites returns the documents of the conformance suites.
func suites(t *testing.T) map[string]source.Snapshot {
	t.Helper()
	return snapshotsOf(t, "../tests/conformance/*/*/policies/*.yaml")
}

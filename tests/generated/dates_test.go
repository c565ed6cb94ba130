package generated

import (
	"maps"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/gate"
)

// Requests at the bounds of sessions and bindings notice each change of them that is not about
// where a document stands, without the test that compares tables as they are.
func TestRequestsNoticeChangedEnds(t *testing.T) {
	t.Parallel()
	b := newBundle(t, "testdata/dated/policies")
	if failed, err := b.failed(b.modules, b.data, isTested); err != nil || len(failed) > 0 {
		t.Fatalf("got %v and %q for the bundle as it is, want none", err, failed)
	}
	var changes []change
	for _, table := range []string{"sessions", "access"} {
		for _, c := range changesOf(b.data[table], "") {
			isAbout := table == "sessions" && !strings.Contains(c.what, ".source") || strings.Contains(c.what, ".dates")
			// A key without a session, and an operation that no pod has, change no decision.
			if isAbout && !strings.Contains(c.what, " with ") {
				data := maps.Clone(b.data)
				data[table] = c.data
				changes = append(changes, change{table + c.what, data})
			}
		}
	}
	if len(changes) < 100 {
		t.Errorf("got %d changes, which are too few to show anything", len(changes))
	}
	for _, c := range some(changes, 20*max(1, gate.Effort()/10)) {
		failed, err := b.failed(b.modules, c.data, func(path string) bool { return !strings.Contains(path, "tables_test") })
		if err != nil {
			t.Fatal(err)
		}
		if len(failed) == 0 {
			t.Errorf("not noticed: %s", c.what)
		}
	}
}

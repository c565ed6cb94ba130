package generated

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/gate"
)

// changesNothing are changes that change no decision: a key without a session, an operation that
// no pod has, what a session that was withdrawn would lend, the issuer of a session for all of
// them, and the cluster of a debug session, which is found by its cluster.
var changesNothing = regexp.MustCompile(` with |sessions\.tom-1|bob-2\.issuer|debug\..*\.cluster`)

// Requests at the bounds of sessions and bindings notice each change of them that is not about
// where a document stands, without the test that compares tables as they are.
func TestRequestsNoticeChangedEnds(t *testing.T) {
	t.Parallel()
	b := newBundle(t, "testdata/dated/policies")
	if failed := b.failed(t, b.data, isTested); len(failed) > 0 {
		t.Fatalf("got %q for the bundle as it is, want none", failed)
	}
	var changes []change
	for _, table := range []string{"sessions", "access"} {
		for _, c := range changesOf(b.data[table], "") {
			isAbout := table == "sessions" && !strings.Contains(c.what, ".source") || strings.Contains(c.what, ".dates")
			if isAbout && !changesNothing.MatchString(c.what) {
				data := maps.Clone(b.data)
				data[table] = c.data
				changes = append(changes, change{table + c.what, data})
			}
		}
	}
	if len(changes) < 100 {
		t.Errorf("got %d changes, which are too few to show anything", len(changes))
	}
	for _, c := range some(changes, gate.Times(2)) {
		if failed := b.failed(t, c.data, func(path string) bool { return !strings.Contains(path, "tables_test") }); len(failed) == 0 {
			t.Errorf("not noticed: %s", c.what)
		}
	}
}

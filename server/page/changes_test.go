package page

import (
	"testing"

	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/change"
)

// What users may do through sessions is not compared, so that a session that differs is
// never shown as no difference.
func TestSessionsThatDifferAreNotTheSame(t *testing.T) {
	t.Parallel()
	if d := differenceOf(&view.Diff{Report: &change.Report{}}); !d.Same {
		t.Error("a comparison without a difference has one")
	}
	d := differenceOf(&view.Diff{Report: &change.Report{Sessions: []change.Cause{{Kind: "BreakglassSession", Name: "s"}}}})
	if d.Same || len(d.Counts) != 1 {
		t.Errorf("a session that differs is shown as %+v", d)
	}
}

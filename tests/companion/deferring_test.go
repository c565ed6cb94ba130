package companion

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/tests/gate"
)

// reviewed is the answer to the review of a write while a companion is in force.
func (w *write) reviewed(t *testing.T, p decision.Policies, c *companion.Companion) (d decision.Decision, isDeferred bool) {
	t.Helper()
	r := w.ask()
	strict := p.Access(t.Context(), r)
	if by, ok := access.Defer(t.Context(), p, c, r, &strict); ok {
		return by, true
	}
	return strict, false
}

// possible are the decisions on a write for all objects, by the values that the documents of
// draw compare.
func (w *write) possible(t *testing.T, p decision.Policies) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	w.couldBe(t, p, func(d string) bool {
		out[d] = true
		return len(out) == 3
	})
	return out
}

// The review and the companion together never let a write pass that the decision on the object
// denies, or one that the review allowed for other objects only. Where the companion has every
// condition, the review is deferred exactly if the object decides.
func TestDeferring(t *testing.T) {
	counts := map[string]int{}
	for seed := range 4 + 4*gate.Effort() {
		d := draw{rand.New(rand.NewPCG(uint64(seed), 11))}
		documents := d.documents()
		p := activate(t, documents)
		c := companion.Make(statement.NewWorld(*p.Tables()), companion.Options{Cluster: cluster})
		a := newAdmission(t, c)
		for i := range 100 {
			w := d.write()
			counts["writes"]++
			by, isDeferred := w.reviewed(t, p, c)
			answer, on := outcome(t, by), w.onObject(t, p)
			refused := a.refuses(w)
			fail := func(what string) {
				t.Helper()
				t.Errorf("seed %d: %s\n%s\nreview %s (%v, %s), on the object %s, refused %v\nrefusals %v\n%s", seed, what,
					encode(map[string]any{"user": w.user, "groups": w.groups, "request": w.request(), "verb": w.verb, "before": w.before, "after": w.after, "namespace": w.namespaceLabels}),
					answer, isDeferred, by.Reason, on, shortened(refused), c.Refused, encode(documents))
			}
			if isDeferred {
				counts["deferred, "+answer]++
			}
			passes := answer != denied && len(refused) == 0
			switch {
			case passes && on == denied && (isDeferred || len(c.Refused) == 0):
				fail("passes, and is denied")
			case passes && answer == allowed && isDeferred && on != allowed:
				fail("allowed for other objects, and passes")
			case isDeferred && len(refused) > 0 && on == allowed:
				fail("refused, and allowed")
			case isDeferred && len(refused) > 0:
				counts["refused"]++
			case isDeferred:
				counts["passes"]++
			}
			if len(c.Refused) == 0 && i%4 == 0 {
				w.compare(t, p, isDeferred, answer, counts, fail)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Log(counts)
	for name, least := range map[string]int{"deferred, allowed": 20, "deferred, none": 200, "refused": 20, "passes": 50, "as all objects": 50} {
		if counts[name] < counts["writes"]/least {
			t.Errorf("got %d writes of %q of %d: the test says little", counts[name], name, counts["writes"])
		}
	}
}

// shortened are messages without the expressions.
func shortened(messages []string) (out []string) {
	for _, m := range messages {
		first, _, _ := strings.Cut(m, "\n")
		out = append(out, first)
	}
	return out
}

// compare compares the answer to a review with the decisions for all objects.
func (w *write) compare(t *testing.T, p decision.Policies, isDeferred bool, answer string, counts map[string]int, fail func(string)) {
	t.Helper()
	all := w.possible(t, p)
	want := answer
	switch {
	case all[allowed]:
		want = allowed
	case all[none]:
		want = none
	case all[denied]:
		want = denied
	}
	switch {
	case answer == want:
		counts["as all objects"]++
	case isDeferred && answer == allowed && all[none] && !all[allowed], isDeferred && all[denied] && len(all) == 1:
		counts["conditions that exclude each other"]++ // the companion refuses every object
	default:
		fail(fmt.Sprintf("the review is not what it is for all objects: %v", all))
	}
}

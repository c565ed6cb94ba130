package diff_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/revisions"
)

// pair compares two random worlds, of which the second one is an edit of the first one.
func pair(t *testing.T, w revisions.Random) (a, b *diff.Side, report *diff.Report) {
	t.Helper()
	documents := w.Documents()
	edited := slices.Clone(documents)
	for other, n := w.Documents(), 1+w.IntN(3); n > 0; n-- {
		i := 2 + w.IntN(len(documents)-2)
		edited[i] = other[i]
	}
	a, b = revisions.Of(t, documents), revisions.Of(t, edited)
	report, err := diff.Compare(t.Context(), a, b, diff.Options{Now: time.Unix(0, 0)})
	if err != nil {
		t.Fatalf("%v\n%s\n---\n%s", err, strings.Join(documents, "\n"), strings.Join(edited, "\n"))
	}
	return a, b, report
}

// The gate tries few pairs; make soak tries more, from another seed.
// pairs is the number of random pairs of documents.
func pairs() int { return max(5, gate.Times(1)) }

// seed is the first seed of the pairs.
func seed() uint64 { return gate.Seed() }

// decided is a request with the outcomes of two revisions.
type decided struct {
	request  map[string]any
	from, to string
}

// promises returns how a report breaks its promises, empty if it keeps them: every request
// whose outcome differs fits a class with its change and transition; a request that fits an
// exact class with no principal to spare goes through one of its transitions; and each
// transition has a witness that fits and goes through it.
func promises(t *testing.T, a, b *diff.Side, report *diff.Report, list []decided) (problem string, held int) {
	t.Helper()
	for i := range report.Classes {
		k := &report.Classes[i]
		for _, x := range k.Transitions {
			r := x.Witness.Request
			if from, to := revisions.Outcome(t, a, r), revisions.Outcome(t, b, r); from != x.From || to != x.To || !report.Fits(k, r, revisions.Principals(r)) {
				return fmt.Sprintf("the witness of class %s is not one of it, %s -> %s: %s", k.ID, from, to, revisions.Text(r)), held
			}
		}
	}
	for _, d := range list {
		found := d.from == d.to
		for i := range report.Classes {
			k := &report.Classes[i]
			if !report.Fits(k, d.request, revisions.Principals(d.request)) {
				continue
			}
			goes := slices.ContainsFunc(k.Transitions, func(x diff.Transition) bool { return x.From == d.from && x.To == d.to })
			found = found || (goes || !k.Exact) && slices.Contains(k.Changes, diff.Kind(revisions.PointOf(d.request), d.from, d.to))
			if !k.Exact || spare(report, k, d.request) {
				continue
			}
			held++
			if !goes {
				return fmt.Sprintf("class %s is too wide: %s -> %s: %s", k.ID, d.from, d.to, revisions.Text(d.request)), held
			}
		}
		if !found {
			return fmt.Sprintf("no class: %s -> %s: %s", d.from, d.to, revisions.Text(d.request)), held
		}
	}
	return "", held
}

// Reports keep their promises, with the engine as the judge, and a report with a class that
// is dropped, widened, narrowed or has another witness does not.
func TestClassesAreThoseOfTheEngine(t *testing.T) {
	differing, held := 0, 0
	noticed := map[string]int{"dropped": 0, "widened": 0, "narrowed": 0, "another witness": 0}
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 1))}
		a, b, report := pair(t, w)
		var list []decided
		for range 200 {
			r := w.Request()
			d := decided{r, revisions.Outcome(t, a, r), revisions.Outcome(t, b, r)}
			list = append(list, d)
			if d.from != d.to {
				differing++
			}
		}
		problem, kept := promises(t, a, b, report, list)
		if problem != "" {
			t.Fatalf("seed %d: %s", seed()+uint64(n), problem)
		}
		held += kept
		for how := range noticed {
			for i := 0; i < len(report.Classes) && noticed[how] == 0; i++ {
				if broken, ok := report.Break(how, i); ok {
					if problem, _ := promises(t, a, b, broken, list); problem != "" {
						noticed[how]++
					}
				}
			}
		}
	}
	if differing < pairs() || held < pairs() {
		t.Errorf("%d requests differ and %d fit exact classes: the test proves too little", differing, held)
	}
	for how, n := range noticed {
		if n == 0 {
			t.Errorf("no class that is %s is noticed", how)
		}
	}
}

// spare reports whether the request fits the class without one of its principals.
func spare(report *diff.Report, k *diff.Class, r map[string]any) bool {
	held := revisions.Principals(r)
	return slices.ContainsFunc(held, func(p string) bool {
		return report.Fits(k, r, slices.DeleteFunc(slices.Clone(held), func(q string) bool { return p == q }))
	})
}

// Equal documents, and the same documents in another order, are equivalent.
func TestEqualDocumentsAreEquivalent(t *testing.T) {
	w := revisions.Random{Rand: rand.New(rand.NewPCG(1, 1))}
	documents := w.Documents()
	reversed := slices.Clone(documents)
	slices.Reverse(reversed)
	report, err := diff.Compare(t.Context(), revisions.Of(t, documents), revisions.Of(t, reversed), diff.Options{Now: time.Unix(0, 0)})
	if err != nil || !report.Equivalent {
		t.Errorf("got %v and %v, want an equivalent report", report, err)
	}
}

// An engine that decides a witness in another way than the statements is a defect. It is an
// error, and never a result.
func TestDisagreementIsAnError(t *testing.T) {
	before := allowed("r", `{verbs: [get], apiGroups: [""], resources: [pods]}`, "dev")
	a, b := revisions.Of(t, before[:1]), revisions.Of(t, before)
	b.Judge = a.Judge
	report, err := diff.Compare(t.Context(), a, b, diff.Options{})
	var disagreement *diff.DisagreementError
	if report != nil || !errors.As(err, &disagreement) {
		t.Fatalf("got %v and %v, want a DisagreementError", report, err)
	}
	if disagreement.Class != "none -> allow" || disagreement.Decided != "none -> none" {
		t.Errorf("got %+v", disagreement)
	}
}

// Each statement of a class is needed: one of a list fits a request of the class, and an
// exception a request that would be one of the class without it.
func TestClassesAreSmall(t *testing.T) {
	checked := 0
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 2))}
		_, _, report := pair(t, w)
		for i := range report.Classes {
			needless, parts := report.Needless(&report.Classes[i])
			checked += parts
			if needless != "" {
				t.Errorf("seed %d: class %s has a part that is not needed: %s", seed()+uint64(n), report.Classes[i].ID, needless)
			}
		}
	}
	if checked < pairs() {
		t.Errorf("%d parts: the test proves too little", checked)
	}
}

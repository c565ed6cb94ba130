package diff_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/tests/revisions"
)

// Reports of revisions with sessions keep their promises at each time that is compared, with
// the engine as the judge.
func TestClassesWithSessionsAreThoseOfTheEngine(t *testing.T) {
	differing, held, later := 0, 0, 0
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 5))}
		clock := &revisions.Clock{Time: revisions.Hour(2)}
		documents := w.Documents()
		a, b := clock.At(t, append(slices.Clone(documents), w.Sessions()...)), clock.At(t, append(documents, w.Sessions()...))
		report, err := diff.Compare(t.Context(), a, b, diff.Options{Now: clock.Time, SetNow: clock.Set})
		if err != nil {
			t.Fatalf("seed %d: %v", seed()+uint64(n), err)
		}
		for _, at := range report.Coverage.At {
			clock.Set(at)
			// A class that was found before may go on or have ended by then.
			until := *report
			until.Classes = slices.DeleteFunc(slices.Clone(report.Classes), func(k diff.Class) bool { return k.At != nil && k.At.After(at) })
			own := *report
			own.Classes = slices.DeleteFunc(slices.Clone(until.Classes), func(k diff.Class) bool { return k.At != nil && k.At.Before(at) })
			if at.After(revisions.Hour(2)) {
				later += len(own.Classes)
			}
			var list []decided
			for range 100 {
				r := w.SessionRequest()
				d := decided{r, revisions.Outcome(t, a, r), revisions.Outcome(t, b, r)}
				if d.from != d.to {
					differing++
				}
				isEarlier := slices.ContainsFunc(until.Classes, func(k diff.Class) bool {
					return k.At != nil && k.At.Before(at) && report.Fits(&k, r, revisions.Principals(r))
				})
				if !isEarlier {
					list = append(list, d)
				}
			}
			problem, kept := promises(t, a, b, &own, list)
			if problem != "" {
				t.Fatalf("seed %d, at %s: %s", seed()+uint64(n), at.Format(time.TimeOnly), problem)
			}
			held += kept
		}
	}
	if differing < pairs() || held == 0 || later == 0 {
		t.Errorf("%d requests differ, %d fit exact classes, %d classes begin later: the test proves too little", differing, held, later)
	}
}

// A session that is only in one revision is a class for its user on its cluster, from its
// beginning on.
func TestSessionsAreWrittenOut(t *testing.T) {
	clock := &revisions.Clock{Time: revisions.Hour(8)}
	documents := allowed("root", `{verbs: [get], apiGroups: [""], resources: [nodes]}`, "root")
	session := `{kind: BreakglassSession, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: s1}, spec: {cluster: prod-1, user: bob, grantedGroup: root}, status: {state: Approved, approvedAt: "2026-03-01T09:00:00Z", expiresAt: "2026-03-01T10:00:00Z"}}`
	a, b := clock.At(t, documents), clock.At(t, append(slices.Clone(documents), session))
	report, err := diff.Compare(t.Context(), a, b, diff.Options{Now: clock.Time, SetNow: clock.Set})
	if err != nil {
		t.Fatal(err)
	}
	text := report.Text(50, false)
	for _, want := range []string{"+ from 2026-03-01T09:00:00Z: user bob can now get nodes in cluster prod-1, via session s1    BreakglassSession s1 (all.yaml:", "1 gain"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if len(report.Classes) != 1 || !report.Classes[0].Exact || report.Statements[0].Session != "s1" || len(report.Groups[0].Causes) != 1 {
		t.Errorf("got %+v\n%+v", report.Classes, report.Groups)
	}
	// The sentence about all requests names the cluster too.
	documents[0] = strings.NewReplacer("[get]", `["*"]`, `[""]`, `["*"]`, "[nodes]", `["*"]`).Replace(documents[0])
	a, b = clock.At(t, documents), clock.At(t, append(slices.Clone(documents), session))
	all, err := diff.Compare(t.Context(), a, b, diff.Options{Now: clock.Time, SetNow: clock.Set})
	if err != nil {
		t.Fatal(err)
	}
	if text, want := all.Text(50, false), ": user bob can now do everything on cluster prod-1    "; !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
	if !report.Fails("gain") || report.Fails("loss") {
		t.Error("a gain that is later counts as another change, or does not count")
	}
}

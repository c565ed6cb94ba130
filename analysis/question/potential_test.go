package question_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/tests/revisions"
)

// With every fact stated, a group is listed with an escalation exactly if the engine does not
// allow it the request, and does as soon as it has a session of that escalation; the user of
// a session that begins later exactly if the engine allows it then.
func TestPotentialIsWhatTheEngineAllowsWithASession(t *testing.T) {
	const api = "breakglass.t-caas.telekom.com/v1alpha1"
	listed, left, later := 0, 0, 0
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 7))}
		documents := append(w.Documents(), w.Sessions()...)
		clock := &revisions.Clock{Time: revisions.Hour(1)}
		side := clock.At(t, documents)
		asker := &question.Asker{World: side.World, Judge: side.Judge, Now: clock.Time}
		for range 3 {
			stated := w.SessionRequest()
			for _, key := range []string{"user", "groups", "session", "extra"} {
				delete(stated, key)
			}
			stated["cluster"] = w.Pick("prod-1", "lab")
			answer, err := asker.WhoCan(t.Context(), &question.Question{Stated: stated, Potential: true})
			if err != nil {
				t.Fatal(err)
			}
			isListed := func(fits func(*question.Potential) bool) bool {
				return slices.ContainsFunc(answer.Potential, func(p question.Potential) bool { return fits(&p) })
			}
			r := maps.Clone(stated)
			maps.Copy(r, map[string]any{"user": "new", "groups": []string{"g1"}})
			isAllowed := revisions.Outcome(t, side, r) == "allow"
			for _, escalation := range []string{"e0", "e1"} {
				session := fmt.Sprintf("{kind: BreakglassSession, apiVersion: %s, metadata: {name: supposed, ownerReferences: [{apiVersion: %s, kind: BreakglassEscalation, name: %s}]}, spec: {cluster: %s, user: new, grantedGroup: g0}, status: {state: Approved, expiresAt: %q}}",
					api, api, escalation, stated["cluster"], revisions.Hour(9).Format(time.RFC3339))
				want := !isAllowed && revisions.Outcome(t, clock.At(t, append(slices.Clone(documents), session)), r) == "allow"
				got := isListed(func(p *question.Potential) bool {
					return p.Subject == "group:g1" && p.Escalation == escalation && p.Verdict == "always"
				})
				if got != want {
					t.Fatalf("seed %d: %s is listed: %v, want %v: %s", seed()+uint64(n), escalation, got, want, revisions.Text(r))
				}
				if want {
					listed++
				} else {
					left++
				}
			}
			for i := range answer.Potential {
				p := &answer.Potential[i]
				if p.Session == "" {
					continue
				}
				later++
				from, err := time.Parse(time.RFC3339, p.From)
				if err != nil || !from.After(clock.Time) {
					t.Fatalf("seed %d: session %s begins %q", seed()+uint64(n), p.Session, p.From)
				}
				now := clock.Time
				clock.Time = from
				maps.Copy(r, map[string]any{"user": p.Subject[len("user:"):], "groups": []string{}})
				got := revisions.Outcome(t, side, r)
				clock.Time = now
				if got != "allow" {
					t.Fatalf("seed %d: session %s: %s at its beginning: %s", seed()+uint64(n), p.Session, got, revisions.Text(r))
				}
			}
		}
	}
	if listed == 0 || left == 0 || later == 0 {
		t.Errorf("%d listed, %d not, %d sessions: the test proves too little", listed, left, later)
	}
}

package answers

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
)

// ruleAt returns the counts of the rule at a place.
func (s *site) ruleAt(source string) console.Rule {
	s.t.Helper()
	rules, err := s.explorer.Now().Rules(all, console.RulesQuery{Limit: maxRows})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range rules.Rules {
		if r.Source == source {
			return r
		}
	}
	s.t.Fatalf("no rule is at %s: %s", source, text(s.t, rules))
	return console.Rule{}
}

const (
	getPods   = `{"user":"ada","groups":["dev"],"verb":"get","resource":"pods","namespace":"shop"}`
	getByEach = `{"user":"ada","groups":["ops"],"verb":"get","resource":"pods","namespace":"shop"}`
)

// Counts follow a rule over reloads that move it, and end with its content.
func TestCountsFollowRules(t *testing.T) {
	s := newSite(t, policies)
	s.decide(t.Context(), getPods)
	s.decide(t.Context(), getByEach) // the cluster's rule decides, and the namespace's matches
	if r := s.ruleAt("rbac.yaml:5"); r.Decided != 1 || r.Matched != 2 {
		t.Fatalf("got %+v, want 1 and 2", r)
	}
	moved := strings.Replace(policies, "== rbac.yaml\n", "== rbac.yaml\n# a comment\n", 1)
	moved = strings.Replace(moved, "userNames: [ed]", "userNames: [ed, eve]", 1)
	if err := s.load(moved); err != nil {
		t.Fatal(err)
	}
	s.decide(t.Context(), getPods)
	if r := s.ruleAt("rbac.yaml:6"); r.Decided != 2 || r.Matched != 3 {
		t.Errorf("got %+v after the rule moved, want 2 and 3", r)
	}
	if err := s.load(strings.Replace(moved, "verbs: [get, list, create]", "verbs: [get, list]", 1)); err != nil {
		t.Fatal(err)
	}
	if r := s.ruleAt("rbac.yaml:6"); r.Matched != 0 {
		t.Errorf("got %+v of another rule, want 0", r)
	}
	never, err := s.explorer.Now().Rules(all, console.RulesQuery{Never: true, Limit: 2})
	if err != nil || len(never.Rules) != 2 || never.After != "2" || never.Total < 4 {
		t.Errorf("got %s, %v", text(t, never), err)
	}
}

// A rule of a role has a tally from its first match on, and what the documents do not have
// is not counted.
func TestCountsOfMatchedRulesOnly(t *testing.T) {
	s := newSite(t, policies)
	tallies := func() int { return len(s.explorer.counts.Load().tallies.of) }
	before := tallies()
	s.decide(t.Context(), getPods)
	s.decide(t.Context(), getPods)
	if got := tallies(); got != before+1 {
		t.Errorf("got %d tallies after a rule matched, want %d", got, before+1)
	}
	if err := s.load(strings.Replace(policies, "userNames: [ed]", "userNames: [eve]", 1)); err != nil {
		t.Fatal(err)
	}
	for _, m := range []decision.Matched{
		{Name: "b", Source: "rbac.yaml:999", Role: &decision.RoleRef{Kind: "Role", Namespace: "shop", Name: "absent"}},
		{Name: "absent", Source: "deny.yaml:999"},
	} {
		s.explorer.Observe(decision.Observation{
			Point: decision.Access, Revision: s.active.Loaded().Revision, Outcome: decision.Allow, Matched: []decision.Matched{m},
			Input: func() []byte { return nil }, Result: func() []byte { return nil },
		})
	}
	if got := tallies(); got != before+1 {
		t.Errorf("got %d tallies after a reload and rules of no document, want %d", got, before+1)
	}
}

// Tallies move with rules where one rule stands at the place of another one.
func TestCountsOfRulesThatSwapPlaces(t *testing.T) {
	const first = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: same, namespace: a}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`
	const second = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: same, namespace: b}, rules: [{apiGroups: [""], resources: [services], verbs: [list]}]}`
	const bindings = `
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x, namespace: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: same}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: ada}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x, namespace: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: same}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: ada}]}
`
	s := newSite(t, "== r.yaml\n"+first+"\n---\n"+second+bindings)
	ask := func(verb, resource, namespace string) {
		s.decide(t.Context(), `{"user":"ada","verb":"`+verb+`","resource":"`+resource+`","namespace":"`+namespace+`"}`)
	}
	ask("get", "pods", "a")
	ask("list", "services", "b")
	ask("list", "services", "b")
	if err := s.load("== r.yaml\n" + second + "\n---\n" + first + bindings); err != nil {
		t.Fatal(err)
	}
	if a, b := s.ruleAt("r.yaml:3").Matched, s.ruleAt("r.yaml:1").Matched; a != 1 || b != 2 {
		t.Errorf("got %d and %d after the roles swapped places, want 1 and 2", a, b)
	}
}

// A decision of a revision that was replaced meanwhile counts for a rule that matched before.
func TestCountsOfRequestsInFlight(t *testing.T) {
	s := newSite(t, policies)
	s.decide(t.Context(), getPods)
	before := s.active
	if err := s.load(strings.Replace(policies, "== rbac.yaml\n", "== rbac.yaml\n# a comment\n", 1) + "== more.yaml\n" + more); err != nil {
		t.Fatal(err)
	}
	now := s.active
	s.active = before
	s.decide(t.Context(), getPods)
	s.active = now
	if r := s.ruleAt("rbac.yaml:6"); r.Decided != 2 {
		t.Errorf("got %+v, want 2", r)
	}
}

const more = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: more, namespace: shop}
rules: [{apiGroups: [""], resources: [services], verbs: [get]}]
`

// Decisions of many goroutines are all counted, while the log is read and documents change.
func TestCountsOfManyGoroutines(t *testing.T) {
	s := newSite(t, policies)
	r, err := decision.Decode[decision.Request]([]byte(getPods))
	if err != nil {
		t.Fatal(err)
	}
	d := s.active.Access(t.Context(), r)
	const goroutines, each = 8, 200
	var work sync.WaitGroup
	for range goroutines {
		work.Go(func() {
			for range each {
				s.explorer.Observe(decision.Observation{
					Point: decision.Access, Revision: d.Revision, Outcome: decision.Allow, Took: time.Microsecond, Cached: true, Matched: d.Matched,
					Input: r.Encode, Result: func() []byte { return d.AppendJSON(nil) },
				})
			}
		})
	}
	for range 20 {
		if _, err := s.explorer.Now().Log(t.Context(), all, console.LogQuery{}); err != nil {
			t.Error(err)
		}
		s.explorer.rates.tick(now)
	}
	work.Wait()
	if got := s.ruleAt("rbac.yaml:5").Decided; got != goroutines*each {
		t.Errorf("got %d, want %d", got, goroutines*each)
	}
	log, _ := s.explorer.Now().Log(t.Context(), all, console.LogQuery{})
	if want := uint64(goroutines*each - quota); log.Dropped != want || len(log.Decisions) != 10 {
		t.Errorf("got %d dropped and %d kept, want %d and 10", log.Dropped, len(log.Decisions), want)
	}
	if read := s.explorer.rates.meter.read(); read.outcomes[decision.Allow] != goroutines*each || read.hits != goroutines*each {
		t.Errorf("got %v", read.outcomes)
	}
}

// An entry that is written late is not kept in the place of a newer one.
func TestEntriesThatAreWrittenLate(t *testing.T) {
	r := newRecorder(2)
	for _, id := range []uint64{1, 4, 3, 2} {
		r.keep(&console.Entry{ID: id})
	}
	r.next.Store(4)
	var got []uint64
	r.each(0, func(e *console.Entry) bool {
		got = append(got, e.ID)
		return true
	})
	if want := []uint64{4, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What is left out of a recorded request is stated, and the rest of it is not decided again: a pod
// that is not recorded is not one that is unknown.
func TestLogOfRequestsWithPods(t *testing.T) {
	s := newSite(t, "== more.yaml\n"+someRole)
	pod := requests["a pod that is scored"].request
	s.decide(t.Context(), strings.ReplaceAll(strings.ReplaceAll(pod, `"hostNetwork":true,`, ""), `"privileged":true`, ""))
	s.decide(t.Context(), strings.Replace(getPods, `"verb"`, `"pod":null,"attributes":{"containers":1},"verb"`, 1))
	if err := s.load(policies); err != nil {
		t.Fatal(err)
	}
	log, err := s.explorer.Now().Log(t.Context(), all, console.LogQuery{})
	if err != nil || len(log.Decisions) != 2 {
		t.Fatalf("got %s, %v", text(t, log), err)
	}
	for i, now := range []string{console.Allow, ""} {
		if e := log.Decisions[i]; e.WithoutPod != (now == "") || e.Now != now || strings.Contains(string(e.Request), "containers") != (now != "") {
			t.Errorf("%d: got %s, want %q now", i, text(t, e), now)
		}
	}
}

// The log has the last decisions, newest first, without pods, in pages.
func TestLog(t *testing.T) {
	s := newSite(t, policies)
	for range 12 {
		s.decide(t.Context(), getPods)
	}
	s.decide(t.Context(), requests["a pod that is scored"].request)
	s.decide(t.Context(), requests["a verb not granted"].request)
	ask := func(q console.LogQuery) *console.Log {
		t.Helper()
		log, err := s.explorer.Now().Log(t.Context(), all, q)
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	if log := ask(console.LogQuery{}); len(log.Decisions) != 10 || log.Decisions[0].ID != 14 || log.Decisions[0].Outcome != console.None || log.Size != 10 {
		t.Errorf("got %s", text(t, log))
	}
	first := ask(console.LogQuery{Limit: 4})
	second := ask(console.LogQuery{Limit: 4, Before: first.After})
	if first.After != 11 || second.Decisions[0].ID != 10 {
		t.Errorf("got %d and %d, want pages of four", first.After, second.Decisions[0].ID)
	}
	denied := ask(console.LogQuery{Outcome: console.Deny}).Decisions
	if len(denied) != 1 || strings.Contains(string(denied[0].Request), "hostNetwork") || !strings.Contains(string(denied[0].Decision), `"score":70`) {
		t.Errorf("got %s, want the score and not the pod", text(t, denied))
	}
	if got := ask(console.LogQuery{User: "AD", Resource: "pod", Namespace: "shop", Point: "access", Endpoint: "test"}).Decisions; len(got) != 9 {
		t.Errorf("got %d that fit, want 9", len(got))
	}
	if err := s.load(strings.Replace(policies, "verbs: [get, list, create]", "verbs: [list]", 1)); err != nil {
		t.Fatal(err)
	}
	if got := ask(console.LogQuery{Outcome: console.Allow}).Decisions[0]; got.Now != console.None {
		t.Errorf("got %q now, want none", got.Now)
	}
}

func TestRates(t *testing.T) {
	s := newSite(t, policies)
	for range 30 {
		s.decide(t.Context(), getPods)
	}
	for i := range rateStep * (ratePoints + 2) {
		s.explorer.rates.tick(now.Add(time.Duration(i) * time.Second))
	}
	rates, err := s.explorer.Now().Rates(all)
	if err != nil || len(rates.Points) != ratePoints || rates.Step != rateStep {
		t.Fatalf("got %d points, %v", len(rates.Points), err)
	}
	fresh := newSite(t, policies)
	fresh.decide(t.Context(), getPods)
	fresh.decide(t.Context(), requests["a deny policy"].request)
	if got := fresh.explorer.rates.tick(now); got.PerSecond != 2 || got.P50 < 0.8 || got.P50 > 1.2 {
		t.Errorf("got %+v, want two decisions of a microsecond", got)
	}
	for _, d := range []time.Duration{0, 1, 999, time.Microsecond, time.Millisecond, time.Hour} {
		if m := middle(bucketOf(d)); d > 8 && (m < d*7/8 || m > d*9/8) {
			t.Errorf("%s is counted as %s", d, m)
		}
	}
}

// A rollback sends the revision that is active again, with its texts; pins and withdrawn
// keys are changes of state, sent once.
func TestEventsOfStates(t *testing.T) {
	s := newSite(t, policies)
	first := s.bundle
	if err := s.load(policies + "---\n" + more); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), first, engine.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	s.explorer.Activate(first)
	s.active = e
	pinned := console.StateEvent{Ready: true, Pinned: e.Loaded().Revision}
	s.explorer.Attempted(Attempt{Known: true, Activated: true, Revision: e.Loaded().Revision, Source: "rollback", State: pinned})
	withdrawn := pinned
	withdrawn.WithdrawnKey = "k1"
	s.explorer.SetState(withdrawn)
	s.explorer.SetState(withdrawn)
	var got []any
	for _, event := range s.explorer.Now().Events(all)[:3] {
		got = append(got, event.Data)
	}
	want := []any{withdrawn, pinned, console.RevisionEvent{Revision: e.Loaded().Revision, Documents: documents(first.Manifest.Metadata), Warnings: 1, Source: "rollback"}}
	if text(t, got) != text(t, want) {
		t.Errorf("got %s, want %s", text(t, got), text(t, want))
	}
	if d, err := s.explorer.Now().Document(all, "rbac.yaml", 1); err != nil || d.Total == 0 || strings.Contains(strings.Join(d.Lines, ""), "name: more") {
		t.Errorf("got %s, %v, want the text of the first revision", text(t, d), err)
	}
}

// A subscriber gets the events since its last one, and a slow one loses events without
// holding up the others.
func TestEvents(t *testing.T) {
	s := newSite(t, policies)
	if err := s.load("== broken.yaml\nkind: Role\n"); err == nil {
		t.Fatal("got no error of broken documents")
	}
	events := s.explorer.Now().Events(all)
	var names []string
	for _, e := range events {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "state refused state revision" {
		t.Fatalf("got %s", got)
	}
	after := events[len(events)-1].ID
	stream, err := s.explorer.Subscribe(t.Context(), all, after, true)
	if err != nil {
		t.Fatal(err)
	}
	if first := <-stream; first.ID != after+1 {
		t.Errorf("got event %d, want the one after %d", first.ID, after)
	}
	for range 3 * maxWaiting {
		s.explorer.events.tick(console.RatesEvent{}, now) // nothing receives
	}
	s.decide(t.Context(), getPods)
	for i := 1; i < maxSubscribers; i++ {
		if _, err := s.explorer.Subscribe(t.Context(), all, 0, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.explorer.Subscribe(t.Context(), all, 0, false); reasonOf(err) != console.Busy {
		t.Errorf("got %v for too many", err)
	}
	if _, err := s.explorer.Subscribe(t.Context(), console.Caller{}, 0, false); reasonOf(err) != console.Forbidden {
		t.Errorf("got %v for a caller who is not an auditor", err)
	}
	s.explorer.Close()
	for range stream { // ends, because the stream is closed
	}
}

package question_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/revisions"
)

// withSessions returns random documents with sessions, activated at a random time.
func withSessions(t *testing.T, w revisions.Random) (*diff.Side, *question.Asker) {
	t.Helper()
	clock := &revisions.Clock{Time: revisions.Hour(w.IntN(7))}
	side := clock.At(t, append(w.Documents(), w.Sessions()...))
	return side, &question.Asker{World: side.World, Judge: side.Judge, Now: clock.Time}
}

// holders returns what a request holds: its user and groups, and the groups of the sessions
// of an answer on its cluster for its issuer.
func holders(r map[string]any, sessions []question.Session) []string {
	groups, _ := r["groups"].([]string)
	held := statement.Principals(r["user"].(string), groups)
	issuer := statement.IssuerOf(r)
	for _, s := range sessions {
		if s.User == r["user"] && s.Cluster == r["cluster"] && (s.Issuer == nil || issuer == "" || issuer == *s.Issuer) {
			held = append(held, statement.GroupPrefix+s.Group)
		}
	}
	return held
}

// For every request of a question, the statements of the answer come to the decision, if a
// request holds the groups of the sessions of the answer.
func TestStatementsWithSessionsAreThoseOfTheEngine(t *testing.T) {
	noticed := 0
	for n := range 3 * pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 5))}
		side, asker := withSessions(t, w)
		stated := map[string]any{"verb": w.Pick("get", "delete"), "resource": "pods", "apiGroup": ""}
		asked := &question.Question{Stated: stated, Open: append(question.Facts(), "name", "namespace", "subresource")}
		answer, err := asker.WhoCan(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		statements := asker.Stated(asked)
		for range 300 {
			r := w.SessionRequest()
			maps.Copy(r, stated)
			want := revisions.Outcome(t, side, r)
			if got := statements.Outcome(r, holders(r, answer.Sessions)); got != want {
				t.Fatalf("seed %d: statements come to %s, the engine decides %s: %s", seed()+uint64(n), got, want, revisions.Text(r))
			}
			if statements.Outcome(r, holders(r, nil)) != want {
				noticed++
			}
		}
	}
	if noticed == 0 {
		t.Error("no session changes a decision: the test proves too little")
	}
}

// explained is what a decision names.
type explained struct {
	Allowed bool
	Matched []struct {
		statement.Document
		Effect, Until string
		Via           []struct{ Name, Until string }
	}
}

func decided(t *testing.T, side *diff.Side, r map[string]any) (d explained) {
	t.Helper()
	v, err := side.Judge(t.Context(), statement.PointAccess, []byte(revisions.Text(r)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(v.Decision, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// With every fact stated, exactly those users and groups are listed that the engine allows
// alone, each with the documents, the sessions and the ends that its decision names.
func TestRowsWithSessionsAreThoseOfTheEngine(t *testing.T) {
	rows, through, entered := 0, 0, 0
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 6))}
		side, asker := withSessions(t, w)
		for range 20 {
			stated := w.SessionRequest()
			delete(stated, "user")
			delete(stated, "groups")
			answer, err := asker.WhoCan(t.Context(), &question.Question{Stated: stated})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []string{"user:u0", "user:u1", "user:u2", "group:g0", "group:g1", "group:g2"} {
				r := maps.Clone(stated)
				maps.Copy(r, map[string]any{"user": "", "groups": []string{}})
				if user, isUser := cutPrefix(p, statement.UserPrefix); isUser {
					r["user"] = user
				} else {
					r["groups"] = []string{p[len(statement.GroupPrefix):]}
				}
				d := decided(t, side, r)
				i := slices.IndexFunc(answer.Subjects, func(s question.Subject) bool { return s.Subject == p })
				if d.Allowed != (i >= 0) {
					t.Fatalf("seed %d: %s is listed: %v, the engine allows: %v: %s", seed()+uint64(n), p, i >= 0, d.Allowed, revisions.Text(r))
				}
				if i < 0 {
					continue
				}
				s := &answer.Subjects[i]
				rows++
				if s.Verdict != "always" {
					t.Errorf("seed %d: %s is allowed %s", seed()+uint64(n), p, s.Verdict)
				}
				if len(s.Via) > 0 {
					through++
				}
				if d.Matched[0].Kind == "DebugSession" {
					entered++
					continue // it decides alone
				}
				checkRow(t, answer, s, d)
			}
		}
	}
	if rows < pairs() || through == 0 || entered == 0 {
		t.Errorf("%d rows, %d of them through sessions, %d into pods: the test proves too little", rows, through, entered)
	}
}

func cutPrefix(p, prefix string) (string, bool) {
	if len(p) > len(prefix) && p[:len(prefix)] == prefix {
		return p[len(prefix):], true
	}
	return "", false
}

// checkRow compares a row with the decision of its request.
func checkRow(t *testing.T, answer *question.WhoCan, s *question.Subject, d explained) {
	t.Helper()
	var names []string
	isThroughAll, first := true, ""
	for _, m := range d.Matched {
		if m.Effect != "allow" {
			continue
		}
		isThroughAll = isThroughAll && len(m.Via) > 0
		for _, v := range m.Via {
			names = append(names, v.Name)
		}
		for _, until := range append([]string{m.Until}, endsOf(m.Via)...) {
			if until != "" && (first == "" || until < first) {
				first = until
			}
		}
		stated := func(id int) bool {
			return slices.ContainsFunc(answer.Statements[id].Documents, func(o statement.Document) bool {
				return o.Kind == m.Kind && o.Namespace == m.Namespace && o.Name == m.Name && o.Rule == m.Rule && o.Source == m.Source
			})
		}
		if !slices.ContainsFunc(s.Statements, stated) {
			t.Errorf("%s: the row lacks %s %s rule %d", s.Subject, m.Kind, m.Name, m.Rule)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var via []string
	for _, v := range s.Via {
		via = append(via, v.Session)
	}
	if !isThroughAll {
		names = nil
	}
	if !slices.Equal(via, names) {
		t.Errorf("%s: the row is via %v, the engine via %v", s.Subject, via, names)
	}
	if first != "" && (s.Until == "" || s.Until > first) {
		t.Errorf("%s: the row lasts until %q, what decides until %q", s.Subject, s.Until, first)
	}
}

func endsOf(via []struct{ Name, Until string }) (out []string) {
	for _, v := range via {
		out = append(out, v.Until)
	}
	return out
}

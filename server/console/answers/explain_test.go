package answers

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

// requests are answered at all rungs of the ladder.
var requests = map[string]struct {
	request, outcome string
	step             int // that decides
}{
	"a deny policy":      {`{"user":"root","groups":["ops"],"verb":"delete","resource":"secrets","namespace":"shop","name":"tls"}`, "deny", 1},
	"a cluster grant":    {`{"user":"root","groups":["ops"],"verb":"get","resource":"nodes"}`, "allow", 4},
	"a deny rule":        {`{"user":"ed","verb":"update","resource":"pods","namespace":"shop","labels":{"protected":"yes"}}`, "deny", 5},
	"a grant":            {`{"user":"ada","groups":["dev"],"verb":"get","resource":"pods","namespace":"shop","name":"web"}`, "allow", 6},
	"a verb not granted": {`{"user":"ada","groups":[],"verb":"watch","resource":"pods","namespace":"shop"}`, "none", 7},
	"another name":       {`{"user":"ada","verb":"get","resource":"secrets","namespace":"shop","name":"token"}`, "none", 7},
	"labels not known":   {`{"user":"ed","verb":"update","resource":"pods","namespace":"shop"}`, "deny", 5},
	"a path":             {`{"user":"ada","verb":"get","path":"/metrics"}`, "none", 7},
	"a pod that is scored": {`{"user":"root","groups":["ops"],"verb":"create","resource":"pods","subresource":"exec","namespace":"shop","name":"web",
		"pod":{"metadata":{"name":"web"},"spec":{"hostNetwork":true,"containers":[{"name":"c","securityContext":{"privileged":true}}]}}}`, "deny", 1},
}

// The decision of an explanation is that of the point, and the ladder has the deciding
// rule at its step.
func TestExplanationsAreDecisions(t *testing.T) {
	s := newSite(t, policies)
	for name, row := range requests {
		t.Run(name, func(t *testing.T) {
			e := s.explain(decision.Access, row.request)
			d := s.decide(t.Context(), row.request)
			if string(e.Decision) != string(d.AppendJSON(nil)) || e.Outcome != row.outcome || e.Revision != s.active.Loaded().Revision {
				t.Errorf("got %s %s, want %s %s", e.Outcome, e.Decision, row.outcome, d.AppendJSON(nil))
			}
			var deciding []console.Step
			matched := 0
			for _, step := range e.Steps {
				if matched += len(step.Matched); step.State == console.Decides {
					deciding = append(deciding, step)
				}
			}
			if len(deciding) != 1 || deciding[0].Step != row.step || matched != len(d.Matched) || len(e.Steps) != 6 {
				t.Fatalf("got %s, want step %d to decide", text(t, e.Steps), row.step)
			}
			if len(d.Matched) == 0 {
				return
			}
			if deciding[0].Matched[0].Source != d.Matched[0].Source {
				t.Errorf("got %v, want %s", deciding[0].Matched[0], d.Matched[0].Source)
			}
			x := e.Excerpts[0]
			if x.Source != d.Matched[0].Source || x.Mark[0] < x.From || x.Mark[1] >= x.From+len(x.Lines) || len(x.Tokens) != len(x.Lines) {
				t.Errorf("got excerpt %s", text(t, x))
			}
		})
	}
}

func TestExcerptMarksTheRule(t *testing.T) {
	s := newSite(t, policies)
	e := s.explain(decision.Access, requests["a deny rule"].request)
	rule := e.Excerpts[0]
	marked := strings.Join(rule.Lines[rule.Mark[0]-rule.From:rule.Mark[1]-rule.From+1], "\n")
	if !strings.HasPrefix(marked, "  - verbs: [update]") || !strings.HasSuffix(marked, `{labelsContain: ["protected"]}`) || strings.Contains(marked, "---") {
		t.Errorf("got %q", marked)
	}
	if len(e.Excerpts) != 2 || !strings.Contains(strings.Join(e.Excerpts[1].Lines, "\n"), "editors") {
		t.Errorf("got %s, want the binding as well", text(t, e.Excerpts))
	}
	first := rule.Lines[rule.Mark[0]-rule.From]
	if got := rule.Tokens[rule.Mark[0]-rule.From]; len(got) == 0 || first[got[0].From:got[0].To] != "verbs" || got[0].Class != "key" {
		t.Errorf("got tokens %v of %q", got, first)
	}
}

// What the ladder shows of pod security adds up to the score.
func TestScores(t *testing.T) {
	s := newSite(t, policies)
	e := s.explain(decision.Access, requests["a pod that is scored"].request)
	if len(e.PodSecurity) != 1 {
		t.Fatalf("got %s, want one policy", text(t, e.PodSecurity))
	}
	score := e.PodSecurity[0]
	sum := 0
	for _, f := range score.Factors {
		sum += f.Points
	}
	if score.Policy != "strict-pods" || score.Score != 70 || sum != 70 || len(score.Thresholds) != 2 || score.Action != "deny" {
		t.Errorf("got %s", text(t, score))
	}
}

// Each "what if" is a request that is decided as it says, and differs from the request.
func TestWhatIfsAreDecisions(t *testing.T) {
	s := newSite(t, policies)
	count := 0
	for name, row := range requests {
		for _, w := range s.explain(decision.Access, row.request).WhatIf {
			count++
			d := s.decide(t.Context(), string(w.Request))
			outcome := d.Settle()
			if outcomeWord(outcome) != w.Outcome || len(d.Matched) != len(w.Matched) {
				t.Errorf("%s, %s: got %s, decided %s", name, w.Text, w.Outcome, outcomeWord(outcome))
			}
		}
	}
	if count < 25 {
		t.Errorf("got %d, which are too few", count)
	}
	labels := s.explain(decision.Access, requests["labels not known"].request).WhatIf
	if labels[0].Text != "the object has no labels" || labels[0].Outcome != console.Allow {
		t.Errorf("got %s, want an object without labels to be allowed", text(t, labels))
	}
}

// Each nearest rule allows a request that differs in the member that it lacks.
func TestNearest(t *testing.T) {
	s := newSite(t, policies)
	for name, want := range map[string]string{"a verb not granted": "verb", "another name": "name", "labels not known": "labels", "a deny rule": "labels"} {
		t.Run(name, func(t *testing.T) {
			e := s.explain(decision.Access, requests[name].request)
			if len(e.Nearest) == 0 || e.Nearest[0].Lacks != want {
				t.Fatalf("got %s, want one that lacks %s", text(t, e.Nearest), want)
			}
			for _, n := range e.Nearest {
				if d := s.decide(t.Context(), string(n.Request)); !d.Allowed || d.Matched[0].Source != n.Matched.Source {
					t.Errorf("%s: %s is not allowed by it", text(t, n), n.Request)
				}
				if differs := differing(t, string(n.Request), requests[name].request); len(differs) != 1 || differs[0] != n.Lacks {
					t.Errorf("got a request that differs in %v, want %s", differs, n.Lacks)
				}
			}
		})
	}
}

// differing returns the members in which two requests differ.
func differing(t *testing.T, a, b string) (names []string) {
	t.Helper()
	members := func(request string) map[string]any {
		r, err := decision.Decode[decision.Request]([]byte(request))
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]any{}
		if err := json.Unmarshal(r.Encode(), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	x, y := members(a), members(b)
	for _, key := range []string{"user", "groups", "verb", "apiGroup", "resource", "subresource", "namespace", "name", "cluster", "labels"} {
		if text(t, x[key]) != text(t, y[key]) {
			names = append(names, key)
		}
	}
	return names
}

// A caller who is not an auditor asks about itself, and sees no documents.
func TestCallersSeeThemselves(t *testing.T) {
	v := newSite(t, policies).explorer.Now()
	ada := console.Caller{User: "ada", Groups: []string{"dev"}}
	for name, row := range map[string]struct {
		caller        console.Caller
		point, body   string
		want          console.Reason
		wantedOutcome string
	}{
		"about itself":           {ada, "access", `{"verb":"get","resource":"pods","namespace":"shop"}`, -1, console.Allow},
		"with its own name":      {ada, "access", `{"user":"ada","groups":["dev"],"verb":"get","resource":"pods","namespace":"shop"}`, -1, console.Allow},
		"about another":          {ada, "access", `{"user":"ed","verb":"get","resource":"pods"}`, console.Forbidden, ""},
		"with a group":           {ada, "access", `{"user":"ada","groups":["dev","ops"],"verb":"get","resource":"pods"}`, console.Forbidden, ""},
		"without its group":      {ada, "access", `{"user":"ada","groups":[],"verb":"get","resource":"pods"}`, console.Forbidden, ""},
		"a service account":      {ada, "visibility", `{"serviceAccount":{"namespace":"a","name":"b"},"type":"pods"}`, console.Forbidden, ""},
		"at the gateway":         {ada, "gateway", `{"request":{"host":"a"}}`, console.Forbidden, ""},
		"an auditor":             {all, "access", `{"user":"ed","verb":"update","resource":"pods","namespace":"shop"}`, -1, console.Deny},
		"not a request":          {all, "access", `{"user":"ed"}`, console.Invalid, ""},
		"twice the same key":     {ada, "access", `{"user":"ada","user":"ed","verb":"get","resource":"pods"}`, console.Invalid, ""},
		"a point that is not":    {all, "colour", `{}`, console.NotFound, ""},
		"a name of another case": {ada, "access", `{"User":"ed","verb":"get","resource":"pods"}`, console.Invalid, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := v.Explain(t.Context(), row.caller, row.point, []byte(row.body), time.Time{})
			if reasonOf(err) != row.want {
				t.Fatalf("got %v, want reason %d", err, row.want)
			}
			if err != nil {
				return
			}
			if e.Outcome != row.wantedOutcome || (len(e.Excerpts) > 0) != row.caller.SeesAll {
				t.Errorf("got %s with %d excerpts", e.Outcome, len(e.Excerpts))
			}
		})
	}
	for name, ask := range map[string]func(console.Viewer) error{
		"matrix": func(v console.Viewer) error {
			_, err := v.Matrix(t.Context(), ada, console.MatrixQuery{Resource: "pods"})
			return err
		},
		"files":     func(v console.Viewer) error { _, err := v.Files(ada); return err },
		"document":  func(v console.Viewer) error { _, err := v.Document(ada, "rbac.yaml", 0); return err },
		"rules":     func(v console.Viewer) error { _, err := v.Rules(ada, console.RulesQuery{}); return err },
		"topology":  func(v console.Viewer) error { _, err := v.Topology(ada, ""); return err },
		"effective": func(v console.Viewer) error { _, err := v.Effective(ada, "AuthPolicy", "Gateway/a/b"); return err },
		"revisions": func(v console.Viewer) error { _, err := v.Revisions(ada); return err },
		"diff":      func(v console.Viewer) error { _, err := v.Diff(t.Context(), ada, "a", "b"); return err },
		"log":       func(v console.Viewer) error { _, err := v.Log(t.Context(), ada, console.LogQuery{}); return err },
		"names":     func(v console.Viewer) error { _, err := v.Names(ada, "user", ""); return err },
		"rates":     func(v console.Viewer) error { _, err := v.Rates(ada); return err },
	} {
		if err := ask(v); reasonOf(err) != console.Forbidden {
			t.Errorf("%s: got %v, want it to be forbidden", name, err)
		}
	}
	if events := v.Events(ada); events != nil {
		t.Errorf("got %v, want no events", events)
	}
}

// Rules that nearly allow a request state what it would have instead, and changed requests
// why they are decided so.
func TestNearestStatesWhich(t *testing.T) {
	s := newSite(t, policies)
	e := s.explain("access", `{"user":"x","groups":["dev"],"verb":"delete","resource":"pods","namespace":"shop"}`)
	if len(e.Nearest) == 0 || !strings.HasPrefix(e.Nearest[0].Text, "with the verb ") {
		t.Errorf("got %s", text(t, e.Nearest))
	}
	for _, w := range e.WhatIf {
		if w.Reason == "" {
			t.Errorf("%s has no reason", text(t, w))
		}
	}
}

// The summaries of revisions come without a caller that compares them.
func TestSummariesAreComputedInTheBackground(t *testing.T) {
	s := newSite(t, policies)
	for _, verbs := range []string{"[get, list]", "[get]", "[get, watch]"} {
		if err := s.load(strings.Replace(policies, "verbs: [get, list, create]", "verbs: "+verbs, 1)); err != nil {
			t.Fatal(err)
		}
	}
	v := s.explorer.Now()
	for {
		list, err := v.Revisions(all)
		if err != nil {
			t.Fatal(err)
		}
		if list.Comparing {
			runtime.Gosched()
			continue
		}
		for i, r := range list.Revisions[:len(list.Revisions)-1] {
			if r.Summary == nil {
				t.Errorf("revision %d has no summary", i)
			}
		}
		return
	}
}

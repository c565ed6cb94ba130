package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/view"
)

// The members of answers are part of the API: clients read them by these names.
func TestMembersOfAnswers(t *testing.T) {
	for name, row := range map[string]struct {
		value any
		want  string
	}{
		"rates":         {view.RatePoint{}, "allow deny error hits none p50 p99 time"},
		"steps":         {view.Step{}, "matched state step title"},
		"excerpts":      {view.Excerpt{}, "from lines mark source tokens"},
		"pod security":  {view.Score{}, "action factors overrides policy score thresholds"},
		"what if":       {view.WhatIf{}, "matched outcome reason request text"},
		"cells":         {view.Cell{}, "outcome request source text title"},
		"files":         {view.File{}, "diagnostics documents errors file"},
		"subject":       {view.Subject{}, "bindings groups kind name policies revision subject total"},
		"held":          {view.Held{}, "in kind name namespace role source subject"},
		"role":          {view.Role{}, "family holders kind name namespace revision rules source total"},
		"rules of role": {view.RoleRule{}, "decided effect matched rule source verbs"},
		"rules of file": {view.RuleLine{}, "decided line matched rule"},
		"rules":         {view.Rule{}, "decided kind matched name namespace rule source"},
		"nodes":         {view.Node{}, "column effective id kind name policies shows"},
		"revisions":     {view.Revision{}, "active commit documents revision sequence since"},
		"log":           {view.Entry{}, "cached decision endpoint id microseconds outcome point request revision time"},
		"revision":      {view.RevisionEvent{}, "documents errors revision sequence source warnings"},
		"refused":       {view.RefusedEvent{}, "errors message warnings"},
		"state":         {view.StateEvent{}, "degraded ready"},
		"rate":          {view.RatesEvent{}, "cacheHitRatio p50 p99 perSecond"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(row.value)
			members := map[string]json.RawMessage{}
			if err := errors.Join(err, json.Unmarshal(text, &members)); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(slices.Sorted(maps.Keys(members)), " "); got != row.want {
				t.Errorf("got members %q, want %q", got, row.want)
			}
		})
	}
}

// console is a Console whose page does not exist: what implements Viewer must fit it.
type console struct{ view.Viewer }

func (c console) Now() view.Viewer { return c }

func (console) Subscribe(context.Context, view.Caller, int64, bool) (<-chan view.Event, error) {
	return nil, view.Errorf(view.Busy, "%d subscribers are too many", 65)
}

func TestErrors(t *testing.T) {
	var c view.Console = console{}
	_, err := c.Subscribe(t.Context(), view.Caller{}, 0, false)
	if e := new(view.Error); !errors.As(err, &e) || e.Reason != view.Busy || e.Error() != "65 subscribers are too many" {
		t.Errorf("got %v", err)
	}
}

// The words of answers are part of the API, and reasons are apart.
func TestWords(t *testing.T) {
	got := []string{
		view.Allow, view.Deny, view.None, view.Partial, view.Failed, view.Depends,
		view.Decides, view.Late, view.NoMatch, view.NotAsked,
		view.EventRevision, view.EventRefused, view.EventState, view.EventRates, view.EventDecision,
	}
	want := strings.Fields("allow deny none partial error depends decides late none notAsked revision refused state rates decision")
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	reasons := []view.Reason{view.Internal, view.Invalid, view.ErrForbidden.Reason, view.NotFound, view.NotReady, view.Busy, view.Pending}
	if apart := slices.Compact(slices.Sorted(slices.Values(reasons))); len(apart) != len(reasons) || view.Forbidden != view.ErrForbidden.Reason {
		t.Errorf("got reasons %v, want different ones", reasons)
	}
	if p := (&view.RatePoint{Allow: 1, Deny: 2, None: 3, Error: 4}); p.PerSecond() != 10 {
		t.Errorf("got %v, want 10", p.PerSecond())
	}
	if text, err := json.Marshal(view.DecisionsEvent{More: 3}); err != nil || string(text) != `{"more":3}` {
		t.Errorf("got %s, %v", text, err)
	}
}

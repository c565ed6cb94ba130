package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
)

// The members of answers are part of the API: clients read them by these names.
func TestMembersOfAnswers(t *testing.T) {
	for name, row := range map[string]struct {
		value any
		want  string
	}{
		"rates":         {console.RatePoint{}, "allow deny error hits none p50 p99 time"},
		"steps":         {console.Step{}, "matched state step title"},
		"excerpts":      {console.Excerpt{}, "from lines mark source tokens"},
		"pod security":  {console.Score{}, "action factors overrides policy score thresholds"},
		"what if":       {console.WhatIf{}, "matched outcome reason request text"},
		"cells":         {console.Cell{}, "outcome request source text title"},
		"files":         {console.File{}, "diagnostics documents errors file"},
		"subject":       {console.Subject{}, "bindings groups kind name policies revision subject total"},
		"held":          {console.Held{}, "in kind name namespace role source subject"},
		"role":          {console.Role{}, "family holders kind name namespace revision rules source total"},
		"rules of role": {console.RoleRule{}, "decided effect matched rule source verbs"},
		"rules of file": {console.RuleLine{}, "decided line matched rule"},
		"rules":         {console.Rule{}, "decided kind matched name namespace rule source"},
		"nodes":         {console.Node{}, "column effective id kind name policies shows"},
		"revisions":     {console.Revision{}, "active commit documents revision sequence since"},
		"log":           {console.Entry{}, "cached decision endpoint id microseconds outcome point request revision time"},
		"revision":      {console.RevisionEvent{}, "documents errors revision sequence source warnings"},
		"refused":       {console.RefusedEvent{}, "errors message warnings"},
		"state":         {console.StateEvent{}, "degraded ready"},
		"rate":          {console.RatesEvent{}, "cacheHitRatio p50 p99 perSecond"},
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

// pageless is a Console whose page does not exist: what implements Viewer must fit it.
type pageless struct{ console.Viewer }

func (c pageless) Now() console.Viewer { return c }

func (pageless) Subscribe(context.Context, console.Caller, int64, bool) (<-chan console.Event, error) {
	return nil, console.Errorf(console.Busy, "%d subscribers are too many", 65)
}

func TestErrors(t *testing.T) {
	var c console.Console = pageless{}
	_, err := c.Subscribe(t.Context(), console.Caller{}, 0, false)
	if e := new(console.Error); !errors.As(err, &e) || e.Reason != console.Busy || e.Error() != "65 subscribers are too many" {
		t.Errorf("got %v", err)
	}
}

// The words of answers are part of the API, and reasons are apart.
func TestWords(t *testing.T) {
	got := []string{
		console.Allow, console.Deny, console.None, console.Partial, console.Failed, console.Depends,
		console.Decides, console.Late, console.NoMatch, console.NotAsked,
		console.EventRevision, console.EventRefused, console.EventState, console.EventRates, console.EventDecision,
	}
	want := strings.Fields("allow deny none partial error depends decides late none notAsked revision refused state rates decision")
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	reasons := []console.Reason{console.Internal, console.Invalid, console.ErrForbidden.Reason, console.NotFound, console.NotReady, console.Busy, console.Pending}
	if apart := slices.Compact(slices.Sorted(slices.Values(reasons))); len(apart) != len(reasons) || console.Forbidden != console.ErrForbidden.Reason {
		t.Errorf("got reasons %v, want different ones", reasons)
	}
	if p := (&console.RatePoint{Allow: 1, Deny: 2, None: 3, Error: 4}); p.PerSecond() != 10 {
		t.Errorf("got %v, want 10", p.PerSecond())
	}
	if text, err := json.Marshal(console.DecisionsEvent{More: 3}); err != nil || string(text) != `{"more":3}` {
		t.Errorf("got %s, %v", text, err)
	}
}

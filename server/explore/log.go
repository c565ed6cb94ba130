package explore

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/view"
)

// Log implements view.Viewer.
func (v *viewer) Log(ctx context.Context, c view.Caller, q view.LogQuery) (*view.Log, error) {
	if !c.SeesAll {
		return nil, view.ErrForbidden
	}
	recorded := v.x.recorder
	out := &view.Log{Decisions: []view.Entry{}, Dropped: recorded.dropped.Load(), Size: len(recorded.entries)}
	limit := rowsOf(q.Limit)
	recorded.each(q.Before, func(e *view.Entry) bool {
		if !fits(e, &q) {
			return true
		}
		if len(out.Decisions) == limit {
			out.After = out.Decisions[limit-1].ID
			return false
		}
		entry := *e
		entry.Now = v.outcomeNow(ctx, e)
		out.Decisions = append(out.Decisions, entry)
		return true
	})
	return out, nil
}

// fits reports whether a query selects an entry.
func fits(e *view.Entry, q *view.LogQuery) bool {
	if q.Outcome != "" && e.Outcome != q.Outcome || q.Point != "" && e.Point != q.Point || !has(e.Endpoint, q.Endpoint) {
		return false
	}
	if q.User == "" && q.Resource == "" && q.Namespace == "" {
		return true
	}
	var r struct {
		User      string `json:"user"`
		Resource  string `json:"resource"`
		Type      string `json:"type"`
		Namespace string `json:"namespace"`
	}
	if err := json.Unmarshal(e.Request, &r); err != nil {
		return false // of another point: its members are objects
	}
	return has(r.User, q.User) && has(r.Resource+r.Type, q.Resource) && has(r.Namespace, q.Namespace)
}

// has reports whether a text contains another one, in any case.
func has(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// outcomeNow returns the outcome of a recorded request at the present revision, if it
// differs. A request whose pod or items were not recorded cannot be decided again.
func (v *viewer) outcomeNow(ctx context.Context, e *view.Entry) string {
	point, ok := decision.FindPoint(e.Point)
	if !ok || v.Revision() == "" || v.Revision() == e.Revision || strings.Contains(string(e.Decision), `"podSecurity":`) {
		return ""
	}
	q, err := point.Decode(e.Request)
	if err != nil {
		return ""
	}
	answer, refused := q.Decide(ctx, v.policies.At(v.x.o.Now()))
	if refused != nil {
		return ""
	}
	if outcome := answer.Settle(); outcomeWord(outcome) != e.Outcome {
		return outcomeWord(outcome)
	}
	return ""
}

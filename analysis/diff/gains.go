package diff

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
)

// Gain is what a change permits one caller, by the documents that cause it.
type Gain struct {
	Title  string
	Paths  []string // of the point gateway, "GATEWAY > ROUTE"
	Causes []Cause
	// Request is one of the caller that shows it; nil if none was found.
	Request map[string]any
}

// Gains returns what b permits a caller that a does not, apart from what new rules grant:
// denials that go away, views that widen, paths that open. Every user is in the group
// system:authenticated. The options state the times of the comparison.
func Gains(ctx context.Context, a, b *Side, user string, groups []string, o Options) ([]Gain, error) {
	groups = append(slices.Clone(groups), "system:authenticated")
	principals := statement.Principals(user, groups)
	o.Subject = principals[0]
	report, err := Compare(ctx, a.heldBy(principals, user, groups), b.heldBy(principals, user, groups), o)
	if err != nil {
		return nil, err
	}
	classes := make(map[string]*Class)
	for i := range report.Classes {
		classes[report.Classes[i].ID] = &report.Classes[i]
	}
	var out []Gain
	for _, g := range report.Groups {
		var found []*Class
		for _, id := range g.Classes {
			if k := classes[id]; isMore(g.Change) && !report.isGrant(k) {
				found = append(found, k)
			}
		}
		if len(found) == 0 {
			continue
		}
		title := report.titleOf(found, "", nil)
		gain := Gain{Title: title.String(), Causes: g.Causes, Request: example(found, user, groups)}
		for _, k := range found {
			gain.Paths = append(gain.Paths, k.Paths...)
		}
		out = append(out, gain)
	}
	return out, nil
}

func isMore(change string) bool { return change == changeGain || change == changeRelax }

// isGrant reports whether a class is what a new rule without code grants, and no denial
// that goes away.
func (r *Report) isGrant(k *Class) bool {
	grants := false
	for _, id := range slices.Concat(k.All...) {
		s := &r.Statements[id]
		switch {
		case len(s.In) == 2 || k.Point != statement.PointAccess:
		case s.In[0] == "a" && s.Effect == statement.OutcomeDeny:
			return false
		case s.In[0] == "b" && s.Effect == statement.OutcomeAllow:
			grants = true
		}
	}
	return grants && !slices.ContainsFunc(k.Why, statement.IsExtension)
}

// example returns the request of the caller that goes through the first transition.
func example(classes []*Class, user string, groups []string) map[string]any {
	for _, k := range classes {
		for _, t := range k.Transitions {
			switch {
			case !isMore(t.Change):
			case k.Point == statement.PointGateway:
				return t.Witness.Request
			default:
				return as(t.Witness.Request, user, groups)
			}
		}
	}
	return nil
}

// as returns a request as one of a caller.
func as(request map[string]any, user string, groups []string) map[string]any {
	out := statement.With(request, "groups", groups)
	if user != "" {
		out["user"] = user
	}
	return out
}

// heldBy returns a revision in which one caller is a single principal, the first one.
func (s *Side) heldBy(principals []string, user string, groups []string) *Side {
	held := *s
	held.World = s.World.HeldBy(principals)
	held.Judge = func(ctx context.Context, point string, request []byte) (statement.Verdict, error) {
		var object map[string]any
		if err := json.Unmarshal(request, &object); err == nil && point != statement.PointGateway {
			request = statement.Encode(as(object, user, groups))
		}
		return s.Judge(ctx, point, request)
	}
	return &held
}

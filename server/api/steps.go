package api

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/writ-policy/writ/server/decision"
)

// maxLogged is how many policies a line of the log names.
const maxLogged = 20

// logSteps logs how a request at the visibility point was decided, if the level is debug:
// the policies that name the principal, those of them that are not valid, the rule that
// decided, and how many items are visible. Nothing that the caller chose is logged.
func (s *canonical) logSteps(ctx context.Context, p decision.Policies, q *decision.VisibilityRequest, d *decision.VisibilityDecision) {
	log := s.service.Logger
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	var retrieved, invalid []string
	for _, name := range q.Names() {
		for _, policy := range p.Lists().ListPolicies(ctx, decision.Principal{User: name, Groups: q.Groups}).Policies {
			named := policy.Namespace + "/" + policy.Name
			retrieved = append(retrieved, named)
			if policy.State != decision.PolicyActive {
				invalid = append(invalid, named+": "+string(policy.State))
			}
		}
	}
	const message = "visibility"
	log.DebugContext(ctx, message, "step", "retrieval", "count", len(retrieved), "policies", bounded(retrieved))
	log.DebugContext(ctx, message, "step", "validation", "active", len(retrieved)-len(invalid), "others", bounded(invalid))
	if len(d.Matched) > 0 {
		m := &d.Matched[0]
		log.DebugContext(ctx, message, "step", "match", "decision", d.Decision, "policy", m.Namespace+"/"+m.Name, "rule", m.Rule, "source", m.Source)
	} else {
		log.DebugContext(ctx, message, "step", "match", "decision", d.Decision)
	}
	if q.Items != nil {
		log.DebugContext(ctx, message, "step", "filter", "items", len(*q.Items), "visible", len(d.Visible))
	}
}

// bounded returns the beginning of a list, with how many are left out.
func bounded(list []string) []string {
	if more := len(list) - maxLogged; more > 0 {
		return append(list[:maxLogged:maxLogged], fmt.Sprintf("and %d more", more))
	}
	return list
}

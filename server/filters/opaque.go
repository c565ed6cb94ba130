package filters

import (
	"context"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/cel"
)

// Settled decides statements with an expression or an extension that read nothing that is
// open: the request alone decides those, as it does in a decision. It is for one request and
// not safe for concurrent use.
type Settled struct {
	ctx     context.Context
	p       decision.Policies
	asked   *decision.Request
	open    []string
	decided map[string]decision.Decision // by namespace
}

// SettledBy returns what a completed request settles, of which some members are open.
func SettledBy(ctx context.Context, p decision.Policies, asked *decision.Request, open []string) *Settled {
	return &Settled{ctx, p, asked, open, make(map[string]decision.Decision)}
}

// Holds reports whether a statement that fits the request holds. known is false if it may
// depend on what is open, or on the time.
func (s *Settled) Holds(of *statement.Statement) (holds, known bool) {
	rule, ok := of.Rule().(*statement.OriginRule)
	if !ok || !s.isClosed(rule) {
		return false, false
	}
	namespace := s.asked.Namespace
	if slices.Contains(s.open, "namespace") {
		namespace = of.Namespace
	}
	d, found := s.decided[namespace]
	if !found {
		r := *s.asked
		r.Namespace = namespace
		d = s.p.Access(s.ctx, &r)
		s.decided[namespace] = d
	}
	// A deny policy and a debug session decide before rules are evaluated.
	isEarly := func(m decision.Matched) bool { return m.Kind != "RoleBinding" && m.Kind != "ClusterRoleBinding" }
	if d.EvaluationError != "" || !d.Expires.IsZero() || slices.ContainsFunc(d.Matched, isEarly) {
		return false, false
	}
	return slices.ContainsFunc(d.Matched, func(m decision.Matched) bool {
		return slices.ContainsFunc(of.Documents, func(doc statement.Document) bool {
			return m.Kind == doc.Kind && m.Namespace == doc.Namespace && m.Name == doc.Name && m.Rule == doc.Rule && m.Source == doc.Source
		})
	}), true
}

// isClosed reports whether a rule reads nothing that is open. What an extension reads is not
// known.
func (s *Settled) isClosed(rule *statement.OriginRule) bool {
	if len(s.open) == 0 {
		return true
	}
	if rule.Restrictions == nil || rule.Restrictions.Expression == "" {
		return false
	}
	paths, ok := cel.Reads(rule.Restrictions.Expression, cel.Access)
	return ok && !slices.ContainsFunc(paths, func(path []string) bool { return len(path) < 2 || slices.Contains(s.open, path[1]) })
}

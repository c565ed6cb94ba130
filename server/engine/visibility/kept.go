package visibility

import (
	"crypto/sha256"
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// documents returns the hash of what authorizations of a request depend on: the policies that
// name its principal, by number, and the source of its type.
func (x *index) documents(r *decision.VisibilityRequest, naming []int) [sha256.Size]byte {
	const few = 8
	b := make([]byte, 0, few*sha256.Size)
	for _, i := range naming {
		b = append(b, x.policies[i].hash()...)
	}
	if source := x.sources[r.Type]; source != nil {
		b = append(b, source.hash()...)
	}
	return sha256.Sum256(b)
}

// hashOfPolicy identifies the policy's content and ignores its position.
func hashOfPolicy(p *tables.VisibilityPolicy) string { return tables.HashOf(p.WithoutSources()) }

func hashOfSource(s *tables.MetricSource) string {
	without := *s
	without.Source = ""
	return tables.HashOf(without)
}

// Keeps makes an authorization of another revision one of this revision if the documents that
// it depends on have the same content. Their positions may have changed.
func (p *Policies) Keeps(r *decision.VisibilityRequest, a *decision.Authorization) bool {
	var room room
	naming := p.naming(subjects(r), &room)
	if a.EvaluationError != "" || a.Documents != p.documents(r, naming) {
		return false
	}
	a.Basis, a.Revision = nil, p.revision
	a.Matched = slices.Clone(a.Matched) // other callers share the original
	for i := range a.Matched {
		rule := p.rule(naming, &a.Matched[i])
		if rule == nil {
			return false
		}
		a.Matched[i].Source = rule.Source
		if a.Decision != decision.VisibleNone {
			a.Basis = rule
		}
	}
	return true
}

// rule returns the rule that decided, nil if none of the policies has it.
func (x *index) rule(naming []int, m *decision.Matched) *rule {
	for _, i := range naming {
		p := &x.policies[i]
		switch {
		case p.Namespace != m.Namespace || p.Name != m.Name || m.Rule >= len(p.rules):
		case m.Rule < 0:
			return p.byDefault
		default:
			return &p.rules[m.Rule]
		}
	}
	return nil
}

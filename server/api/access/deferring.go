package access

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// Companions know what admission checks in the clusters.
type Companions interface {
	// InForce returns the companion of a revision for the cluster of a review, if that
	// cluster is proved to have it in force now; otherwise nil.
	InForce(revision string, r *decision.Request) *companion.Companion
}

// deferred is the warning of a decision that admission completes.
const deferred = "deferred to admission"

// Defer returns the decision on a review for all objects, which the companion of the revision
// completes for the object. It returns false where d, the decision of p on the review alone,
// stands. It can only make d weaker: d allows nothing.
func Defer(ctx context.Context, p decision.Policies, c *companion.Companion, r *decision.Request, d *decision.Decision) (decision.Decision, bool) {
	if !mayDefer(d) {
		return decision.Decision{}, false
	}
	found, err := p.Hits(ctx, r)
	if err != nil || !agrees(d, found) {
		return decision.Decision{}, false
	}
	hits := make([]companion.Hit, len(found))
	for i := range found {
		h := &found[i]
		hits[i] = companion.Hit{
			Rule: companion.Rule{Kind: h.Kind, Namespace: h.Namespace, Name: h.Name, Index: h.Rule, Source: h.Source, Binding: h.Binding.Source},
			Deny: h.Effect == tables.EffectDeny, Verdict: h.Verdict,
		}
	}
	node, _ := r.Attributes[decision.AttributeNode].(string)
	answer := c.Answer(&companion.Review{
		User: r.User, Groups: r.Groups, Node: node, Verb: r.Verb, Group: r.APIGroup, Resource: r.Resource, Subresource: r.Subresource,
	}, hits)
	if answer == companion.Strict {
		return decision.Decision{}, false
	}
	return withObject(*d, answer, found), true
}

// mayDefer reports whether an object may change a decision: rules of bindings made it, it
// allows nothing, and some restriction could not be decided.
func mayDefer(d *decision.Decision) bool {
	return !d.Allowed && d.EvaluationError == "" && len(d.Warnings) > 0 && d.PodSecurity == nil && len(d.Pods) == 0
}

// agrees reports whether the hits that hold are what a decision matched. A deny policy or a
// DebugSession that decided is not among them, and a decision that is kept may be of a time
// before another document began. Sessions are not known to admission.
func agrees(d *decision.Decision, hits []decision.Hit) bool {
	var hold []decision.Matched
	for i := range hits {
		if len(hits[i].Via) > 0 {
			return false
		}
		if hits[i].Holds() {
			hold = append(hold, hits[i].Matched)
		}
	}
	return slices.EqualFunc(hold, d.Matched, func(a, b decision.Matched) bool {
		return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name && a.Rule == b.Rule && a.Source == b.Source && a.Effect == b.Effect
	})
}

// withObject returns the deferred form of a decision.
func withObject(d decision.Decision, answer companion.Answer, hits []decision.Hit) decision.Decision {
	d.Allowed, d.Denied, d.Deferred, d.Cached = answer == companion.Allow, false, true, false
	d.Warnings = append(slices.Clone(d.Warnings), deferred)
	effect, decided := tables.EffectDeny, "denied"
	if d.Allowed {
		effect, decided = tables.EffectAllow, "allowed"
	}
	var first, others []decision.Matched
	for i := range hits {
		h := &hits[i]
		if h.Verdict == selector.None {
			continue
		}
		if h.Matched.Deferred = h.Verdict == selector.Unknown; len(first) == 0 && h.Effect == effect {
			first = append(first, h.Matched)
		} else {
			others = append(others, h.Matched)
		}
	}
	d.Matched = append(first, others...)
	d.Reason = fmt.Sprintf("%s: for some objects %s by %s", deferred, decided, d.Matched[0].RuleText())
	return d
}

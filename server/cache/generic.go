package cache

import (
	"context"

	"github.com/writ-policy/writ/server/decision"
)

// genericAnswer is the answer to a request at a point without Go code.
type genericAnswer struct {
	decision decision.GenericDecision
	invalid  *decision.InvalidRequest
}

// Generic returns the cached decision on an equal request, or a new one. Decisions with an
// evaluation error and those that only their own request may have are never cached.
func (v *cached) Generic(ctx context.Context, r *decision.GenericRequest) (decision.GenericDecision, *decision.InvalidRequest) {
	c, revision := v.cache, v.Loaded().Revision
	if revision == "" {
		return v.Policies.Generic(ctx, r)
	}
	key := r.AppendKey(nil)
	if a := c.generic.find(key, c.now); a != nil && a.revision == revision {
		if a.isOwn {
			c.metrics.CacheMissed()
			return v.Policies.Generic(ctx, r)
		}
		c.metrics.CacheHit()
		return a.decision.decision, nil
	}
	a, err := c.generic.evaluate(ctx, flightKey{revision, string(key)}, c.now, func() answer[genericAnswer] {
		d, invalid := v.Policies.Generic(ctx, r)
		a := answer[genericAnswer]{decision: genericAnswer{d, invalid}, revision: d.Revision, isOwn: d.IsOwn || invalid != nil}
		if d.EvaluationError == "" && invalid == nil {
			const aDecision = 200
			a.bytes = aDecision + len(d.JSON)
		}
		return a
	})
	if err != nil {
		d := decision.GenericDecision{}.Failed(decision.CheckContext(ctx).Error())
		d.Revision = revision
		return d, nil
	}
	return a.decision.decision, a.decision.invalid
}

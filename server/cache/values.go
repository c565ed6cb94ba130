package cache

import (
	"context"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
)

// keptValue is a value that was made of a revision, or the error of making it.
type keptValue struct {
	value any
	err   error
}

// Value implements decision.ValueCache. What fails is not kept.
func (v *cached) Value(ctx context.Context, key string, make func() (decision.CachedValue, error)) (any, error) {
	c, revision := v.cache, v.Loaded().Revision
	if revision == "" {
		k, err := make()
		return k.Value, err
	}
	if a := c.values.find([]byte(key), v.clock); a != nil && a.revision == revision {
		c.metrics.CacheHit()
		return a.decision.value, nil
	}
	a, err := c.values.evaluate(ctx, flightKey{revision, key}, v.clock, func() answer[keptValue] {
		begin := dates.Of(v.clock()) // before it, if the clock is set back, the value may differ
		k, err := make()
		return answer[keptValue]{
			decision: keptValue{k.Value, err}, revision: revision, expires: k.Expires, span: dates.Span{Begin: &begin},
			bytes: k.Bytes, isOwn: err != nil,
		}
	})
	if err != nil {
		return nil, err
	}
	return a.decision.value, a.decision.err
}

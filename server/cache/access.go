package cache

import (
	"context"

	"github.com/writ-policy/writ/server/decision"
)

// Access returns the cached decision, or a new one. A decision with an evaluation error is
// never cached.
func (v *cached) Access(ctx context.Context, r *decision.Request) decision.Decision {
	c, p, revision := v.cache, v.Policies, v.Revision()
	if revision == "" {
		return p.Access(ctx, r)
	}
	room := keyRooms.Get().(*[]byte)
	defer keyRooms.Put(room)
	key := p.AccessKey((*room)[:0], r)
	if cap(key) <= maxRoom {
		*room = key
	}
	if a := c.access.find(key); a != nil {
		if a.revision == revision {
			c.metrics.CacheHit()
			return a.decision.For(r)
		}
		if p.KeepsAccess(r, a.revision, key) {
			c.metrics.CacheHit()
			c.metrics.CacheKept()
			return c.keepAccess(key, *a, revision).For(r)
		}
	}
	a, err := c.access.evaluate(ctx, flightKey{revision, string(key)}, func() answer[decision.Decision] {
		return accessAnswer(p.Access(ctx, r))
	})
	if err != nil {
		d := decision.Decision{}.Failed(decision.CheckContext(ctx).Error())
		d.Revision = revision
		return d
	}
	return a.decision.For(r)
}

// keepAccess moves an answer to a later revision.
func (c *Cache) keepAccess(key []byte, a answer[decision.Decision], revision string) decision.Decision {
	a.revision, a.decision.Revision = revision, revision
	c.access.keep(string(key), a)
	return a.decision
}

func accessAnswer(d decision.Decision) answer[decision.Decision] {
	a := answer[decision.Decision]{decision: d, revision: d.Revision, expires: d.Expires}
	if d.EvaluationError == "" {
		a.bytes = weigh(&d)
	}
	return a
}

// weigh estimates how many bytes a decision keeps alive. It counts strings that decisions
// share with the engine as well: an estimate that is too high is safe.
func weigh(d *decision.Decision) int {
	const aDecision, aMatch = 200, 220
	weight := aDecision + len(d.Reason)
	for _, warning := range d.Warnings {
		weight += len(warning) + 16
	}
	for i := range d.Matched {
		m := &d.Matched[i]
		weight += aMatch + len(m.Namespace) + len(m.Name) + len(m.Source)
		if m.Role != nil {
			weight += len(m.Role.Namespace) + len(m.Role.Name)
		}
	}
	return weight
}

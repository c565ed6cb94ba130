package cache

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
)

// guarded is the answer to a request at the gateway point.
type guarded struct {
	decision decision.GatewayDecision
	invalid  *decision.InvalidRequest
}

// Gateway returns the cached decision, or a new one. Decisions with an evaluation error and
// those that only their own request may have are never cached.
func (v *cached) Gateway(ctx context.Context, r *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	c, p, revision := v.cache, v.Policies, v.Loaded().Revision
	if revision == "" {
		return p.Gateway(ctx, r)
	}
	key, room, ok := keyOf(p, r)
	defer keyRooms.Put(room)
	if !ok {
		return p.Gateway(ctx, r)
	}
	if a := c.gateway.find(key, c.now); a != nil {
		switch {
		case a.revision == revision && a.isOwn:
			c.metrics.CacheMissed()
			return p.Gateway(ctx, r)
		case a.revision == revision:
			c.metrics.CacheHit()
			d := a.decision.decision
			d.Cached = true
			return d, nil
		case !a.isOwn:
			if d := a.decision; p.Keeps(r, &d.decision, key) {
				c.gateway.keepOver(key, *a, revision, d)
				d.decision.Cached = true
				return d.decision, nil
			}
		}
	}
	a, err := c.gateway.evaluate(ctx, flightKey{revision, string(key)}, c.now, func() answer[guarded] {
		return gatewayAnswer(p.Gateway(ctx, r))
	})
	if err != nil {
		d := decision.GatewayDecision{}.Failed(decision.CheckContext(ctx).Error())
		d.Revision = revision
		return d, nil
	}
	return a.decision.decision, a.decision.invalid
}

func gatewayAnswer(d decision.GatewayDecision, invalid *decision.InvalidRequest) answer[guarded] {
	a := answer[guarded]{decision: guarded{d, invalid}, revision: d.Revision, isOwn: d.IsOwn || invalid != nil}
	if d.EvaluationError != "" || invalid != nil {
		return a
	}
	// Maps take several times as much as their text.
	const aDecision, ofText = 500, 4
	a.decision.decision.Encode()
	a.bytes = aDecision + ofText*len(a.decision.decision.Encoded)
	if !a.isOwn {
		detach(&a.decision.decision)
	}
	return a
}

// detach copies what a decision may have of its request: texts that are parts of a body would keep
// all of it in memory.
func detach(d *decision.GatewayDecision) {
	d.Headers, d.Metadata = detachedTexts(d.Headers), detached(d.Metadata).(map[string]any)
	if d.Response != nil {
		r := *d.Response
		r.Message, r.Body, r.Headers = strings.Clone(r.Message), strings.Clone(r.Body), detachedTexts(r.Headers)
		d.Response = &r
	}
}

func detachedTexts(entries map[string]string) map[string]string {
	out := maps.Clone(entries)
	for key, text := range out {
		out[key] = strings.Clone(text)
	}
	return out
}

// detached returns a copy of a JSON value.
func detached(value any) any {
	switch v := value.(type) {
	case string:
		return strings.Clone(v)
	case json.Number:
		return json.Number(strings.Clone(string(v)))
	case []any:
		out := slices.Clone(v)
		for i, element := range out {
			out[i] = detached(element)
		}
		return out
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for key, member := range v {
			out[strings.Clone(key)] = detached(member)
		}
		return out
	}
	return value
}

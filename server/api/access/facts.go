package access

import (
	"context"

	"github.com/writ-policy/writ/server/decision"
)

// decideWithFacts decides a review. It reads the pod if a policy in scope would judge
// it, and namespace labels if they are needed: with the pod, or if the decision
// depended on them. Most reviews need neither and are answered from the cache.
func (a *Decider) decideWithFacts(ctx context.Context, p decision.Policies, r *decision.Request) decision.Decision {
	if a.Clusters == nil {
		return p.Access(ctx, r)
	}
	missing, err := p.MissingFacts(ctx, r)
	if err != nil {
		return decision.Decision{}.Failed(err.Error())
	}
	if missing.Pod {
		a.fetch(ctx, r, missing)
	}
	d := p.Access(ctx, r)
	if !d.LabelsUnknown || r.NamespaceLabels != nil {
		return d
	}
	a.fetch(ctx, r, decision.Facts{NamespaceLabels: true})
	if r.NamespaceLabels == nil {
		return d
	}
	return p.Access(ctx, r)
}

// fetch completes r. A cluster that is read asks this server whether the read is
// allowed: such a review must find a place, so this one lends its own. The number of
// requests that wait here has a bound of its own.
func (a *Decider) fetch(ctx context.Context, r *decision.Request, missing decision.Facts) {
	if !a.fetching.Acquire(a.service.MaxInFlight) {
		if missing.Pod {
			r.PodError = "too many pods are being read"
		}
		return
	}
	defer a.fetching.Release()
	a.service.Lend(func() { a.Clusters.Complete(ctx, r, missing) })
}

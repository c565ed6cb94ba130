package api

import (
	"context"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Clusters know the configured clusters and read from them what a review lacks.
type Clusters interface {
	// Place sets the cluster and tenant of a request. It returns an error if the
	// cluster is unknown.
	Place(r *decision.Request) error
	// Complete adds the facts, or why they are unavailable, before ctx ends.
	Complete(ctx context.Context, r *decision.Request, missing decision.Facts)
	// Labels are those of a cluster, nil if it is unknown.
	Labels(cluster string) map[string]string
}

// Recorder keeps decisions for later inspection.
type Recorder interface {
	// Record keeps neither the request nor the decision.
	Record(ctx context.Context, r *decision.Request, d *decision.Decision)
}

// accessWithFacts decides a review. It reads the pod if a policy in scope would judge
// it, and namespace labels if they are needed: with the pod, or if the decision
// depended on them. Most reviews need neither and are answered from the cache.
func (s *service) accessWithFacts(ctx context.Context, p decision.Policies, r *decision.Request) decision.Decision {
	if s.Clusters == nil {
		return s.Cache.Access(ctx, p, r)
	}
	if mayConcernPod(r) {
		missing, err := p.MissingFacts(ctx, r)
		if err != nil {
			return decision.Decision{}.Failed(err.Error())
		}
		if missing.Pod {
			s.fetch(ctx, r, missing)
		}
	}
	d := s.Cache.Access(ctx, p, r)
	if !d.LabelsUnknown || r.NamespaceLabels != nil {
		return d
	}
	s.fetch(ctx, r, decision.Facts{NamespaceLabels: true})
	if r.NamespaceLabels == nil {
		return d
	}
	return s.Cache.Access(ctx, p, r)
}

// mayConcernPod reports whether pod security could judge the request.
func mayConcernPod(r *decision.Request) bool {
	return r.APIGroup == "" && r.Resource == "pods" && r.Subresource != ""
}

// fetch completes r. A cluster that is read asks this server whether the read is
// allowed: such a review must find a place, so this one lends its own. The number of
// requests that wait here has a bound of its own.
func (s *service) fetch(ctx context.Context, r *decision.Request, missing decision.Facts) {
	if !s.fetching.acquire(s.MaxInFlight) {
		if missing.Pod {
			r.PodError = "too many pods are being read"
		}
		return
	}
	defer s.fetching.release()
	s.inFlight.lend(func() { s.Clusters.Complete(ctx, r, missing) })
}

// record counts what each policy decided on a pod, and records the decision.
func (s *service) record(ctx context.Context, r *decision.Request, d *decision.Decision) {
	for i := range d.Pods {
		pod := &d.Pods[i]
		s.Metrics.PodJudged(metrics.Judged{
			Cluster: r.Cluster, Policy: pod.Policy, Action: pod.Action,
			Evaluated: pod.Evaluated, Score: pod.Score, Factors: pod.Factors,
		})
	}
	if s.Recorder != nil {
		s.Recorder.Record(ctx, r, d)
	}
}

// assignCluster sets the cluster and tenant of a review. It returns an error if the
// cluster is unknown.
func (s *service) assignCluster(r *decision.Request) error {
	if s.Clusters == nil {
		return nil
	}
	return s.Clusters.Place(r)
}

// readSessionAndEscalation reads them from the extra of the review's user. It returns
// why the review is invalid: of two values neither may count.
func (s *service) readSessionAndEscalation(r *decision.Request) (cause string) {
	for _, claim := range []struct {
		key string
		to  *string
	}{{s.SessionKey, &r.Session}, {s.EscalationKey, &r.Escalation}} {
		switch values := r.Extra[claim.key]; len(values) {
		case 0:
		case 1:
			*claim.to = values[0]
		default:
			return "the review has more than one value of " + claim.key + " in its extra"
		}
	}
	return ""
}

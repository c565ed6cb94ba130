package api

import (
	"context"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Clusters know which clusters there are, and read from them what a review does
// not say.
type Clusters interface {
	// Place says which cluster and tenant a request is of. The error says that it
	// is of none.
	Place(r *decision.Request) error
	// Complete adds what is wanted, or why it cannot be had, before ctx ends.
	Complete(ctx context.Context, r *decision.Request, w decision.Wants)
}

// Recorder keeps what was decided for those who look it up later.
type Recorder interface {
	// Record takes a request and its decision, and keeps neither of them.
	Record(ctx context.Context, r *decision.Request, d *decision.Decision)
}

// complete evaluates a review that comes without what only its cluster knows. The
// pod is read where a policy in scope would judge it, and namespace labels where
// they are needed: with the pod, or where the decision turned on them. Most
// reviews need neither, and are answered from the cache.
func (s *service) complete(ctx context.Context, r *decision.Request) decision.Decision {
	if s.Clusters == nil {
		return s.evaluate(ctx, r)
	}
	// A revision that was swapped in meanwhile may judge pods where the one before
	// did not. Then the pod is read after all: nobody passes for want of looking.
	var d decision.Decision
	for range 2 {
		wants, err := s.wants(ctx, r)
		if err != nil {
			return troubled(err.Error())
		}
		if wants.Pod {
			s.fetch(ctx, r, wants)
		}
		d = s.evaluate(ctx, r)
		if wants.Pod || !unread(r, &d) {
			break
		}
	}
	if d.LabelsUnknown && r.NamespaceLabels == nil {
		s.fetch(ctx, r, decision.Wants{NamespaceLabels: true})
		if r.NamespaceLabels != nil {
			d = s.evaluate(ctx, r)
		}
	}
	return d
}

// wants asks only about what may have a pod behind it.
func (s *service) wants(ctx context.Context, r *decision.Request) (decision.Wants, error) {
	wanter, ok := s.Reviewer.(decision.Wanter)
	if !ok || r.APIGroup != "" || r.Resource != "pods" || r.Subresource == "" {
		return decision.Wants{}, nil
	}
	return wanter.Wants(ctx, r)
}

// unread reports whether policies were to judge a pod that is not there.
func unread(r *decision.Request, d *decision.Decision) bool {
	return len(d.Pods) > 0 && r.Pod == nil && r.PodError == ""
}

// fetch has r completed. It gives back the place for decisions meanwhile: what is
// read comes back as reviews, and these have to find one. What waits here is
// bounded apart.
func (s *service) fetch(ctx context.Context, r *decision.Request, w decision.Wants) {
	defer s.fetching.Add(-1)
	if s.fetching.Add(1) > int64(s.MaxInFlight) {
		if w.Pod {
			r.PodError = "too many pods are being read"
		}
		return
	}
	s.inFlight.Add(-1)
	defer s.inFlight.Add(1)
	s.Clusters.Complete(ctx, r, w)
}

// record counts what each policy made of a pod, and hands the decision to whoever
// keeps it.
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

// place says which cluster and tenant a review is of. Trouble is that it is of
// none that is known.
func (s *service) place(r *decision.Request) (trouble string) {
	if s.Clusters == nil {
		return ""
	}
	if err := s.Clusters.Place(r); err != nil {
		return err.Error()
	}
	return ""
}

// claims reads session and escalation out of what the API server says of the
// user. Of two values nobody could say which one counts.
func (s *service) claims(r *decision.Request) (trouble string) {
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

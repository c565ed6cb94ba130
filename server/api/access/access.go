// Package access decides requests at the access point for the protocols: in time, with the
// facts that only a cluster knows, counted and recorded. It knows no protocol.
package access

import (
	"context"
	"net/http"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/point"
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

// Recorder keeps decisions and filters for later inspection.
type Recorder interface {
	// Record keeps neither the request nor the decision.
	Record(ctx context.Context, r *decision.Request, d *decision.Decision)
	exchange.FilterRecorder
}

// Options configure a Decider.
type Options struct {
	// Clusters complete reviews; nil means that reviews are evaluated as they come.
	Clusters Clusters
	// Companions are those of clusters; nil means that no cluster has one.
	Companions Companions
	// Recorder keeps decisions; nil keeps none.
	Recorder Recorder
}

// Decider decides at the access point. It is safe for concurrent use.
type Decider struct {
	Options
	service  *exchange.Service
	fetching *limits.Budget // of reviews that are being completed, which are not in flight
}

// New returns a Decider.
func New(s *exchange.Service, o Options) *Decider {
	return &Decider{Options: o, service: s, fetching: limits.NewBudget(int64(s.MaxInFlight))}
}

// Decide decides a canonical request and records the decision.
func (a *Decider) Decide(r *http.Request, p decision.Policies, q *decision.Request) *decision.Decision {
	return a.decide(r, p, q, q)
}

// decide decides a question about a request.
func (a *Decider) decide(r *http.Request, p decision.Policies, q decision.Question, of *decision.Request) *decision.Decision {
	s := a.service.Begin(r, p, decision.Access)
	defer s.End()
	return a.decideIn(s, r, q, of, of.Encode)
}

// Asked is a canonical request with room for its decision. It may be used again after a decision
// from a cache.
type Asked struct {
	decision.Request
	completed *decision.Request // with groups that Kubernetes implies
	answer    decision.Decision
	input     func() []byte
}

// NewAsked returns room for a request.
func NewAsked() *Asked {
	q := new(Asked)
	q.input = func() []byte { return q.completed.Encode() }
	return q
}

// Release drops what the request refers to.
func (q *Asked) Release() {
	q.Request, q.completed, q.answer = decision.Request{Groups: Room(q.Groups)}, nil, decision.Decision{}
}

// Room returns the empty room of a list. That of an unusually long list is dropped.
func Room(list []string) []string {
	const most = 64
	if cap(list) > most {
		return nil
	}
	clear(list[:cap(list)])
	return list[:0]
}

// Decide implements decision.Question.
func (q *Asked) Decide(ctx context.Context, p decision.Policies) (decision.Answer, *decision.InvalidRequest) {
	q.answer = p.Access(ctx, q.completed)
	return &q.answer, nil
}

// DecideIn decides a request in a series of requests and records the decision.
func (a *Decider) DecideIn(s *point.Series, r *http.Request, p decision.Policies, q *Asked) *decision.Decision {
	q.completed = q.Request.Completed(p)
	return a.decideIn(s, r, q, q.completed, q.input)
}

// decideIn decides a question about a request, and counts what each policy decided on a pod.
func (a *Decider) decideIn(s *point.Series, r *http.Request, q decision.Question, of *decision.Request, input func() []byte) *decision.Decision {
	answer, _ := s.Decide(q, input)
	d := answer.(*decision.Decision)
	for i := range d.Pods {
		pod := &d.Pods[i]
		a.service.Metrics.PodJudged(metrics.Judged{
			Cluster: of.Cluster, Policy: pod.Policy, Action: pod.Action,
			Evaluated: pod.Evaluated, Score: pod.Score, Factors: pod.Factors,
		})
	}
	if a.Recorder != nil {
		a.Recorder.Record(r.Context(), of, d)
	}
	return d
}

// Try decides a candidate of a list. The decision is neither counted nor recorded: only
// requests are.
func (a *Decider) Try(ctx context.Context, p decision.Policies, q *decision.Request) decision.Decision {
	d, _ := a.service.Guard.Decide(ctx, p, q)
	d.Settle()
	return *d.(*decision.Decision)
}

// Review is Decide for a review, which belongs to a cluster and lacks what only the
// cluster knows. It completes q.
func (a *Decider) Review(r *http.Request, p decision.Policies, q *decision.Request) *decision.Decision {
	return a.review(r, p, q, false)
}

// Authorize is Review for an API server, which asks its admission before it writes. No other
// caller may get such a decision: it may leave to admission what the object decides.
func (a *Decider) Authorize(r *http.Request, p decision.Policies, q *decision.Request) *decision.Decision {
	return a.review(r, p, q, a.Companions != nil)
}

func (a *Decider) review(r *http.Request, p decision.Policies, q *decision.Request, isAdmitted bool) *decision.Decision {
	if err := a.assignCluster(q); err != nil {
		return a.Undecided(err.Error())
	}
	return a.decide(r, p, review{q, a, isAdmitted}, q)
}

// Undecided is the decision on a review that cannot be evaluated.
func (a *Decider) Undecided(cause string) *decision.Decision {
	a.service.Counter(decision.Access).Decided(decision.EvaluationError, 0)
	return point.Failed[decision.Decision](cause)
}

// Labels are the labels of a cluster, nil if they are unknown.
func (a *Decider) Labels(cluster string) map[string]string {
	if a.Clusters == nil {
		return nil
	}
	return a.Clusters.Labels(cluster)
}

// assignCluster sets the cluster and tenant of a review. It returns an error if the
// cluster is unknown.
func (a *Decider) assignCluster(r *decision.Request) error {
	if a.Clusters == nil {
		return nil
	}
	return a.Clusters.Place(r)
}

// rounds is how often facts are fetched because a decision depends on them: once those of
// the namespace are known and no policy denies, rules decide, which read the object.
const rounds = 2

// review is the question of a review.
type review struct {
	*decision.Request
	decider *Decider
	// isAdmitted states that an API server asks its admission after this review.
	isAdmitted bool
}

// Decide implements decision.Question. It reads the pod if a policy in scope would judge
// it, and other facts if the decision depended on them. Most reviews need none and are
// answered from the cache.
func (v review) Decide(ctx context.Context, p decision.Policies) (decision.Answer, *decision.InvalidRequest) {
	a, r := v.decider, v.Request
	if a.Clusters == nil {
		return r.Decide(ctx, p)
	}
	missing, err := p.MissingFacts(ctx, r)
	if err != nil {
		return r.Failed(err.Error()), nil
	}
	if missing.Pod {
		a.fetch(ctx, r, missing)
	}
	for round := 0; ; round++ {
		d := p.Access(ctx, r)
		if by, ok := v.deferred(ctx, p, &d); ok {
			return &by, nil // nothing of the object is read where admission decides
		}
		unknown := d.Unknown.Lacking(r)
		if round == rounds || unknown == (decision.Facts{}) {
			return &d, nil
		}
		if a.fetch(ctx, r, unknown); d.Unknown.Lacking(r) == unknown {
			return &d, nil // nothing more is known
		}
	}
}

// deferred returns the decision that admission completes; false where it must not.
func (v review) deferred(ctx context.Context, p decision.Policies, d *decision.Decision) (by decision.Decision, ok bool) {
	if !v.isAdmitted || !mayDefer(d) {
		return by, false
	}
	c := v.decider.Companions.InForce(p.Loaded().Revision, v.Request)
	if c == nil {
		return by, false
	}
	return Defer(ctx, p, c, v.Request, d)
}

// fetch completes r. A cluster that is read asks this server whether the read is
// allowed: such a review must find a place, so this one lends its own. The number of
// requests that wait here has a bound of its own.
func (a *Decider) fetch(ctx context.Context, r *decision.Request, missing decision.Facts) {
	if !a.fetching.Acquire(1) {
		if missing.Pod {
			r.PodError = "too many pods are being read"
		}
		return
	}
	defer a.fetching.Release(1)
	a.service.Lend(func() { a.Clusters.Complete(ctx, r, missing) })
}

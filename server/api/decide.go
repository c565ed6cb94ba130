package api

import (
	"context"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/point"
)

// Cache keeps answers of Policies; cache.Cache is one.
type Cache interface {
	Access(ctx context.Context, p decision.Policies, r *decision.Request) decision.Decision
	Visibility(ctx context.Context, p decision.Policies, r *decision.VisibilityRequest) decision.Authorization
	// Forget drops what is kept for a user, a name and never a pattern, and returns how
	// many entries there were.
	Forget(p decision.Policies, user string) int
}

// uncached is a Cache that keeps nothing.
type uncached struct{}

func (uncached) Access(ctx context.Context, p decision.Policies, r *decision.Request) decision.Decision {
	return p.Access(ctx, r)
}

func (uncached) Visibility(ctx context.Context, p decision.Policies, r *decision.VisibilityRequest) decision.Authorization {
	return p.Visibility(ctx, r)
}

func (uncached) Forget(decision.Policies, string) int { return 0 }

// answerPoint decides a request at any point, within the time its caller leaves.
func answerPoint[D point.Decision[D]](s *service, c *gin.Context, counter *metrics.Point, evaluate func(context.Context) (D, *decision.InvalidRequest)) (D, *decision.InvalidRequest) {
	return point.Decide(c.Request.Context(), &s.protect, counter, s.budget(c.Request.URL.RawQuery), evaluate)
}

// decide decides at the access point and records the decision.
func (s *service) decide(c *gin.Context, p decision.Policies, r *decision.Request) decision.Decision {
	d, _ := answerPoint(s, c, s.access, func(ctx context.Context) (decision.Decision, *decision.InvalidRequest) {
		return s.Cache.Access(ctx, p, r), nil
	})
	s.record(c.Request.Context(), r, &d)
	return d
}

// decideReview is decide for a review, which belongs to a cluster and lacks what only
// the cluster knows.
func (s *service) decideReview(c *gin.Context, p decision.Policies, r *decision.Request) decision.Decision {
	if err := s.assignCluster(r); err != nil {
		return s.undecided(err.Error())
	}
	d, _ := answerPoint(s, c, s.access, func(ctx context.Context) (decision.Decision, *decision.InvalidRequest) {
		return s.accessWithFacts(ctx, p, r), nil
	})
	s.record(c.Request.Context(), r, &d)
	return d
}

// undecided is the decision on a review that cannot be evaluated.
func (s *service) undecided(cause string) decision.Decision {
	s.access.Decided(decision.EvaluationError, 0)
	return decision.Decision{}.Failed(cause)
}

// whoCan lists principals, within the time its caller leaves.
func (s *service) whoCan(c *gin.Context, p decision.Policies, r *decision.Request) decision.WhoCan {
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.budget(c.Request.URL.RawQuery))
	defer cancel()
	w, _ := point.Protect(ctx, &s.protect, func(ctx context.Context) (decision.WhoCan, *decision.InvalidRequest) {
		return p.WhoCan(ctx, r), nil
	})
	return w
}

// evaluationErrorText is the evaluationError of a review: the cause, and restrictions
// that could not be decided.
func evaluationErrorText(cause string, warnings []string) string {
	if cause == "" && len(warnings) == 0 {
		return ""
	}
	parts := warnings
	if cause != "" {
		parts = append([]string{cause}, warnings...)
	}
	return line(strings.Join(parts, "; "), maxText)
}

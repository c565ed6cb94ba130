package api

import (
	"context"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// decide asks for a decision, within the request's time, and counts it. What
// comes back is consistent: trouble denies, and nothing is allowed and denied.
func (s *service) decide(c *gin.Context, r *decision.Request) decision.Decision {
	return s.decideBy(s.evaluate, c, r)
}

// placed is decide for a review, which is of a cluster, and is completed first.
func (s *service) placed(c *gin.Context, r *decision.Request) decision.Decision {
	if trouble := s.place(r); trouble != "" {
		return s.undecided(trouble)
	}
	return s.decideBy(s.complete, c, r)
}

// undecided is the decision on a review that there is nothing to ask about.
func (s *service) undecided(trouble string) decision.Decision {
	s.access.Decided(metrics.Trouble, 0)
	return troubled(trouble)
}

// evaluation turns a request into its decision.
type evaluation func(context.Context, *decision.Request) decision.Decision

func (s *service) decideBy(evaluate evaluation, c *gin.Context, r *decision.Request) decision.Decision {
	began := time.Now()
	ctx, cancel := context.WithDeadline(c.Request.Context(), began.Add(s.budget(c.Request.URL.RawQuery)))
	d := evaluate(ctx, r)
	cancel()
	outcome := metrics.NoOpinion
	switch {
	case d.Trouble != "":
		d.Allowed, d.Denied, outcome = false, true, metrics.Trouble
	case d.Denied:
		d.Allowed, outcome = false, metrics.Deny
	case d.Allowed:
		outcome = metrics.Allow
	}
	s.access.Decided(outcome, time.Since(began))
	s.record(c.Request.Context(), r, &d)
	s.answeredBy(c, d.Revision)
	return d
}

// evaluate turns a panic of an evaluation into trouble: a bug that one request
// meets must not become an answer that an API server takes for "no opinion".
func (s *service) evaluate(ctx context.Context, r *decision.Request) (d decision.Decision) {
	defer func() {
		if cause := recover(); cause != nil {
			s.Metrics.Panicked()
			s.panicked(ctx, "evaluation", cause)
			d = troubled(internalError)
		}
	}()
	return s.Reviewer.Evaluate(ctx, r)
}

// whoCan is evaluate for who-can.
func (s *service) whoCan(c *gin.Context, r *decision.Request) (w decision.WhoCan) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.budget(c.Request.URL.RawQuery))
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			s.Metrics.Panicked()
			s.panicked(ctx, "evaluation", cause)
			w = decision.WhoCan{Trouble: internalError}
		}
		s.answeredBy(c, w.Revision)
	}()
	return s.Reviewer.WhoCan(ctx, r)
}

// troubled is the decision on what cannot be decided.
func troubled(trouble string) decision.Decision {
	return decision.Decision{Denied: true, Reason: "denied: " + trouble, Trouble: trouble}
}

// evaluationError is what a review says of trouble, and of the restrictions that
// could not be decided.
func evaluationError(trouble string, warnings []string) string {
	if trouble == "" && len(warnings) == 0 {
		return ""
	}
	parts := warnings
	if trouble != "" {
		parts = append([]string{trouble}, warnings...)
	}
	return line(strings.Join(parts, "; "), maxText)
}

// revisionHeader is the header of the last answer. Most have the same.
type revisionHeader struct{ values []string }

func (s *service) setRevision(c *gin.Context, revision string) {
	if revision == "" {
		return
	}
	last := s.revision.Load()
	if last == nil || last.values[0] != revision {
		last = &revisionHeader{[]string{revision}}
		s.revision.Store(last)
	}
	c.Writer.Header()[revisionName] = last.values
}

package decision

import (
	"context"
	"errors"
)

// Evaluation errors of an evaluation that was interrupted.
var (
	ErrCanceled = errors.New("the evaluation was cancelled")
	ErrDeadline = errors.New("the evaluation took too long")
	// ErrInternal replaces a panic, whose text is not shown to callers.
	ErrInternal = errors.New("internal error")
)

// CheckContext returns ErrDeadline or ErrCanceled if ctx has ended, and nil
// otherwise.
func CheckContext(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return ErrDeadline
	}
	return ErrCanceled
}

// Outcome summarizes a decision of any point.
type Outcome int

// The outcomes. EvaluationError denies because no decision was reached.
const (
	NoOpinion Outcome = iota
	Allow
	Deny
	EvaluationError
)

// String returns the label of metrics for an outcome.
func (o Outcome) String() string {
	switch o {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	case EvaluationError:
		return "error"
	case NoOpinion:
	}
	return "no_opinion"
}

// outcomeOf derives the outcome of a decision: a denial wins over an allowance, and
// an evaluation error over both.
func outcomeOf(allowed, denied bool, evaluationError string) Outcome {
	switch {
	case evaluationError != "":
		return EvaluationError
	case denied:
		return Deny
	case allowed:
		return Allow
	}
	return NoOpinion
}

// failedReason returns the reason of a decision whose evaluation failed.
func failedReason(cause string) string { return "denied: evaluation error: " + cause }

// Failed returns the decision for a failed evaluation.
func (Decision) Failed(cause string) Decision {
	return Decision{
		Denied: true, Reason: failedReason(cause), EvaluationError: cause,
		Warnings: []string{}, Matched: []Matched{},
	}
}

// Settle makes d consistent, so that it never both allows and denies, and returns its
// outcome.
func (d *Decision) Settle() Outcome {
	outcome := outcomeOf(d.Allowed, d.Denied, d.EvaluationError)
	d.Denied = d.Denied || outcome == EvaluationError
	d.Allowed = outcome == Allow
	return outcome
}

// FailedAuthorization returns the authorization for a failed evaluation: deny.
func FailedAuthorization(cause string) Authorization {
	a := DeniedAuthorization(failedReason(cause))
	a.EvaluationError = cause
	return a
}

// Failed returns the decision for a failed evaluation.
func (VisibilityDecision) Failed(cause string) VisibilityDecision {
	return VisibilityDecision{
		Authorization: FailedAuthorization(cause),
		Visible:       []int{}, Aggregations: map[string]any{}, Metrics: map[string]any{},
	}
}

// Settle returns the outcome; a partial decision counts as an allowance.
func (a *Authorization) Settle() Outcome {
	allowed := a.Decision == VisibleAll || a.Decision == VisibleSome
	return outcomeOf(allowed, !allowed, a.EvaluationError)
}

// Failed returns the decision for a failed evaluation.
func (GatewayDecision) Failed(cause string) GatewayDecision {
	return GatewayDecision{
		Denied:          true,
		Status:          500,
		Reason:          failedReason(cause),
		Warnings:        []string{},
		Policies:        []string{},
		Rules:           map[string]string{},
		Matched:         []MatchedRule{},
		Deciding:        []MatchedRule{},
		Response:        &GatewayResponse{Code: 500, Headers: map[string]string{}},
		Headers:         map[string]string{},
		Metadata:        map[string]any{},
		EvaluationError: cause,
	}
}

// Settle returns the outcome.
func (d *GatewayDecision) Settle() Outcome {
	return outcomeOf(d.Allowed, d.Denied, d.EvaluationError)
}

package decision

import (
	"bytes"
	"context"
)

// GenericRequest is a request at a point without Go code: any JSON object. The rule that
// answers checks its keys.
type GenericRequest struct {
	Point string
	// Attributes are JSON values, numbers as json.Number.
	Attributes map[string]any
}

// GenericDecision is the answer to a GenericRequest. Its zero value does not allow.
type GenericDecision struct {
	Allowed bool
	// Denied means an explicit denial or an evaluation error.
	Denied bool
	// JSON is the whole decision, an object.
	JSON []byte
	// IsOwn means that the decision must not answer other requests, even equal ones,
	// because rules read the time.
	IsOwn bool
	// EvaluationError describes why the evaluation failed; empty if it succeeded.
	EvaluationError string
	// Revision is the revision of the bundle that answered.
	Revision string
}

// newGeneric returns points that the Rego of their families answers alone. A family's
// entrypoint is a rule that is always defined: an object with the booleans allowed and
// denied, or {"error": {"code", "message"}} for an invalid request. Its rules read the
// request and the table of the family, and no other data.
func newGeneric(names []string) []Point {
	list := make([]Point, len(names))
	for i, name := range names {
		list[i] = Point{Name: name, IsGeneric: true, Parse: parser(func(value Value) (*GenericRequest, error) {
			if !value.IsObject() {
				return nil, invalid("", "the request is not a JSON object")
			}
			return &GenericRequest{Point: name, Attributes: value.Any().(map[string]any)}, nil
		})}
	}
	return list
}

// Decide implements Question.
func (r *GenericRequest) Decide(ctx context.Context, p Policies) (Answer, *InvalidRequest) {
	d, refused := p.Generic(ctx, r)
	return &d, refused
}

// Failed implements Question.
func (*GenericRequest) Failed(cause string) Answer {
	d := GenericDecision{}.Failed(cause)
	return &d
}

// Principal is the key user of the request, if it is a string.
func (r *GenericRequest) Principal() string {
	user, _ := r.Attributes["user"].(string)
	return user
}

// AppendKey appends a key of the request: requests with equal keys are equal.
func (r *GenericRequest) AppendKey(b []byte) []byte {
	return AppendValue(keyText(b, r.Point), r.Attributes)
}

// DecidedBy returns nothing: what the decision says is its own.
func (*GenericDecision) DecidedBy() (matched []Matched, cached bool) { return nil, false }

// AppendJSON appends the decision.
func (d *GenericDecision) AppendJSON(b []byte) []byte { return append(b, bytes.TrimSpace(d.JSON)...) }

// Failed returns the decision for a failed evaluation.
func (GenericDecision) Failed(cause string) GenericDecision {
	text := appendMember(nil, `{"allowed":false,"denied":true,`, "reason", failedReason(cause))
	return GenericDecision{Denied: true, JSON: append(text, '}'), EvaluationError: cause}
}

// Settle returns the outcome. A decision that both allows and denies becomes an evaluation
// error: its JSON cannot be made consistent.
func (d *GenericDecision) Settle() Outcome {
	if d.Allowed && d.Denied {
		revision := d.Revision
		*d = d.Failed("the decision both allows and denies")
		d.Revision = revision
	}
	return outcomeOf(d.Allowed, d.Denied, d.EvaluationError)
}

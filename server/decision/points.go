package decision

import (
	"context"
	"slices"
)

// The points that have request and decision types of their own.
const (
	Access     = "access"
	Visibility = "visibility"
	Gateway    = "gateway"
)

// genericPoints are the points of families whose Rego answers their requests without Go
// code (generic.go), by the names of their entrypoints.
var genericPoints = []string{}

// points is the one list that endpoints, batches, metrics, the engine and the commands
// loop over.
var points = append([]Point{
	{Name: Access, Parse: parser(requestOf[Request])},
	{Name: Visibility, Parse: parseVisibility},
	{Name: Gateway, Parse: parser(requestOf[GatewayRequest])},
}, newGeneric(genericPoints)...)

// Points returns all points. The caller owns the list.
func Points() []Point { return slices.Clone(points) }

// Point is a decision point: one kind of question that policies answer.
type Point struct {
	// Name is that of the family's entrypoint. It is part of paths, and a label of
	// metrics.
	Name string
	// Parse reads a request, with the labels of its cluster as VisibilityRequest.Read. The error is
	// an *InvalidRequest.
	Parse func(Value, ClusterLabels) (Question, error)
	// IsGeneric states that Policies.Generic answers: the point has no Go code.
	IsGeneric bool
}

// FindPoint returns the point with a name.
func FindPoint(name string) (Point, bool) {
	at := slices.IndexFunc(points, func(p Point) bool { return p.Name == name })
	if at < 0 {
		return Point{}, false
	}
	return points[at], true
}

// Question is a valid request at a point.
type Question interface {
	// Decide returns the decision of p, or why p rejects the request.
	Decide(ctx context.Context, p Policies) (Answer, *InvalidRequest)
	// Failed returns the decision for an evaluation error.
	Failed(cause string) Answer
	// Principal is the user of the request, empty if it has none.
	Principal() string
}

// Answer is a decision at a point.
type Answer interface {
	// AppendJSON appends the decision in the JSON form of its point.
	AppendJSON(b []byte) []byte
	// Settle makes the decision consistent and returns its outcome.
	Settle() Outcome
	// DecidedBy returns the rules that matched, the decisive one first, and whether the
	// decision was made for an earlier request.
	DecidedBy() (matched []Matched, cached bool)
}

// parser returns a Point.Parse for requests of type Q, which no labels of clusters are added to.
func parser[Q Question](parse func(Value) (Q, error)) func(Value, ClusterLabels) (Question, error) {
	return func(value Value, _ ClusterLabels) (Question, error) {
		q, err := parse(value)
		if err != nil {
			return nil, err
		}
		return q, nil
	}
}

func parseVisibility(value Value, labels ClusterLabels) (Question, error) {
	r := new(VisibilityRequest)
	if err := r.Read(value, labels); err != nil {
		return nil, err
	}
	return r, nil
}

// Decode reads the JSON of a request, as Parse does. The error is an *InvalidRequest.
func (p Point) Decode(request []byte, labels ClusterLabels) (Question, error) {
	value, err := Parse(request)
	if err != nil {
		return nil, err
	}
	return p.Parse(value, labels)
}

// HasItems reports whether a request asks which of its items are visible.
func HasItems(q Question) bool {
	r, ok := q.(*VisibilityRequest)
	return ok && r.Items != nil && len(*r.Items) > 0
}

// Decide implements Question.
func (r *Request) Decide(ctx context.Context, p Policies) (Answer, *InvalidRequest) {
	d := p.Access(ctx, r)
	return &d, nil
}

// Failed implements Question.
func (*Request) Failed(cause string) Answer {
	d := Decision{}.Failed(cause)
	return &d
}

// Principal implements Question.
func (r *Request) Principal() string { return r.User }

// Decide implements Question.
func (r *VisibilityRequest) Decide(ctx context.Context, p Policies) (Answer, *InvalidRequest) {
	d := DecideVisibility(ctx, p, r, p.Visibility(ctx, r))
	return &d, nil
}

// Failed implements Question.
func (*VisibilityRequest) Failed(cause string) Answer {
	d := VisibilityDecision{}.Failed(cause)
	return &d
}

// Principal implements Question.
func (r *VisibilityRequest) Principal() string { return r.User }

// Decide implements Question.
func (r *GatewayRequest) Decide(ctx context.Context, p Policies) (Answer, *InvalidRequest) {
	d, refused := p.Gateway(ctx, r)
	return &d, refused
}

// Failed implements Question.
func (*GatewayRequest) Failed(cause string) Answer {
	d := GatewayDecision{}.Failed(cause)
	return &d
}

// Principal is empty: the policies of the path say what identifies a client.
func (*GatewayRequest) Principal() string { return "" }

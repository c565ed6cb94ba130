package decision

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/writ-policy/writ/translator/tables"
)

// Policies decides requests by one revision, for as long as the caller holds it. An
// adapter loads the active revision once a request and passes it to everything below.
// Implementations are safe for concurrent use and retain neither requests nor values
// that requests point to. An evaluation error is part of an answer, which then denies,
// so that all adapters handle it in the same way.
type Policies interface {
	// Loaded states what decides. It is never nil and must not be modified.
	Loaded() *Loaded

	// Now reads the clock of decisions.
	Now() time.Time
	// At returns the policies of the same revision at an instant, without a cache.
	At(now time.Time) Policies
	// AtNow returns the policies with a clock that stands still, for requests that are
	// decided together. It keeps the cache.
	AtNow() Policies
	// Access decides a validated request, or one of Request.Alone.
	Access(ctx context.Context, r *Request) Decision
	// Key appends a key of q to b: requests of one point with equal keys get equal decisions
	// from this revision, apart from what Decision.For changes. It returns false for a request
	// that may be invalid or cannot share a decision. Keys of authorizations can be compared
	// with those of other revisions.
	Key(b []byte, q Question) ([]byte, bool)
	// Keeps reports whether this revision decides q as another one decided requests with this
	// key: with d, a copy, which it then makes a decision of this revision. What decides is the
	// content of the documents that q depends on, and never where they are. It returns false
	// at points whose decisions have no key.
	Keeps(q Question, d Answer, key []byte) bool
	// MissingFacts returns the facts that policies in the scope of r read and r lacks.
	// An error is an evaluation error; the facts are unknown then.
	MissingFacts(ctx context.Context, r *Request) (Facts, error)
	// Hits returns the rules of bindings that r fits, in the order of evaluation. An error is
	// an evaluation error, or that the rules are not what decides r.
	Hits(ctx context.Context, r *Request) ([]Hit, error)

	// Tables returns what the documents were lowered to, for questions that no decision
	// answers. It is never nil and must not be modified.
	Tables() *tables.Revision

	// Data returns a value of the bundle. An error is an evaluation error.
	Data(ctx context.Context, q DataQuery) (DataAnswer, error)

	// Visibility authorizes r, without filtering its items or computing its numbers.
	Visibility(ctx context.Context, r *VisibilityRequest) Authorization
	// FilterItems completes a, an authorization of this revision for a request that
	// differs from r at most in items, aggregations and metrics, and that has not
	// expired. It reads items in bounded memory and calls yield with the index of each
	// visible one, in order; nil items mean that the request has none. Visible is not
	// set in the decision. The error is one that items or yield returned.
	FilterItems(ctx context.Context, r *VisibilityRequest, a Authorization, items iter.Seq2[Item, error], yield func(index int) error) (VisibilityDecision, error)

	// Gateway decides a request, or returns an error if it is invalid.
	Gateway(ctx context.Context, r *GatewayRequest) (GatewayDecision, *InvalidRequest)
	// Generic decides a request at a point without Go code, or returns an error if it is
	// invalid.
	Generic(ctx context.Context, r *GenericRequest) (GenericDecision, *InvalidRequest)

	// Lists returns what a principal may ask about itself.
	Lists() Lists
}

// Loaded is what a revision was loaded from.
type Loaded struct {
	// Revision is the bundle's revision; empty if none is loaded.
	Revision string
	// Sequence is the bundle's sequence number; zero if it has none.
	Sequence int64
	// ByOPA are the points at which OPA evaluates the Rego of the bundle, with the reason: a
	// compiled form of it decides at the others.
	ByOPA map[string]string
}

// Lists answers what the visibility policies of one revision give to a principal.
type Lists interface {
	// ListPolicies lists the visibility policies whose subjects name the principal,
	// active or not: denying ones first, each in the order of evaluation.
	ListPolicies(ctx context.Context, p Principal) PolicyListing
	// ListPermissions lists the principal's permissions on clusters; nil means all
	// clusters that documents name. labels returns the labels of a cluster.
	ListPermissions(ctx context.Context, p Principal, clusters []string, labels func(cluster string) map[string]string) PermissionListing
	// ListCustomTypes lists the types of metric sources the principal can discover.
	ListCustomTypes(ctx context.Context, p Principal) TypeListing
}

// Unavailable implements Policies if no revision is loaded: it denies everything, with
// its text as the evaluation error.
type Unavailable string

var _ Policies = Unavailable("")

// Loaded is empty.
func (Unavailable) Loaded() *Loaded { return new(Loaded) }

// Lists returns u.
func (u Unavailable) Lists() Lists { return u }

// Now reads the machine's clock.
func (Unavailable) Now() time.Time { return time.Now() }

// At returns u.
func (u Unavailable) At(time.Time) Policies { return u }

// AtNow returns u.
func (u Unavailable) AtNow() Policies { return u }

// Access denies.
func (u Unavailable) Access(context.Context, *Request) Decision {
	return Decision{}.Failed(string(u))
}

// Tables is empty.
func (Unavailable) Tables() *tables.Revision { return new(tables.Revision) }

// Key returns false.
func (Unavailable) Key(b []byte, _ Question) ([]byte, bool) { return b, false }

// Keeps returns false.
func (Unavailable) Keeps(Question, Answer, []byte) bool { return false }

// MissingFacts is empty: no policy reads anything.
func (Unavailable) MissingFacts(context.Context, *Request) (Facts, error) { return Facts{}, nil }

// Hits returns the evaluation error.
func (u Unavailable) Hits(context.Context, *Request) ([]Hit, error) {
	return nil, errors.New(string(u))
}

// Data returns the evaluation error.
func (u Unavailable) Data(context.Context, DataQuery) (DataAnswer, error) {
	return DataAnswer{}, errors.New(string(u))
}

// Visibility denies.
func (u Unavailable) Visibility(context.Context, *VisibilityRequest) Authorization {
	return FailedAuthorization(string(u))
}

// FilterItems denies without reading the items.
func (u Unavailable) FilterItems(context.Context, *VisibilityRequest, Authorization, iter.Seq2[Item, error], func(int) error) (VisibilityDecision, error) {
	return VisibilityDecision{}.Failed(string(u)), nil
}

// Gateway denies.
func (u Unavailable) Gateway(context.Context, *GatewayRequest) (GatewayDecision, *InvalidRequest) {
	return GatewayDecision{}.Failed(string(u)), nil
}

// Generic denies.
func (u Unavailable) Generic(context.Context, *GenericRequest) (GenericDecision, *InvalidRequest) {
	return GenericDecision{}.Failed(string(u)), nil
}

// ListPolicies returns the evaluation error.
func (u Unavailable) ListPolicies(context.Context, Principal) PolicyListing {
	return PolicyListing{Listing: Listing{EvaluationError: string(u)}}
}

// ListPermissions returns the evaluation error.
func (u Unavailable) ListPermissions(context.Context, Principal, []string, func(string) map[string]string) PermissionListing {
	return PermissionListing{Listing: Listing{EvaluationError: string(u)}}
}

// ListCustomTypes returns the evaluation error.
func (u Unavailable) ListCustomTypes(context.Context, Principal) TypeListing {
	return TypeListing{Listing: Listing{EvaluationError: string(u)}}
}

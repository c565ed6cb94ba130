// Package console defines what the web console shows: the answers of its JSON endpoints,
// and Viewer, which gives them. It knows neither HTTP nor how an answer is computed.
//
// # Design
//
// The page and the JSON endpoints call the same methods, which also decide what a caller
// may see: a view cannot show more than its endpoint. The alternative, a check of roles
// in each handler, would have to be right twice.
package console

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-policy/writ/translator/dates"
)

// Console gives views of what a server serves. It is safe for concurrent use.
type Console interface {
	// Now returns a view of the active revision. A request takes one view, so that all
	// parts of its answer are of one revision.
	Now() Viewer
	// Subscribe returns a channel of events, which is closed when ctx is done. Events are
	// dropped if they are not received in time. after is the ID of the last event that
	// the caller has, zero for none; events since then that are still known come first.
	// The error is a Busy one if there are too many subscribers, or a Forbidden one.
	Subscribe(ctx context.Context, c Caller, after int64, decisions bool) (<-chan Event, error)
}

// Viewer answers questions by one revision. Errors are of type *Error. Answers are not
// changed after they were returned and must not be written. It is safe for concurrent use.
type Viewer interface {
	// Revision is the revision that answers; empty if none is active. Only Status, Events
	// and Rates answer then.
	Revision() string
	// Status describes what is served. It has less for a caller who is not an auditor.
	Status(c Caller) *Status
	// Events returns the last events, at most 50, newest first; none for a caller who is
	// not an auditor.
	Events(c Caller) []Event
	// Rates returns how many decisions were made in the last 15 minutes.
	Rates(c Caller) (*Rates, error)
	// Explain decides a request and explains the decision. A caller who is not an auditor
	// asks about itself. at is the time of the decision; zero means now.
	Explain(ctx context.Context, c Caller, point string, request []byte, at time.Time) (*Explanation, error)
	// Matrix lists who can do something, or what a subject can do.
	Matrix(ctx context.Context, c Caller, q MatrixQuery) (*Matrix, error)
	// Subject lists what documents bind to a subject: user:NAME, group:NAME or a name of
	// either. A caller who is not an auditor asks about itself, with its groups. limit and
	// after are those of MatrixQuery.
	Subject(c Caller, subject string, limit int, after string) (*Subject, error)
	// Role returns a role with its rules and its holders.
	Role(c Caller, q RoleQuery) (*Role, error)
	// Files lists the documents by file.
	Files(c Caller) (*Files, error)
	// Document returns a file with the text around a line; line zero is the first.
	Document(c Caller, file string, line int) (*Document, error)
	// Rules lists the rules of documents by how often they decided.
	Rules(c Caller, q RulesQuery) (*Rules, error)
	// Topology returns gateways, listeners, routes and rules. The gateway is NS/NAME;
	// empty means all.
	Topology(c Caller, gateway string) (*Topology, error)
	// Effective returns the effective policy of a kind on a target.
	Effective(c Caller, kind, target string) (*Effective, error)
	// Revisions lists the revisions that can be compared, and refused attempts.
	Revisions(c Caller) (*Revisions, error)
	// Diff compares two revisions. It waits at most two seconds; the error is a Pending
	// one while the comparison continues.
	Diff(ctx context.Context, c Caller, from, to string) (*Diff, error)
	// Propose compares what is served with the same documents after a change. The error is a
	// Mistaken one if they have errors. Nothing is stored.
	Propose(ctx context.Context, c Caller, p *Proposal) (*Diff, error)
	// Risks lists dangerous grants. They are searched once for a revision; the error is a
	// Pending one while the search continues.
	Risks(ctx context.Context, c Caller, q RisksQuery) (*Risks, error)
	// Reach shows who can become whom. What follows a changed document is decided by statements.
	Reach(ctx context.Context, c Caller, q ReachQuery) (*Reach, error)
	// Sessions lists sessions, and the escalations by which they are requested.
	Sessions(ctx context.Context, c Caller, q SessionsQuery) (*Sessions, error)
	// Assertions returns the verdicts of the assertions of the revision.
	Assertions(c Caller) (*Assertions, error)
	// Verify verifies the assertions of a body, as POST /v1/verify does.
	Verify(ctx context.Context, c Caller, body []byte) (*Assertions, error)
	// Log lists recorded decisions, newest first.
	Log(ctx context.Context, c Caller, q LogQuery) (*Log, error)
	// Names lists at most 20 names that documents have in a field, those first that begin
	// with prefix and then those that contain it.
	Names(c Caller, field, prefix string) (*Names, error)
}

// ParseTime parses the time of a question, which is written as in documents.
func ParseTime(text string) (time.Time, error) { return dates.Parse(text) }

// Caller is who asks. The zero value sees what concerns everybody.
type Caller struct {
	// SeesAll marks an auditor, or a server without credentials.
	SeesAll bool
	User    string
	Groups  []string
}

type signInKey struct{}

// WithSignIn returns a context of a request whose credentials are those of a session. holds
// reports whether the session has not ended.
func WithSignIn(ctx context.Context, holds func() bool) context.Context {
	return context.WithValue(ctx, signInKey{}, holds)
}

// IsSignedIn reports whether the session of a request has not ended; true without a session.
func IsSignedIn(ctx context.Context) bool {
	holds, ok := ctx.Value(signInKey{}).(func() bool)
	return !ok || holds()
}

// Reason is why a question is not answered.
type Reason int

// The reasons.
const (
	// Internal is a failure of the server.
	Internal Reason = iota
	// Invalid is a question that is not well-formed; Error.Field names the part.
	Invalid
	// Forbidden is a question about more than the caller may see.
	Forbidden
	// NotFound is a question about what is not there.
	NotFound
	// NotReady means that no revision is active, or that it lacks what the answer needs.
	NotReady
	// Busy means that the answer took too long or that too many are asked for.
	Busy
	// Pending means that the answer is being computed; the same question gets it later.
	Pending
	// Mistaken means that documents of the question have errors; Error.Diagnostics lists
	// them.
	Mistaken
)

// Error is why a question is not answered. Its message is for the caller.
type Error struct {
	Reason  Reason
	Message string
	// Field is the part of the question that is at fault; it may be empty.
	Field string
	// Code is that of an invalid request; it may be empty.
	Code string
	// Diagnostics are those of documents that have errors.
	Diagnostics []Diagnostic
	// Wait is after how long a pending answer may be there.
	Wait time.Duration
}

func (e *Error) Error() string { return e.Message }

// Errorf returns an error with a message.
func Errorf(r Reason, format string, args ...any) *Error {
	return &Error{Reason: r, Message: fmt.Sprintf(format, args...)}
}

// ErrForbidden refuses a caller who is not an auditor.
var ErrForbidden = &Error{Reason: Forbidden, Message: "only auditors may see this"}

package console

import "time"

// Status is what GET /v1/status shows. A caller who is not an auditor gets neither
// sources nor diagnostics nor errors.
type Status struct {
	Version  string    `json:"version"`
	Draining bool      `json:"draining"`
	Ready    bool      `json:"ready"`
	Degraded bool      `json:"degraded"`
	Revision string    `json:"revision"`
	Sequence int64     `json:"sequence"`
	Since    time.Time `json:"since,omitzero"`
	// Source is documents, state, rollback or bundle, and Location the source itself,
	// without credentials.
	Source   string `json:"source"`
	Location string `json:"location"`
	// Pinned is the revision that newer documents do not replace; empty for none.
	Pinned string `json:"pinned,omitempty"`
	Bundle *struct {
		// Counts are the numbers of documents by family and kind, as "kubernetes/Role".
		Counts  map[string]int `json:"counts"`
		Skipped int            `json:"skipped,omitempty"`
		Commit  string         `json:"commit,omitempty"`
		// Sequence is Status.Sequence.
		Sequence int64 `json:"sequence,omitempty"`
	} `json:"bundle,omitempty"`
	Keys *struct {
		// SignedBy is the ID of the key that signed the active bundle.
		SignedBy string `json:"signedBy"`
		State    string `json:"state,omitempty"`
	} `json:"keys,omitempty"`
	// Assertions are those of the revision that was verified last; nil if none was.
	Assertions *AssertionsStatus `json:"assertions,omitempty"`
	// Dated is what the clock changes.
	Dated struct {
		Documents     int `json:"documents"`
		Sessions      int `json:"sessions"`
		DebugSessions int `json:"debugSessions"`
		// EndSoon is how many of these are in force and end within a day, and Next when the
		// next of them begins or ends.
		EndSoon int        `json:"endSoon"`
		Next    *time.Time `json:"next"`
	} `json:"dated"`
	Behind      float64   `json:"behindSeconds"`
	LastAttempt time.Time `json:"lastAttempt,omitzero"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
	LastError   string    `json:"lastError"`
	StateError  string    `json:"stateError"`
	Errors      int       `json:"errors"`
	Warnings    int       `json:"warnings"`
}

// AssertionsStatus is how many assertions hold.
type AssertionsStatus struct {
	// State is verified, pending or error, and Code is why the newest revision is refused.
	State    string `json:"state"`
	Code     string `json:"code,omitempty"`
	Verified int    `json:"verified"`
	Holds    int    `json:"holds"`
	Failing  []struct {
		Document string `json:"document"`
		Name     string `json:"name"`
	} `json:"failing"`
}

// Rates are decisions of the last 15 minutes in steps, oldest first.
type Rates struct {
	// Step is the length of a step in seconds.
	Step   int         `json:"step"`
	Points []RatePoint `json:"points"`
}

// RatePoint is one step of Rates. The outcomes are decisions a second, Hits is the share
// of decisions from the cache, and P50 and P99 are microseconds.
type RatePoint struct {
	Time  time.Time `json:"time"`
	Allow float64   `json:"allow"`
	Deny  float64   `json:"deny"`
	None  float64   `json:"none"`
	Error float64   `json:"error"`
	Hits  float64   `json:"hits"`
	P50   float64   `json:"p50"`
	P99   float64   `json:"p99"`
}

// PerSecond is the number of decisions a second.
func (p *RatePoint) PerSecond() float64 { return p.Allow + p.Deny + p.None + p.Error }

// Names are names that documents have in a field.
type Names struct {
	Names []string `json:"names"`
}

// The names of events.
const (
	EventRevision = "revision" // a revision became active: RevisionEvent
	EventRefused  = "refused"  // documents were refused: RefusedEvent
	EventState    = "state"    // readiness changed: StateEvent
	EventRates    = "rates"    // each second: RatesEvent
	EventDecision = "decision" // a decision: Entry, or DecisionsEvent for many
)

// Event is something that happened.
type Event struct {
	// ID counts events from 1; zero means that the event is not repeated to a subscriber
	// that comes back.
	ID   int64
	Time time.Time
	Name string
	// Data is a value for json.Marshal.
	Data any
}

// RevisionEvent is the data of EventRevision.
type RevisionEvent struct {
	Revision  string `json:"revision"`
	Sequence  int64  `json:"sequence"`
	Documents int    `json:"documents"`
	Errors    int    `json:"errors"`
	Warnings  int    `json:"warnings"`
	// Source is where the revision came from: documents, bundle, state or rollback.
	Source string `json:"source"`
}

// RefusedEvent is the data of EventRefused.
type RefusedEvent struct {
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	Message  string `json:"message"`
}

// StateEvent is the data of EventState.
type StateEvent struct {
	Ready    bool `json:"ready"`
	Degraded bool `json:"degraded"`
	// Pinned is the revision that newer documents do not replace, and WithdrawnKey the
	// revoked key that signed the active bundle; empty if nothing is pinned or revoked.
	Pinned       string `json:"pinned,omitempty"`
	WithdrawnKey string `json:"withdrawnKey,omitempty"`
	// FailingAssertions is how many assertions about the active revision fail, and Assertions
	// names the first three.
	FailingAssertions int    `json:"failingAssertions,omitempty"`
	Assertions        string `json:"assertions,omitempty"`
}

// RatesEvent is the data of EventRates; the times are microseconds.
type RatesEvent struct {
	PerSecond     float64 `json:"perSecond"`
	CacheHitRatio float64 `json:"cacheHitRatio"`
	P50           float64 `json:"p50"`
	P99           float64 `json:"p99"`
}

// DecisionsEvent is the data of EventDecision for decisions that are only counted.
type DecisionsEvent struct {
	More int `json:"more"`
}

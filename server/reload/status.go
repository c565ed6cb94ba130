package reload

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/tables"
)

// maxDiagnostics is the maximum number of diagnostics in a status.
const maxDiagnostics = 100

// maxLogged is the maximum number of diagnostics that one reload logs.
const maxLogged = 20

// Where the active revision came from.
const (
	fromDocuments = "documents"
	fromState     = "state"
)

// Status describes the active revision and the last attempts. Times that have not
// occurred are zero and absent from the JSON.
type Status struct {
	Ready bool `json:"ready"`
	// Degraded is set while the active revision is older than the newest documents, or a
	// source cannot be read.
	Degraded bool `json:"degraded"`
	// Revision is active since Since. Source is documents or, after a restart with
	// invalid documents, state.
	Revision string    `json:"revision"`
	Since    time.Time `json:"since,omitzero"`
	Source   string    `json:"source"`
	// Pinned is the pinned revision, which newer documents do not replace; empty if
	// none is pinned.
	Pinned string `json:"pinned,omitempty"`
	// Bundle is the manifest of the active revision.
	Bundle *bundles.Metadata `json:"bundle,omitempty"`
	// ByOPA has the points at which OPA evaluates the Rego of the active revision, with the
	// reason. A compiled form of the Rego decides at the others.
	ByOPA map[string]string `json:"byOPA,omitempty"`
	// LastAttempt is when the documents were last read, LastSuccess when they were last
	// activated or found unchanged.
	LastAttempt time.Time `json:"lastAttempt,omitzero"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
	// LastError is the error of the last attempt; empty if it succeeded.
	LastError string `json:"lastError"`
	// StateError is the error of storing or reading the last good bundle.
	StateError string `json:"stateError"`
	// Errors and Warnings count the diagnostics of the last attempt, of which
	// Diagnostics has the first.
	Errors      int          `json:"errors"`
	Warnings    int          `json:"warnings"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	// PolicyConditions holds the conditions of gateway policies by locator, while the
	// documents of the last attempt have errors.
	PolicyConditions map[string][]tables.GatewayCondition `json:"policyConditions,omitempty"`

	// behindSince is when the active revision was first found older than its source.
	behindSince time.Time
	// translatingSince is when the translation that runs began; zero if none runs.
	translatingSince time.Time
}

// longTranslation is how long a translation may take before the status shows it.
const longTranslation = 5 * time.Second

// translating records that a translation runs, activation included, until ended is called.
// It logs one that takes long.
func (r *Reloader) translating() (ended func()) {
	set := func(since time.Time) {
		r.statusMu.Lock()
		defer r.statusMu.Unlock()
		r.status.translatingSince = since
	}
	set(r.o.Now())
	logging := time.AfterFunc(longTranslation, func() {
		r.o.Logger.Warn("translating the documents takes long, the last good revision remains active", "compiling", compiling())
	})
	return func() {
		logging.Stop()
		set(time.Time{})
	}
}

// compiling is where the Rego begins that is being compiled; empty if none is.
func compiling() string {
	if author, ok := rego.Compiling(); ok {
		return author.String()
	}
	return ""
}

// translatesLong returns for how long a translation has run, zero if that is not long. It
// is called with statusMu held.
func (r *Reloader) translatesLong() time.Duration {
	if since := r.status.translatingSince; !since.IsZero() {
		if took := r.o.Now().Sub(since); took > longTranslation {
			return took
		}
	}
	return 0
}

// Diagnostic is the JSON form of a diagnostic in all outputs of writ.
type Diagnostic struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Field is the path of the field if File names an object of a cluster, which has no
	// lines.
	Field    string `json:"field,omitempty"`
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
}

// Status returns a copy of the current status. It does not wait for a running reload.
func (r *Reloader) Status() Status {
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	s := r.status
	s.ByOPA = r.Current().Loaded().ByOPA
	s.Diagnostics = append([]Diagnostic{}, s.Diagnostics...)
	if took := r.translatesLong(); took > 0 {
		s.Degraded = s.Ready
		s.LastError = fmt.Sprintf("the newest documents have been translated for %v, without an end yet", took.Truncate(time.Second))
		if place := compiling(); place != "" {
			s.LastError += ": the Rego of " + place + " is being compiled"
		}
	}
	s.PolicyConditions = maps.Clone(s.PolicyConditions) // the lists are immutable
	if s.Bundle != nil {
		bundle := *s.Bundle
		bundle.Counts, bundle.Entrypoints = maps.Clone(bundle.Counts), slices.Clone(bundle.Entrypoints)
		s.Bundle = &bundle
	}
	return s
}

// Behind returns for how long the active revision has been older than its source; zero
// after a successful attempt.
func (r *Reloader) Behind() time.Duration {
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	if r.status.behindSince.IsZero() {
		return r.translatesLong()
	}
	return max(r.o.Now().Sub(r.status.behindSince), 0)
}

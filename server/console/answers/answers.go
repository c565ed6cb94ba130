// Package answers answers what the web console shows: why a decision is made, who can do
// what, which documents there are and how often their rules decide, what was decided and
// what changed. It knows revisions, decisions and tables, and neither HTTP nor HTML.
//
// # Design
//
// The console must not slow decisions down. An observation adds to counters of maps that
// are not written any more, and records a decision only within a quota; everything else
// is computed when it is asked for, from the tables that the engine has anyway.
package answers

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/visibility"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Options configure an Explorer. Current is required.
type Options struct {
	// Current returns the policies of the active revision.
	Current func() decision.Policies
	// Status is what GET /v1/status shows, with details and without.
	Status func(details bool) any
	// Clusters are the names of the clusters that reviews may be about; nil for none.
	// ClusterLabels are the labels of one; nil if they are not known.
	Clusters      func() []string
	ClusterLabels decision.ClusterLabels
	// Stored lists the revisions of the state directory, and Open activates one of them
	// for comparisons; nil for none.
	Stored func() ([]Stored, error)
	Open   func(ctx context.Context, revision string) (decision.Policies, error)
	// Try translates documents and activates the result, which is not served; nil if
	// documents cannot be tried.
	Try func(ctx context.Context, s source.Snapshot) (Trial, error)
	// Repositories are the sources whose documents are in a git repository, and
	// ReadReference reads those of a location at a reference: a snapshot of the only source,
	// with its name among others. Its error is a *console.Error. Nil for none.
	Repositories  func() []console.Repository
	ReadReference func(ctx context.Context, location, name string) (source.Snapshot, diag.List, error)
	// Proofs verify assertions; nil if none are verified.
	Proofs Proofs
	// Log is how many decisions are kept.
	Log int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Explorer implements console.Console and decision.Observer. It is safe for concurrent use.
type Explorer struct {
	o        Options
	recorder *recorder
	rates    rates
	events   events
	counts   atomic.Pointer[counts]
	diffs    diffs
	risks    risks
	reading  sync.Mutex // held to read a reference

	mu      sync.Mutex // held to read and write the fields below
	active  *revision  // the last that Activate was called with
	attempt *Attempt   // the last one with diagnostics of its own
	// accepted is the last attempt without an error: its diagnostics are those of the
	// documents again when a refused change is taken back.
	accepted *Attempt
	refused  []console.Refused
	shown    shown
	past     []*past // oldest first
	state    console.StateEvent
}

// Trial is what documents give that are not served.
type Trial struct {
	// Policies are nil if the documents have errors.
	Policies    decision.Policies
	Documents   []syntax.Document
	Diagnostics diag.List
}

// revision is what the console knows of a revision.
type revision struct {
	id       string
	metadata bundles.Metadata
	tables   tables.List
	counts   *counts
	texts    *texts
	names    names
	// read is the snapshot that the revision is made of, whose files are shared with the
	// source; nil for a bundle, and for a revision whose documents were not read again.
	read *source.Snapshot
	// isRead is true once it is known what read is, shortly after the revision is active.
	isRead bool

	indexing sync.Once // of policies
	policies *visibility.Policies
}

// Attempt is a reading of the documents, or the delivery of a bundle.
type Attempt struct {
	// Files are those of the snapshot; nil for a bundle, or if they were not read. Origins
	// are their sources, and Cluster is the only one that they are for.
	Files   []source.File
	Origins []source.Origin
	Cluster string
	// Documents are the decoded documents; nil if they were not translated.
	Documents   []syntax.Document
	Diagnostics diag.List
	// Known states that the attempt had the result of the one before, or that none was
	// made: the active revision or its state changed.
	Known bool
	// Read states that documents were read. Another change of the active revision, such as
	// a rollback, reads none, and leaves the diagnostics of the documents as they are.
	Read bool
	// Err is why the documents are not active; nil if they are.
	Err error
	// Revision is the active revision, Activated whether it is new, and Source where it
	// came from, as in the status.
	Revision  string
	Activated bool
	Source    string
	// State is the state of the server afterwards.
	State console.StateEvent
}

// New returns an Explorer.
func New(o Options) *Explorer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Status == nil {
		o.Status = func(bool) any { return struct{}{} }
	}
	if o.Clusters == nil {
		o.Clusters = func() []string { return nil }
	}
	if o.ClusterLabels == nil {
		o.ClusterLabels = func(string) map[string]string { return nil }
	}
	if o.Stored == nil {
		o.Stored = func() ([]Stored, error) { return nil, nil }
	}
	if o.Repositories == nil {
		o.Repositories = func() []console.Repository { return nil }
	}
	return &Explorer{o: o, recorder: newRecorder(o.Log)}
}

// Run measures rates until ctx is done.
func (x *Explorer) Run(ctx context.Context) {
	second, refill := time.NewTicker(time.Second), time.NewTicker(refillEvery)
	defer second.Stop()
	defer refill.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-refill.C:
			x.recorder.refill()
		case <-second.C:
			now := x.o.Now()
			x.events.tick(x.rates.tick(now), now)
		}
	}
}

// Observe implements decision.Observer.
func (x *Explorer) Observe(o decision.Observation) {
	x.counts.Load().count(&o)
	x.rates.meter.count(&o)
	x.events.decided(x.recorder.record(&o, x.o.Now))
}

// Activate is called with each bundle before it becomes active, so that its first
// decisions are counted.
func (x *Explorer) Activate(b *bundles.Bundle) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := &revision{id: b.Manifest.Revision, metadata: b.Manifest.Metadata, tables: b.Tables, texts: new(texts)}
	r.counts = newCounts(r.id, b.Tables, x.counts.Load())
	for _, p := range x.past {
		if p.Revision.Revision == r.id {
			r.texts = p.texts // it was active before
		}
	}
	x.active = r
	x.counts.Store(r.counts)
}

// Attempted is called after each attempt to read documents, and after each other change of
// the active revision.
func (x *Explorer) Attempted(a Attempt) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.o.Now()
	defer x.setState(a.State, now)
	read := &source.Snapshot{Files: a.Files, Origins: a.Origins, Cluster: a.Cluster}
	a.Files = x.shown.files(a.Files, a.Documents, a.Diagnostics)
	switch {
	case !a.Known:
		if x.attempt = &a; a.Err == nil {
			x.accepted = &a
		}
	case a.Read && a.Err == nil && x.accepted != nil:
		x.attempt = x.accepted
	}
	if x.active != nil {
		x.active.isRead = true
	}
	if x.active != nil && a.Err == nil && a.Files != nil && x.active.id == a.Revision {
		x.active.texts.set(a.Files, a.Documents, a.Origins)
		x.active.read = read
	}
	errors, warnings := 0, 0
	if x.attempt != nil {
		errors, warnings = x.attempt.Diagnostics.Count()
	}
	switch {
	case a.Err != nil && !a.Known:
		x.refused = append(x.refused, console.Refused{Time: now, Errors: errors, Message: a.Err.Error()})
		x.refused = x.refused[max(0, len(x.refused)-maxKept):]
		x.events.add(console.EventRefused, console.RefusedEvent{Errors: errors, Warnings: warnings, Message: a.Err.Error()}, now)
	case a.Activated && x.active != nil:
		x.remember(now)
		x.events.add(console.EventRevision, console.RevisionEvent{
			Revision: x.active.id, Sequence: x.active.metadata.Sequence, Documents: documents(x.active.metadata), Errors: errors, Warnings: warnings,
			Source: a.Source,
		}, now)
	}
}

// SetState is called after what may change the state of the server without an attempt.
func (x *Explorer) SetState(state console.StateEvent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.setState(state, x.o.Now())
}

// setState is SetState for callers that hold mu.
func (x *Explorer) setState(state console.StateEvent, now time.Time) {
	if state != x.state {
		x.state = state
		x.events.add(console.EventState, state, now)
	}
}

// documents counts the documents of a bundle.
func documents(m bundles.Metadata) (n int) {
	for _, count := range m.Counts {
		n += count
	}
	return n
}

// Now implements console.Console.
func (x *Explorer) Now() console.Viewer {
	p := x.o.Current()
	x.mu.Lock()
	defer x.mu.Unlock()
	v := &viewer{x: x, policies: p, attempt: x.attempt}
	if x.active != nil && x.active.id == p.Loaded().Revision {
		v.revision = x.active
	} else {
		v.revision = &revision{id: p.Loaded().Revision, counts: new(counts), texts: new(texts)}
	}
	return v
}

// viewer answers by one revision. It implements console.Viewer.
type viewer struct {
	x        *Explorer
	policies decision.Policies
	revision *revision
	attempt  *Attempt // nil before the first one
}

// Revision implements console.Viewer.
func (v *viewer) Revision() string { return v.policies.Loaded().Revision }

// Status implements console.Viewer.
func (v *viewer) Status(c console.Caller) *console.Status {
	return recoded[console.Status](v.x.o.Status(c.SeesAll))
}

// Events implements console.Viewer.
func (v *viewer) Events(c console.Caller) []console.Event {
	if !c.SeesAll {
		return nil
	}
	return v.x.events.list()
}

// Rates implements console.Viewer.
func (v *viewer) Rates(c console.Caller) (*console.Rates, error) {
	if !c.SeesAll {
		return nil, console.ErrForbidden
	}
	return v.x.rates.view(), nil
}

// admit returns the error of a question that only auditors may ask, and that needs a
// revision.
func (v *viewer) admit(c console.Caller) error {
	if !c.SeesAll {
		return console.ErrForbidden
	}
	return v.needRevision()
}

func (v *viewer) needRevision() error {
	if v.Revision() == "" {
		return console.Errorf(console.NotReady, "no revision is active")
	}
	return nil
}

// Proofs verify assertions.
type Proofs interface {
	Served() any
	Verify(ctx context.Context, p decision.Policies, body []byte) (any, *exchange.Refusal)
}

// Assertions implements console.Viewer.
func (v *viewer) Assertions(c console.Caller) (*console.Assertions, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	if v.x.o.Proofs == nil {
		return &console.Assertions{}, nil
	}
	return recoded[console.Assertions](v.x.o.Proofs.Served()), nil
}

// Verify implements console.Viewer.
func (v *viewer) Verify(ctx context.Context, c console.Caller, body []byte) (*console.Assertions, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	if v.x.o.Proofs == nil {
		return nil, console.Errorf(console.NotReady, "the server verifies no assertions")
	}
	report, refused := v.x.o.Proofs.Verify(ctx, v.policies, body)
	switch {
	case refused == nil:
		return recoded[console.Assertions](report), nil
	case refused.Status == http.StatusBadRequest:
		return nil, &console.Error{Reason: console.Invalid, Message: refused.Message, Field: refused.Field, Code: refused.Code}
	}
	return nil, console.Errorf(console.Busy, "%s", refused.Message)
}

// recoded reads what an endpoint shows from its JSON. T has the same types.
func recoded[T any](shown any) *T {
	out := new(T)
	if err := json.Unmarshal(jsontext.Marshal(shown), out); err != nil {
		panic(err)
	}
	return out
}

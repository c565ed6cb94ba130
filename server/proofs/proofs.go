// Package proofs keeps what the assertions state about the revision that is served proven: it
// refuses revisions, or verifies them after their activation. Revisions come in, before they
// are served; a refusal, or verdicts, go out. It knows when assertions are proven, and not how:
// package verify proves them.
//
// # Design
//
// What is required is proven before a revision is served, in the reload that it comes with, so
// that no request is decided by a revision that breaks an assertion. Everything else is proven
// after it, in one goroutine that rests as long as it works: decisions come first.
package proofs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// Options configure Proofs. Compiler is required.
type Options struct {
	// Required refuses a revision unless it has assertions and none fails the run. One that is
	// not proven within Timeout is refused too; zero means DefaultTimeout.
	Required bool
	Timeout  time.Duration
	// Source is where the documents are from, for reports.
	Source string
	// Files are files and folders with assertions beside those of the documents.
	Files []string
	// Compiler returns what compiles documents that assertions compare with. Judges decide at
	// the time that now returns.
	Compiler func(now func() time.Time) *assertions.Compiler
	// Retry attempts the newest documents again. It is called when those that were refused may
	// be accepted, or those that are served may not.
	Retry func(ctx context.Context)
	// Counted is called with the number of assertions of each verdict of the served revision,
	// and Changed after other assertions of it fail than before. Nil: nothing is called.
	Counted func(counts map[string]int)
	Changed func()
	Logger  *slog.Logger
	Now     func() time.Time
}

// DefaultTimeout is how long a proof may take.
const DefaultTimeout = 30 * time.Second

// The codes of refusals.
const (
	CodeFailed  = "assertion-failed"
	CodeTimeout = "verify-timeout"
	CodeNone    = "no-assertions"
	CodeBad     = "bad-assertions"
)

// The states of verdicts.
const (
	Verified = "verified"
	pending  = "pending"
	broken   = "error"
)

// Proofs keeps verdicts. It is safe for concurrent use.
type Proofs struct {
	o    Options
	wake chan struct{}

	proving sync.Mutex // held to prove what is served

	mu      sync.Mutex // held to read and write the fields below
	served  *revision  // nil without one
	report  *verify.Report
	problem string // why what is served cannot be verified
	isStale bool   // the report is not that of the present time and files
	refused *Status
	// retryAt is when what was refused may be accepted; zero if that is not known.
	retryAt time.Time
	cancel  context.CancelFunc // of the proof that runs after an activation
	files   string             // what Files were when they were read last
	// rejected is the revision that refused is about, and compareAt when documents that assertions
	// compare with are read again.
	rejected  *revision
	compareAt time.Time
}

// revision is what assertions need of a revision.
type revision struct {
	policies  decision.Policies
	world     *statement.World
	snapshot  source.Snapshot
	documents []syntax.Document
	built     *bundles.Bundle // its manifest alone; nil if there are documents
	count     int             // assertions of the documents
	// compared reports whether documents that assertions compare with have changed since they were
	// read, nil without such documents. It is read and written with mu of Proofs held.
	compared func(ctx context.Context) bool
}

// New returns Proofs of no revision. It returns an error if a file has mistakes.
func New(o Options) (*Proofs, error) {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Counted == nil {
		o.Counted = func(map[string]int) {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Retry == nil {
		o.Retry = func(context.Context) {}
	}
	p := &Proofs{o: o, wake: make(chan struct{}, 1)}
	set := assertions.Of(nil, source.Snapshot{}, p.compiler(o.Now))
	err := p.addFiles(set)
	if err == nil {
		err = firstError(set.List)
	}
	p.files = p.stateOfFiles()
	return p, err
}

func (p *Proofs) compiler(now func() time.Time) assertions.Compile {
	return p.o.Compiler(now).Compile
}

func (p *Proofs) addFiles(set *assertions.Set) error {
	for _, name := range p.o.Files {
		if err := set.AddFiles(name); err != nil {
			return fmt.Errorf("assertions: %w", err)
		}
	}
	return nil
}

func firstError(list diag.List) error {
	for _, d := range list.Sorted() {
		if d.Severity == diag.Error {
			return fmt.Errorf("%s: %s: %s", d.Position.String(), d.Code, d.Message)
		}
	}
	return nil
}

// Accept is called before a revision is served. If assertions are required it returns a
// reload.Refusal for one that is not proven; otherwise the revision is verified later. A
// revision that was served before is accepted in any case.
func (p *Proofs) Accept(ctx context.Context, c *reload.Candidate) error {
	r := &revision{policies: c.Policies, world: statement.Of(c.Policies), snapshot: c.Snapshot, documents: assertions.Documents(c.Documents)}
	for _, d := range c.Bundle.Manifest.Metadata.AssertionDocuments {
		r.count += len(d.Lines) - 1 // one is that of the document
	}
	if c.IsBuilt {
		r.built = &bundles.Bundle{Manifest: c.Bundle.Manifest}
	} else if err := p.carry(ctx, r, c.Bundle); err != nil {
		return err
	}
	if !p.o.Required || c.IsKept {
		p.serve(r, nil)
		return nil
	}
	report, err := p.require(ctx, r)
	if err != nil {
		return err
	}
	p.serve(r, report)
	return nil
}

// carry adds what assertions refer to to the bundle that is stored for a restart.
func (p *Proofs) carry(ctx context.Context, r *revision, b *bundles.Bundle) error {
	if len(r.documents) == 0 {
		return nil
	}
	set := assertions.Of(r.documents, r.snapshot, p.compiler(p.o.Now))
	if err := p.check(ctx, r, set); err != nil {
		return err
	}
	err := firstError(set.List)
	if err == nil {
		b.Manifest.Metadata.References, err = set.References(ctx)
	}
	if err != nil {
		return p.refuse(r, CodeBad, err.Error(), nil)
	}
	return nil
}

// check reads the documents that the assertions about a revision compare with, and has them watched.
func (p *Proofs) check(ctx context.Context, r *revision, set *assertions.Set) error {
	err := set.Check(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	r.compared = set.Changed()
	return err
}

// require returns the verdicts of a revision, or a refusal unless none fails the run.
func (p *Proofs) require(ctx context.Context, r *revision) (*verify.Report, error) {
	p.mu.Lock()
	before := p.report
	p.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	report, err := p.prove(within, r, before, nil)
	switch {
	case err != nil && ctx.Err() == nil && errors.Is(within.Err(), context.DeadlineExceeded):
		return nil, p.refuse(r, CodeTimeout, fmt.Sprintf("the assertions were not proven within %v (--verify-timeout)", p.o.Timeout), nil)
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, p.refuse(r, CodeBad, err.Error(), nil)
	case report == nil:
		return nil, p.refuse(r, CodeNone, "assertions are required, and none exists", nil)
	case report.Fails():
		return nil, p.refuse(r, CodeFailed, failure(report), report)
	}
	return report, nil
}

// tryAgain is how long what took too long is not attempted again.
const tryAgain = time.Minute

// refuse records that a revision is refused.
func (p *Proofs) refuse(r *revision, code, message string, report *verify.Report) error {
	status := statusOf(r.policies.Loaded().Revision, report)
	status.Code, status.Message = code, message
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused, p.rejected, p.retryAt = status, r, time.Time{}
	switch {
	case code == CodeTimeout:
		p.retryAt = p.o.Now().Add(tryAgain)
	case report != nil && report.Until != nil:
		p.retryAt = *report.Until
	}
	return &reload.Refusal{Code: code, Message: message}
}

// Settled is called after an attempt that no assertion refused.
func (p *Proofs) Settled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused, p.rejected, p.retryAt = nil, nil, time.Time{}
}

// serve records which revision is served, with its verdicts if they are known.
func (p *Proofs) serve(r *revision, report *verify.Report) {
	p.mu.Lock()
	if p.cancel != nil {
		p.cancel()
	}
	p.served, p.problem = r, ""
	p.isStale = report == nil
	if report != nil {
		p.report = report
	}
	counts := p.counts()
	p.mu.Unlock()
	p.o.Counted(counts)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// prove verifies a revision; nil without assertions. What cannot have another verdict than
// before is not proven again.
func (p *Proofs) prove(ctx context.Context, r *revision, before *verify.Report, pause func()) (report *verify.Report, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			p.o.Logger.Error("a proof panicked", "panic", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic while verifying: %v", cause)
		}
	}()
	at := p.o.Now()
	set, err := p.set(r, func() time.Time { return at })
	if err != nil {
		return nil, err
	}
	if err := p.check(ctx, r, set); err != nil {
		return nil, err
	}
	if err := firstError(set.List); err != nil || len(set.All) == 0 {
		return nil, err
	}
	in := &verify.Input{Now: at, SetNow: func(t time.Time) { at = t }, Before: before, Pause: pause}
	if in.Side = SideOf(r.policies, r.world, func() time.Time { return at }); in.World == nil {
		return nil, errors.New("the bundle has no table of its deny policies")
	}
	in.Side.Source = p.o.Source
	return set.Run(ctx, in, nil)
}

// set returns the assertions about a revision.
func (p *Proofs) set(r *revision, now func() time.Time) (set *assertions.Set, err error) {
	if r.built == nil {
		set = assertions.Of(r.documents, r.snapshot, p.compiler(now))
	} else if set, err = assertions.Carried(r.built, p.compiler(now)); err != nil {
		return nil, err
	}
	return set, p.addFiles(set)
}

// SideOf returns a revision for analyses, whose judge decides at the time that now returns.
func SideOf(policies decision.Policies, world *statement.World, now func() time.Time) *diff.Side {
	return &diff.Side{World: world, Revision: policies.Loaded().Revision, Judge: func(ctx context.Context, point string, request []byte) (statement.Verdict, error) {
		return judge.Of(policies.At(now()))(ctx, point, request)
	}}
}

// mostNamed is how many assertions a message names.
const mostNamed = 3

// failure names the first assertions that fail.
func failure(report *verify.Report) string {
	failing := statusOf("", report).Failing
	var named []string
	for _, f := range failing[:min(mostNamed, len(failing))] {
		named = append(named, fmt.Sprintf("%s/%s (%s: %s)", f.Document, f.Name, f.Verdict, f.Text))
	}
	if more := len(failing) - mostNamed; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return failSummary(len(failing), len(report.Assertions)) + ": " + strings.Join(named, "; ")
}

func failSummary(failing, all int) string {
	verb := "fail"
	if failing == 1 {
		verb = "fails"
	}
	return fmt.Sprintf("%d of %d assertions %s", failing, all, verb)
}

// failingIDs are the assertions of a report that fail the run.
func failingIDs(report *verify.Report) (out []string) {
	if report == nil {
		return nil
	}
	for i := range report.Assertions {
		if report.Assertions[i].Failed {
			out = append(out, report.Assertions[i].ID())
		}
	}
	return slices.Sorted(slices.Values(out))
}

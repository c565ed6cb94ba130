package reload

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/tables"
)

// maxDiagnostics bounds what a status shows of a directory full of mistakes.
const maxDiagnostics = 100

// maxLogged bounds what one reload writes of them to the log.
const maxLogged = 20

// Where the active revision came from.
const (
	fromDocuments = "documents"
	fromState     = "state"
)

// Status says what is served and how the last attempts went. Times are zero, and
// left out of JSON, until there is something to say.
type Status struct {
	Ready bool `json:"ready"`
	// Degraded is set while something older than the newest documents is served.
	Degraded bool `json:"degraded"`
	// Revision is served since Since; it came from the documents or, after a
	// restart with broken ones, from the state directory.
	Revision string    `json:"revision"`
	Since    time.Time `json:"since,omitzero"`
	Source   string    `json:"source"`
	// Pinned is the revision that stays whatever the documents say; empty: none.
	Pinned string `json:"pinned,omitempty"`
	// Bundle is what the active revision says of itself.
	Bundle *bundles.Metadata `json:"bundle,omitempty"`
	// LastAttempt is when the documents were last looked at, LastSuccess when
	// they were last found to be, or made to be, what is served.
	LastAttempt time.Time `json:"lastAttempt,omitzero"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
	// LastError is why the last attempt failed; empty after one that did not.
	LastError string `json:"lastError"`
	// StateError is why the last good bundle could not be kept or read.
	StateError string `json:"stateError"`
	// Errors and Warnings count the diagnostics of the last attempt, of which
	// Diagnostics has the first.
	Errors      int          `json:"errors"`
	Warnings    int          `json:"warnings"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	// PolicyConditions says, by locator, which gateway policies are accepted while the
	// documents of the last attempt have errors.
	PolicyConditions map[string][]tables.GatewayCondition `json:"policyConditions,omitempty"`

	// behindSince is when an attempt first failed to bring in what is newest.
	behindSince time.Time
}

// Diagnostic is one diagnostic as every JSON of writ has it.
type Diagnostic struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
}

// Status is a copy of the present state. It waits for no reload.
func (r *Reloader) Status() Status {
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	s := r.status
	s.Diagnostics = slices.Clone(s.Diagnostics)
	if s.Diagnostics == nil {
		s.Diagnostics = []Diagnostic{}
	}
	s.PolicyConditions = maps.Clone(s.PolicyConditions) // the lists are never changed
	if s.Bundle != nil {
		bundle := *s.Bundle
		bundle.Counts, bundle.Entrypoints = maps.Clone(bundle.Counts), slices.Clone(bundle.Entrypoints)
		s.Bundle = &bundle
	}
	return s
}

// Behind is for how long what is served has not been known to be the newest of its
// source: zero after an attempt that found it to be.
func (r *Reloader) Behind() time.Duration {
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	if r.status.behindSince.IsZero() {
		return 0
	}
	return max(r.o.Now().Sub(r.status.behindSince), 0)
}

// conclude writes down how an attempt ended: status, state, log, metrics.
func (r *Reloader) conclude(ctx context.Context, out outcome, began time.Time) {
	now := r.o.Now()
	r.statusMu.Lock()
	s := &r.status
	recovered := s.Degraded && out.err == nil
	s.LastAttempt, s.LastError = now, ""
	if out.err != nil {
		s.LastError = out.err.Error()
	} else {
		s.LastSuccess = now
		if r.pinned == "" {
			s.Source = cmp.Or(out.source, fromDocuments)
		}
	}
	if out.bundle != nil && out.err == nil {
		r.shows(out.bundle, now)
	}
	s.Ready = r.Ready()
	s.Degraded = s.Ready && (out.err != nil || r.behind)
	switch {
	case out.err == nil && !r.behind:
		s.behindSince = time.Time{}
	case s.behindSince.IsZero():
		s.behindSince = now
	}
	s.diagnosed(out.list)
	s.PolicyConditions = out.conditions
	errors, warnings, degraded := s.Errors, s.Warnings, s.Degraded
	r.statusMu.Unlock()

	r.o.Observer.Reloaded(out.result, now)
	r.o.Observer.Degraded(degraded)
	r.o.Observer.Diagnosed(errors, warnings)
	if out.result == metrics.Activated {
		r.o.Observer.Serves(r.Revision())
	}
	if recovered {
		r.o.Logger.Info("the newest documents are served again", "revision", r.Revision())
	}
	r.logOutcome(out, now.Sub(began))
	if out.err == nil {
		r.activeCommit(out.commit)
	}
	// Last, since a disk may take its time: what is served is shown before.
	r.keep(ctx, out.bundle)
	r.concludes(progress.FromContext(ctx), out, errors, warnings)
}

// concludes says of the attempt that is under way how it ended.
func (r *Reloader) concludes(p *progress.Span, out outcome, errors, warnings int) {
	result := string(out.result)
	if out.known {
		result = progress.Unchanged // whatever it was found to be before
	}
	p.Set(progress.Outcome, result)
	p.Set(progress.Source, cmp.Or(out.source, fromDocuments))
	p.Set(progress.Errors, errors)
	p.Set(progress.Warnings, warnings)
	if out.bundle != nil {
		describe(p, out.bundle)
	}
}

// describe says which bundle a phase is about.
func describe(p *progress.Span, b *bundles.Bundle) {
	p.Set(progress.Revision, b.Manifest.Revision)
	if commit := b.Manifest.Metadata.Commit; commit != "" {
		p.Set(progress.Commit, commit)
	}
	if sequence := b.Manifest.Metadata.Sequence; sequence != 0 {
		p.Set(progress.Sequence, sequence)
	}
}

// shows puts what a bundle says of itself into the status, which is locked.
func (r *Reloader) shows(b *bundles.Bundle, now time.Time) {
	if r.status.Revision != b.Manifest.Revision {
		r.status.Revision, r.status.Since = b.Manifest.Revision, now
	}
	metadata := b.Manifest.Metadata
	r.status.Bundle = &metadata
}

func (s *Status) diagnosed(list diag.List) {
	s.Errors, s.Warnings = list.Count()
	s.Diagnostics = nil
	for _, d := range worst(list, maxDiagnostics) {
		s.Diagnostics = append(s.Diagnostics, Diagnostic{
			d.File, d.Line, d.Column, d.Severity.String(), string(d.Code), d.Message, d.Hint,
		})
	}
}

// worst is up to n diagnostics, errors before warnings: a directory full of
// warnings must not hide why it was refused.
func worst(list diag.List, n int) diag.List {
	ordered := slices.Clone(list)
	slices.SortStableFunc(ordered, func(a, b diag.Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
	return ordered[:min(len(ordered), n)]
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

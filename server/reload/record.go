package reload

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/diag"
)

// record records the result of an attempt in status, state directory, log and metrics.
func (r *Reloader) record(ctx context.Context, out outcome, began time.Time) {
	now := r.o.Now()
	r.statusMu.Lock()
	s := &r.status
	recovered := s.Degraded && out.err == nil && out.stale == nil
	s.LastAttempt, s.LastError = now, ""
	if out.stale != nil {
		s.LastError = out.stale.Error()
	}
	if out.err != nil {
		s.LastError = out.err.Error()
	} else {
		s.LastSuccess = now
		if r.pinned == "" {
			s.Source = cmp.Or(out.source, fromDocuments)
		}
	}
	if out.bundle != nil && out.err == nil {
		r.setBundle(out.bundle, now)
	}
	late := out.err != nil || out.stale != nil || r.behind
	s.Degraded = s.Ready && late
	switch {
	case !late:
		s.behindSince = time.Time{}
	case s.behindSince.IsZero():
		s.behindSince = now
	}
	s.setDiagnostics(out.list)
	s.PolicyConditions = out.conditions
	errors, warnings, degraded := s.Errors, s.Warnings, s.Degraded
	r.statusMu.Unlock()

	r.o.Observer.Reloaded(out.result, now)
	if out.result == metrics.Refused && !out.known {
		r.o.Observer.ReloadRefused(out.cause())
	}
	r.o.Observer.Degraded(degraded)
	r.o.Observer.Diagnosed(errors, warnings)
	if out.result == metrics.Activated {
		r.o.Observer.Serves(r.Revision())
	}
	if out.err == nil {
		r.logRecovery(recovered)
	}
	r.logOutcome(out, now, now.Sub(began))
	if out.err == nil {
		r.activeCommit(out.commit)
	}
	r.o.Attempted(Attempt{
		Snapshot: out.snapshot, Documents: out.documents, Diagnostics: out.list, Err: out.err,
		IsRead: true, IsKnown: out.known, IsActivated: out.result == metrics.Activated,
	})
	// Last, because a disk can be slow: the status shows the active revision before.
	r.keep(ctx, out.bundle)
	r.endSpan(progress.FromContext(ctx), out, errors, warnings)
}

// keep stores the active bundle, or repeats writes that failed before.
func (r *Reloader) keep(ctx context.Context, b *bundles.Bundle) {
	if r.state == nil || b == nil && !r.state.hasPending() {
		return
	}
	var tried bool
	err := progress.Do(ctx, progress.Keep, func(context.Context) (err error) {
		tried, err = r.state.save(b)
		return err
	})
	switch isNew := tried && r.setStateError(err); {
	case !isNew: // logged once, though tried at each reload
	case err != nil:
		r.o.Logger.Error("the last good revision cannot be stored for a restart", "directory", r.o.StateDir, "error", err)
	default:
		r.o.Logger.Info("the last good revision is stored again", "directory", r.o.StateDir)
	}
}

// setStateError records the error of the state directory, nil for none. It reports
// whether the error changed.
func (r *Reloader) setStateError(err error) bool {
	r.statusMu.Lock()
	news := r.status.StateError != text(err)
	r.status.StateError = text(err)
	r.statusMu.Unlock()
	r.o.Observer.StateFails(err != nil)
	return news
}

// changed passes on a change that is not an attempt: of the pin, or to a stored revision. It
// is called with r.mu held.
func (r *Reloader) changed(isActivated bool) {
	r.o.Attempted(Attempt{IsKnown: true, IsActivated: isActivated})
}

// endSpan ends the span of an attempt with its result.
func (r *Reloader) endSpan(p *progress.Span, out outcome, errors, warnings int) {
	result := string(out.result)
	if out.known {
		result = progress.Unchanged // also if the same documents were rejected before
	}
	p.Set(progress.Outcome, result)
	p.Set(progress.Source, cmp.Or(out.source, fromDocuments))
	p.Set(progress.Errors, errors)
	p.Set(progress.Warnings, warnings)
	if out.bundle != nil {
		describe(p, out.bundle)
	}
}

// describe adds the attributes of a bundle to a span.
func describe(p *progress.Span, b *bundles.Bundle) {
	p.Set(progress.Revision, b.Manifest.Revision)
	if commit := b.Manifest.Metadata.Commit; commit != "" {
		p.Set(progress.Commit, commit)
	}
	if sequence := b.Manifest.Metadata.Sequence; sequence != 0 {
		p.Set(progress.Sequence, sequence)
	}
}

// reportByOPA logs and counts the points at which OPA evaluates the Rego of a revision.
func (r *Reloader) reportByOPA(why map[string]string) {
	points := make(map[string]bool)
	for _, point := range decision.Points() {
		if points[point.Name] = point.IsGeneric; why[point.Name] != "" {
			points[point.Name] = true
			r.o.Logger.Warn("OPA evaluates the Rego of the bundle, which takes longer", "point", point.Name, "because", why[point.Name])
		}
	}
	r.o.Observer.ByOPA(points)
}

// setBundle copies the manifest of a bundle to the status. It is called with statusMu
// held.
func (r *Reloader) setBundle(b *bundles.Bundle, now time.Time) {
	if r.status.Revision != b.Manifest.Revision {
		r.status.Revision, r.status.Since = b.Manifest.Revision, now
	}
	metadata := b.Manifest.Metadata.Own()
	r.status.Bundle = &metadata
}

func (s *Status) setDiagnostics(list diag.List) {
	s.Errors, s.Warnings = list.Count()
	s.Diagnostics = nil
	for _, d := range worst(list, maxDiagnostics) {
		line, column := d.Shown()
		s.Diagnostics = append(s.Diagnostics, Diagnostic{
			d.File, line, column, d.Field, d.Severity.String(), string(d.Code), d.Message, d.Hint,
		})
	}
}

// worst returns up to n diagnostics, errors before warnings, so that warnings do not
// hide why documents were rejected.
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

// Package reload keeps the active revision in step with the documents: snapshot,
// translate, build, check, activate, swap. It gets changes from a source and provides
// one pointer to the active revision. It knows the order of the steps and how to handle
// their failures; it does not interpret documents.
//
// # Design
//
// All state that answers a request is reachable from one pointer, which a reload swaps
// at its end. So a reload takes effect completely or not at all, and a request ends on
// the revision that it began with. The alternative, changing an engine in place, would
// need a lock around every decision.
//
// If a step fails, the last good revision remains active: decisions by earlier, reviewed
// documents are better than no decisions.
package reload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// Reload activates the current documents unless they are active. If it returns an error,
// the active revision is unchanged. Reloads run one at a time.
func (r *Reloader) Reload(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, whole := progress.Start(ctx, progress.Reload)
	began := r.o.Now()
	outcome := r.attempt(ctx)
	if outcome.err != nil && ctx.Err() != nil {
		whole.End(ctx.Err())
		return ctx.Err() // cancelled by the caller: not a failure to record
	}
	r.record(ctx, outcome, began)
	whole.End(outcome.err)
	return outcome.err
}

func (r *Reloader) attempt(ctx context.Context) (out outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			// A panic in a step must not affect the active revision.
			r.o.Logger.Error("reload panicked", "panic", cause, "stack", string(debug.Stack()))
			out = outcome{result: metrics.Refused, list: out.list, err: fmt.Errorf("panic while reloading: %v", cause)}
		}
	}()
	snapshot, list, err := r.snapshot(ctx)
	if err != nil {
		return outcome{result: metrics.Refused, list: list, err: err, unread: true}
	}
	key := snapshot.Key() + fmt.Sprint(list)
	switch key {
	case r.good.key:
		r.refused = translation{} // if the rejected documents return, they are reported again
		return outcome{result: metrics.Unchanged, list: r.good.list, known: true, commit: snapshot.Commit, stale: snapshot.Stale}
	case r.refused.key:
		return outcome{result: metrics.Refused, list: r.refused.list, err: r.refused.err, known: true, conditions: r.refused.conditions, stale: snapshot.Stale}
	}
	defer r.translating()()
	result, list, err := r.translate(ctx, snapshot, list)
	if err != nil {
		conditions := r.o.Translator.PolicyConditions()
		if isFinal(list) {
			r.refused = translation{key, list, err, conditions}
		}
		return outcome{result: metrics.Refused, list: list, err: err, conditions: conditions, stale: snapshot.Stale, snapshot: snapshot, documents: r.o.Translator.Documents()}
	}
	out = r.buildAndActivate(ctx, result, list, snapshot)
	out.commit, out.stale, out.snapshot, out.documents = snapshot.Commit, snapshot.Stale, snapshot, result.Directory.Documents()
	switch {
	case out.err == nil:
		r.good, r.refused = translation{key: key, list: list}, translation{}
	case errors.As(out.err, new(*Refusal)):
		r.refused = translation{key: key, list: list, err: out.err}
	}
	return out
}

func (r *Reloader) snapshot(ctx context.Context) (snapshot source.Snapshot, list diag.List, err error) {
	err = progress.Do(ctx, progress.Snapshot, func(ctx context.Context) error {
		snapshot, list, err = r.o.Source.Snapshot(ctx)
		if err == nil {
			progress.FromContext(ctx).Set(progress.Files, len(snapshot.Files))
		}
		return err
	})
	return snapshot, list, err
}

// translate adds its diagnostics to list, those of the snapshot. It returns an error if
// the documents have errors; the result is nil then.
func (r *Reloader) translate(ctx context.Context, snapshot source.Snapshot, list diag.List) (result *translator.Result, all diag.List, err error) {
	err = progress.Do(ctx, progress.Translate, func(ctx context.Context) error {
		var more diag.List
		result, more = r.o.Translator.Translate(ctx, snapshot)
		all = append(list, more...).Sorted()
		if result == nil || all.HasErrors() {
			return errorOf(all)
		}
		progress.FromContext(ctx).Set(progress.Documents, result.Documents)
		return nil
	})
	return result, all, err
}

// buildAndActivate builds and activates a result, and swaps it in.
func (r *Reloader) buildAndActivate(ctx context.Context, result *translator.Result, list diag.List, snapshot source.Snapshot) outcome {
	build := r.o.Build
	build.Commit = cmp.Or(snapshot.Commit, build.Commit)
	var b *bundles.Bundle
	err := progress.Do(ctx, progress.Build, func(context.Context) (err error) {
		b, err = bundles.Build(result, build)
		return err
	})
	if err != nil {
		return outcome{result: metrics.Refused, list: list, err: err}
	}
	return r.activateIfNew(ctx, &Candidate{Bundle: b, Snapshot: snapshot, Documents: result.Directory.Documents()}, list)
}

// activateIfNew activates a revision unless it is active or another one is pinned.
func (r *Reloader) activateIfNew(ctx context.Context, c *Candidate, list diag.List) outcome {
	b := c.Bundle
	r.newest = b.Manifest.Revision
	if r.pinned != "" {
		r.behind = r.Revision() != r.newest
		return outcome{result: metrics.Unchanged, list: list}
	}
	r.behind = false
	if r.Revision() == b.Manifest.Revision {
		c.Policies, c.IsActive = r.Current(), true
		if err := r.accept(ctx, c); err != nil {
			return outcome{result: metrics.Refused, list: list, err: err}
		}
		return outcome{result: metrics.Unchanged, list: list, bundle: b}
	}
	if err := r.activate(ctx, c); err != nil {
		// The documents whose Rego is the reason are named.
		list = slices.Concat(list, bundles.Diagnose(b, err)).Sorted()
		return outcome{result: metrics.Refused, list: list, err: err}
	}
	return outcome{result: metrics.Activated, list: list, bundle: b}
}

func (r *Reloader) activate(ctx context.Context, c *Candidate) error {
	b := c.Bundle
	// Activate checks the rules that decide. Tests of a bundle were checked when it was built,
	// and thousands of them take ten times as long.
	var policies decision.Policies
	err := progress.Do(ctx, progress.Activate, func(ctx context.Context) (err error) {
		policies, err = r.o.Activate(ctx, b)
		return err
	})
	if err != nil {
		return fmt.Errorf("activate revision %s: %w", b.Manifest.Revision, err)
	}
	c.Policies = policies
	if err := r.accept(ctx, c); err != nil {
		return err
	}
	// Who was answered by the revision finds it in the status.
	r.statusMu.Lock()
	r.active.Store(&active{policies: policies, signer: b.SignedBy})
	r.setBundle(b, r.o.Now())
	r.status.Ready = true
	if r.swapped != nil {
		close(r.swapped)
		r.swapped = nil
	}
	r.statusMu.Unlock()
	r.reportByOPA(policies.Loaded().ByOPA)
	r.o.Observer.Inherits(inherited(tables.Of[*tables.Gateway](b.Tables)))
	return nil
}

func (r *Reloader) accept(ctx context.Context, c *Candidate) error {
	if r.o.Accept == nil {
		return nil
	}
	return progress.Do(ctx, progress.Verify, func(ctx context.Context) error { return r.o.Accept(ctx, c) })
}

// Retry attempts the newest documents or bundle again, also if they were refused: what they are
// accepted by has changed.
func (r *Reloader) Retry(ctx context.Context) error {
	r.mu.Lock()
	r.good, r.refused = translation{}, translation{}
	r.mu.Unlock()
	if r.o.Source == nil {
		r.o.Again()
		return nil
	}
	return r.Reload(ctx)
}

// errorOf returns the error for documents with the diagnostics of list.
func errorOf(list diag.List) error {
	at := slices.IndexFunc(list, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	if at < 0 {
		return errors.New("the documents gave neither a result nor an error")
	}
	first, what, place := list[at], "an error", ""
	if n, _ := list.Count(); n > 1 {
		what = fmt.Sprintf("%d errors, the first", n)
	}
	if text := first.Position.String(); text != "" { // empty for the documents as a whole
		place = " at " + text
	}
	return fmt.Errorf("the documents have %s%s: %s: %s", what, place, first.Code, first.Message)
}

// isFinal reports whether the same documents would be rejected again. That is not so if
// an external failure ended their translation.
func isFinal(list diag.List) bool {
	return list.HasErrors() && !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.Interrupted })
}

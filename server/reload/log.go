package reload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/diag"
)

// logOutcome logs the result of an attempt if it differs from the previous one. A failure that
// repeats is logged again seldom.
func (r *Reloader) logOutcome(out outcome, now time.Time, took time.Duration) {
	r.logStale(out, now)
	if out.known {
		r.o.Logger.Debug("documents unchanged", "result", out.result, "revision", r.Revision())
		return
	}
	if out.err != nil {
		r.logFailure(out, now)
		return
	}
	r.logDiagnostics(out.list)
	switch {
	case out.result == metrics.Activated:
		r.o.Logger.Info("revision activated", "revision", r.Revision(), "took", took)
	case out.source == fromBundle:
		r.o.Logger.Info("bundle delivered, its revision is already active", "revision", r.Revision(), "took", took)
	default:
		r.o.Logger.Info("documents changed, the revision did not", "revision", r.Revision(), "took", took)
	}
}

// logFailure logs why an attempt failed, and the diagnostics. Documents that were changed and have the
// same mistakes are logged each time: their author waits for it.
func (r *Reloader) logFailure(out outcome, now time.Time) {
	about, isLogged := r.failures.Failed(out.failure()+out.err.Error()+fmt.Sprint(out.list), now)
	if !isLogged && !out.list.HasErrors() {
		return
	}
	r.logDiagnostics(out.list)
	about = append(about, "error", out.err)
	if r.Ready() {
		r.o.Logger.Error(out.failure()+", the last good revision remains active", append(about, "revision", r.Revision())...)
	} else {
		r.o.Logger.Error(out.failure()+", and no revision is active", about...)
	}
}

// logRecovery logs that attempts succeed again. isCurrent states that what is active was older than
// the documents, and no longer is.
func (r *Reloader) logRecovery(isCurrent bool) {
	about, failed := r.failures.Ended()
	switch {
	case isCurrent:
		r.o.Logger.Info("the newest documents are active again", append(about, "revision", r.Revision())...)
	case failed:
		r.o.Logger.Info("reloads succeed again", about...)
	}
}

// logStale logs which sources cannot be read.
func (r *Reloader) logStale(out outcome, now time.Time) {
	if out.stale == nil {
		if !out.unread {
			r.stale.Ended()
		}
		return
	}
	if about, isLogged := r.stale.Failed(out.stale.Error(), now); isLogged {
		r.o.Logger.Warn("a source cannot be read, its last documents remain in use", append(about, "error", out.stale)...)
	}
}

// cause returns which step failed, for metrics.
func (o *outcome) cause() metrics.Cause {
	switch {
	case errors.As(o.err, new(*Refusal)):
		return metrics.ByAssertions
	case o.unread:
		return metrics.ByUnread
	case o.list.HasErrors():
		return metrics.ByErrors
	}
	return metrics.ByActivation
}

// failure describes which step failed.
func (o *outcome) failure() string {
	switch {
	case o.source == fromBundle && o.unread:
		return "no bundle could be fetched"
	case o.source == fromBundle:
		return "bundle refused"
	case o.unread:
		return "documents could not be read"
	}
	return "documents refused"
}

// logDiagnostics logs at most maxLogged diagnostics.
func (r *Reloader) logDiagnostics(list diag.List) {
	for _, d := range worst(list, maxLogged) {
		level := slog.LevelWarn
		if d.Severity == diag.Error {
			level = slog.LevelError
		}
		about := []any{"code", d.Code}
		if d.File != "" { // diagnostics of the directory as a whole have no file
			about = append(about, "at", d.Position.String())
		}
		if d.Hint != "" {
			about = append(about, "hint", d.Hint)
		}
		r.o.Logger.Log(context.Background(), level, d.Message, about...)
	}
	if more := len(list) - maxLogged; more > 0 {
		r.o.Logger.Warn("further diagnostics not logged", "diagnostics", more)
	}
}

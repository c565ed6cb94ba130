package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/answers"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// newExplorer returns what answers the web console.
func (s *Server) newExplorer() *answers.Explorer {
	o := answers.Options{
		Current: func() decision.Policies { return s.reloader.Current() },
		Status:  s.status, Log: s.config.PageLog, Now: s.config.Now,
		Proofs: s.proofs,
		Stored: s.storedRevisions, Open: s.openRevision, Try: s.tryDocuments,
		Repositories: s.repositories, ReadReference: s.readReference,
	}
	if s.clusters != nil {
		o.Clusters, o.ClusterLabels = s.clusters.Names, s.clusters.Labels
	}
	return answers.New(o)
}

// storedRevisions lists the revisions of the state directory; none without one.
func (s *Server) storedRevisions() ([]answers.Stored, error) {
	kept, err := s.reloader.Revisions()
	if errors.Is(err, reload.ErrNoState) {
		return nil, nil
	}
	stored := make([]answers.Stored, 0, len(kept))
	for _, k := range kept {
		stored = append(stored, answers.Stored{Revision: k.Revision, Sequence: k.Sequence, Commit: k.Commit, Since: k.Since})
	}
	return stored, err
}

// openRevision activates a revision of the state directory for a comparison. It is not
// served.
func (s *Server) openRevision(ctx context.Context, revision string) (decision.Policies, error) {
	b, err := s.reloader.Stored(revision)
	if err != nil {
		return nil, err
	}
	return s.activateApart(ctx, b, s.config.Now)
}

// activateApart activates a bundle that is not served. Its clock is now; nil means time.Now.
func (s *Server) activateApart(ctx context.Context, b *bundles.Bundle, now func() time.Time) (decision.Policies, error) {
	return engine.Activate(ctx, b, engine.Options{
		Now: now, Timeout: s.config.Timeouts.Evaluation, RequireRoute: s.config.RequireRoute, ByOPA: engine.PointsByOPA(s.config.DecideBy), Overdue: overdue.New(s.metrics),
	})
}

// tryDocuments translates documents and activates the result for a comparison. It is not
// served.
func (s *Server) tryDocuments(ctx context.Context, snapshot source.Snapshot) (answers.Trial, error) {
	t := translator.New(translator.Options{Settings: s.config.Settings, AllowEmpty: s.config.AllowEmpty})
	result, list := t.Translate(ctx, snapshot)
	out := answers.Trial{Documents: t.Documents(), Diagnostics: list}
	if result == nil || list.HasErrors() {
		return out, ctx.Err()
	}
	b, err := bundles.Build(result, bundles.BuildOptions{Version: s.config.Version})
	if err != nil {
		return out, err
	}
	p, err := s.activateApart(ctx, b, s.config.Now)
	if err != nil {
		out.Diagnostics = slices.Concat(list, bundles.Diagnose(b, err)).Sorted()
		return out, err
	}
	out.Policies = p
	return out, nil
}

// attempted passes the result of an attempt to the explorer.
func (s *Server) attempted(a reload.Attempt) {
	if a.IsRead && !errors.As(a.Err, new(*reload.Refusal)) {
		s.proofs.Settled()
	}
	s.explorer.Attempted(answers.Attempt{
		Files: a.Snapshot.Files, Origins: a.Snapshot.Origins, Cluster: a.Snapshot.Cluster, Documents: a.Documents, Diagnostics: a.Diagnostics, Err: a.Err,
		Known: a.IsKnown, Read: a.IsRead, Activated: a.IsActivated, Revision: s.reloader.Revision(), Source: s.reloader.Status().Source, State: s.consoleState(),
	})
}

// consoleState is the state of the server that the console follows.
func (s *Server) consoleState() console.StateEvent {
	status := s.reloader.Status()
	state := console.StateEvent{Ready: status.Ready, Degraded: status.Degraded, Pinned: status.Pinned}
	if keys := s.sources.keys.status(); keys != nil && keys.State == bundles.KeyRevoked {
		state.WithdrawnKey = keys.SignedBy
	}
	state.FailingAssertions, state.Assertions = s.proofs.Failing()
	return state
}

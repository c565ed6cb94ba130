package reload

import (
	"context"

	"github.com/writ-policy/writ/server/decision"
)

var (
	_ decision.Monitor = (*Reloader)(nil)
	_ decision.Renewer = (*Reloader)(nil)
)

// monitor is the active revision, as far as it tells what documents say.
func (r *Reloader) monitor() decision.Monitor {
	if a := r.active.Load(); a != nil {
		if monitor, ok := a.reviewer.(decision.Monitor); ok {
			return monitor
		}
	}
	return decision.NoMonitor(noRevision)
}

// Policies asks the active revision.
func (r *Reloader) Policies(ctx context.Context, p decision.Principal) decision.PolicyListing {
	return r.monitor().Policies(ctx, p)
}

// Permissions asks the active revision.
func (r *Reloader) Permissions(ctx context.Context, p decision.Principal, clusters []string, labels func(string) map[string]string) decision.PermissionListing {
	return r.monitor().Permissions(ctx, p, clusters, labels)
}

// CustomTypes asks the active revision.
func (r *Reloader) CustomTypes(ctx context.Context, p decision.Principal) decision.TypeListing {
	return r.monitor().CustomTypes(ctx, p)
}

// renewer is the active revision, nil where it cannot tell what its authorizations
// rest on.
func (r *Reloader) renewer() decision.Renewer {
	if a := r.active.Load(); a != nil {
		if renewer, ok := a.reviewer.(decision.Renewer); ok {
			return renewer
		}
	}
	return nil
}

// Grounds are those of the active revision.
func (r *Reloader) Grounds() *decision.Grounds {
	if renewer := r.renewer(); renewer != nil {
		return renewer.Grounds()
	}
	return nil
}

// Renew gives an authorization of the active revision.
func (r *Reloader) Renew(a decision.Authorization) (decision.Authorization, bool) {
	if renewer := r.renewer(); renewer != nil {
		return renewer.Renew(a)
	}
	return a, false
}

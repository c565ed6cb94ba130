package lists

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-policy/writ/server/decision"
)

// Spaces returns the namespaces of a cluster, nil if it has no API server that is known. The
// error wraps ErrNotSynced.
type Spaces interface {
	Namespaces(ctx context.Context, cluster string) (*Space, error)
}

// Locator finds the namespaces that questions are about. The zero value knows no cluster. It
// is safe for concurrent use.
type Locator struct {
	// Clusters place questions in a cluster, and Spaces have its namespaces; both may be nil.
	Clusters interface{ Place(*decision.Request) error }
	Spaces   Spaces
	// IsTooOld reports whether the active revision is too old for lists; nil means never.
	IsTooOld func() bool
}

// errTooOld rejects a list by a revision that is too old.
var errTooOld = errors.New("the active revision has not been confirmed by its source for longer than --max-age allows")

// UnlistedError is the name of a cluster that the clusters file does not list.
type UnlistedError string

func (e UnlistedError) Error() string {
	return fmt.Sprintf("the cluster %q is not listed in the clusters file", string(e))
}

// Check returns errTooOld if lists must not be answered.
func (l *Locator) Check() error {
	if l.IsTooOld != nil && l.IsTooOld() {
		return errTooOld
	}
	return nil
}

// Locate sets the cluster of a question and returns its namespaces, nil if it has no API
// server that is known. It waits for them until ctx is done. The error is an UnlistedError,
// errTooOld, or ErrNotSynced, without what an API server answered.
func (l *Locator) Locate(ctx context.Context, q *Question) (*Space, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	if l.Clusters != nil {
		placed := q.request()
		if err := l.Clusters.Place(placed); err == nil {
			q.Cluster, q.Scope = placed.Cluster, placed.Scope()
		} else if q.Cluster != "" {
			return nil, UnlistedError(q.Cluster)
		}
	}
	if l.Spaces == nil {
		return nil, nil
	}
	space, err := l.Spaces.Namespaces(ctx, q.Cluster)
	if err != nil {
		return nil, ErrNotSynced
	}
	return space, nil
}

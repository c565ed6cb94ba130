package git

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// maxCommits bounds the commits that are read to prove that one descends from another.
const maxCommits = 1 << 20

// DescentError reports a commit that is not read, because it does not descend from the one
// that Options.Base returns: an older commit, or one of a rewritten history.
type DescentError struct{ Commit, Base string }

// Error names both commits.
func (e *DescentError) Error() string {
	return fmt.Sprintf("commit %s does not descend from %s, the last active one: a branch was reset or rewritten, and an operator must accept it", e.Commit, e.Base)
}

// checkDescent returns a *DescentError unless base, which may be empty, is the commit or one
// of its ancestors. A history that cannot be fetched, or is longer than maxCommits, is
// another error.
func (r *Repository) checkDescent(ctx context.Context, from remote, commit *object.Commit, base string) error {
	ancestor := plumbing.NewHash(base)
	if base == "" || commit.Hash == ancestor || slices.Contains(commit.ParentHashes, ancestor) {
		return nil
	}
	history, release, err := from.history(ctx, commit.Hash, ancestor)
	if err != nil {
		return err
	}
	defer release()
	found, err := isAncestor(ctx, history, ancestor, commit)
	if err == nil && !found {
		err = &DescentError{commit.Hash.String(), base}
	}
	return err
}

// isAncestor reports whether the commit is reached by parents that history has.
func isAncestor(ctx context.Context, history objectStore, ancestor plumbing.Hash, commit *object.Commit) (bool, error) {
	seen := make(map[plumbing.Hash]struct{})
	for next := slices.Clone(commit.ParentHashes); len(next) > 0; {
		hash := next[len(next)-1]
		next = next[:len(next)-1]
		if hash == ancestor {
			return true, nil
		}
		if _, known := seen[hash]; known {
			continue
		}
		if len(seen) == maxCommits {
			return false, &limitError{fmt.Sprintf("the history exceeds the limit of %d commits", maxCommits)}
		}
		seen[hash] = struct{}{}
		if err := ctx.Err(); err != nil {
			return false, context.Cause(ctx)
		}
		parent, err := object.GetCommit(history, hash)
		switch {
		case errors.Is(err, plumbing.ErrObjectNotFound): // an ancestor of the ancestor, or beyond a shallow history
		case err != nil:
			return false, fmt.Errorf("read commit %s: %w", hash, err)
		default:
			next = append(next, parent.ParentHashes...)
		}
	}
	return false, nil
}

package git

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// ErrBadName is the error of CheckName.
var ErrBadName = errors.New("must be a branch, a tag or a commit")

// longestName bounds a name, as that of a file of a reference.
const longestName = 255

// CheckName returns an error unless a text is the name of a reference by the rules of git
// check-ref-format, or the digits of a commit: other forms of revisions search a history, or
// name files beside the references.
func CheckName(name string) error {
	if len(name) > longestName || strings.HasPrefix(name, "-") || !source.IsPrintable(name) ||
		plumbing.NewBranchReferenceName(name).Validate() != nil {
		return ErrBadName
	}
	return nil
}

// abbreviated are the first digits of a commit.
var abbreviated = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// Lookup returns the commit, or the annotated tag, of a name that CheckName accepts. The
// error wraps ErrBadName or ErrBadRevision.
func (c *Checkout) Lookup(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	if abbreviated.MatchString(name) {
		if commit, err := c.Resolve(name); err == nil {
			return commit, nil
		}
	}
	hash, err := c.storage.find(name)
	return hash.String(), err
}

// SnapshotOf reads the tree of the commit that a name of a reference or a commit names, as
// Snapshot does. What Snapshot returns stays the same, and neither waits for the other. The
// commit need not be signed nor descend from another. The error wraps ErrBadName or
// ErrBadRevision if the name is at fault.
func (r *Repository) SnapshotOf(ctx context.Context, name string) (snapshot source.Snapshot, list diag.List, err error) {
	if err := CheckName(name); err != nil {
		return source.Snapshot{}, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.Timeout, errTimeout)
	defer cancel()
	defer r.settle(&snapshot, &list, &err)
	remote, err := r.newRemote()
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	hash, err := remote.resolve(ctx, name)
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	return r.fetch(ctx, remote, hash, func(objects objectStore) (*object.Commit, error) { return readCommit(objects, hash) })
}

// settle completes the results of a snapshot: a panic is an error, and an error has no
// snapshot.
func (r *Repository) settle(snapshot *source.Snapshot, list *diag.List, err *error) {
	if cause := recover(); cause != nil {
		r.o.Logger.Error("panic while reading a repository", "panic", cause, "stack", string(debug.Stack()))
		*err = fmt.Errorf("panic while reading: %v", cause)
	}
	if *err != nil {
		*snapshot, *list = source.Snapshot{}, nil
		*err = &readError{fmt.Sprintf("read %s: ", source.Location{Git: &r.o.Location}), *err}
	}
}

// missingReference is the error of a name that no reference has. It is ErrBadRevision.
type missingReference struct{ ref, suggestion string }

func (e *missingReference) Error() string {
	if e.ref == "" {
		return "the repository has no HEAD"
	}
	return "the repository has no reference " + strconv.Quote(e.ref) + e.suggestion
}

func (e *missingReference) Is(target error) bool { return target == ErrBadRevision }

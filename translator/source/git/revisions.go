package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// The errors of a Checkout.
var (
	ErrNoRepository = errors.New("not in a git repository")
	ErrBadRevision  = errors.New("no such revision")
	ErrNoFolder     = errors.New("no such folder in the revision")
)

// Checkout is the repository of a working directory. Its revisions are read from the
// objects; the working tree is neither read nor changed.
type Checkout struct {
	repository *gogit.Repository
	objects    objectStore
}

// OpenCheckout opens the repository that a directory is in. The error wraps
// ErrNoRepository if it is not in one.
func OpenCheckout(dir string) (*Checkout, error) {
	repository, err := gogit.PlainOpenWithOptions(dir, &gogit.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRepository, source.TrimPath(err))
	}
	return &Checkout{repository, checkedObjects{repository.Storer, repository.Storer.EncodedObject}}, nil
}

// Resolve returns the commit of a revision: a branch, a tag, a commit, HEAD~1 and the
// like. The error wraps ErrBadRevision if it does not exist.
func (c *Checkout) Resolve(revision string) (string, error) {
	hash, err := c.repository.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrBadRevision, strconv.Quote(revision))
	}
	return hash.String(), nil
}

// MergeBase returns the best common ancestor of two commits. The error wraps
// ErrBadRevision if they have none.
func (c *Checkout) MergeBase(one, other string) (string, error) {
	var commits [2]*object.Commit
	for i, hash := range []string{one, other} {
		commit, err := c.repository.CommitObject(plumbing.NewHash(hash))
		if err != nil {
			return "", fmt.Errorf("%w: %s", ErrBadRevision, hash)
		}
		commits[i] = commit
	}
	bases, err := commits[0].MergeBase(commits[1])
	if err != nil {
		return "", fmt.Errorf("merge base: %w", err)
	}
	if len(bases) == 0 {
		return "", fmt.Errorf("%w: %s and %s have no common ancestor", ErrBadRevision, one, other)
	}
	return bases[0].Hash.String(), nil
}

// Before returns the newest commit at a time: the given one, or the first of its first
// parents that was committed by then. It is empty if all of them were committed later.
func (c *Checkout) Before(commit string, at time.Time) (string, error) {
	for hash := plumbing.NewHash(commit); ; {
		found, err := c.repository.CommitObject(hash)
		if err != nil {
			return "", fmt.Errorf("%w: %s", ErrBadRevision, hash)
		}
		switch {
		case !found.Committer.When.After(at):
			return hash.String(), nil
		case len(found.ParentHashes) == 0:
			return "", nil
		}
		hash = found.ParentHashes[0]
	}
}

// Folder returns a directory of the working tree as a folder of its revisions.
func (c *Checkout) Folder(dir string) (string, error) {
	tree, err := c.repository.Worktree()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoRepository, err)
	}
	top, err := filepath.EvalSymlinks(tree.Filesystem.Root())
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	folder, err := filepath.Rel(top, dir)
	return filepath.ToSlash(folder), err
}

// Snapshot reads a folder of a commit; "" and "." are the top. noIgnore reads the files that
// ".writignore" and ".writ.yaml" leave out. The error wraps ErrNoFolder
// if the commit lacks it.
func (c *Checkout) Snapshot(ctx context.Context, commit, folder string, noIgnore bool) (source.Snapshot, diag.List, error) {
	found, err := readCommit(c.objects, plumbing.NewHash(commit))
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	if folder = path.Clean(strings.Trim(folder, "/")); folder == "." {
		folder = ""
	}
	if folder == ".." || strings.HasPrefix(folder, "../") || !c.has(found, folder) {
		return source.Snapshot{}, nil, fmt.Errorf("%w: %s", ErrNoFolder, strconv.Quote(folder))
	}
	o := &Options{Location: source.GitLocation{Subdir: folder}, Limits: source.Limits{}.WithDefaults(), NoIgnore: noIgnore}
	snapshot, list, err := readTree(ctx, c.objects, found, o)
	if err != nil {
		return source.Snapshot{}, nil, fmt.Errorf("commit %s: %w", commit, err)
	}
	snapshot.Commit = commit
	return snapshot, list, nil
}

func (c *Checkout) has(commit *object.Commit, folder string) bool {
	tree, err := object.GetTree(c.objects, commit.TreeHash)
	if err != nil || folder == "" {
		return err == nil
	}
	_, err = tree.FindEntry(folder)
	return err == nil
}

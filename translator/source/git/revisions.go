package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
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
	ErrNoMergeBase  = errors.New("no merge base")
	ErrNoFolder     = errors.New("folder not found")
	ErrNotFolder    = errors.New("not a folder of the revision")
)

// Checkout is the repository of a working directory. Its revisions are read from the
// objects; the working tree is neither read nor changed.
type Checkout struct {
	repository *gogit.Repository
	storage    localStorage
	top        string
}

// OpenCheckout opens the repository that a directory is in. The error wraps
// ErrNoRepository if it is not in one.
func OpenCheckout(dir string) (*Checkout, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	storage, top, err := findLocal(dir)
	switch {
	case errors.Is(err, gogit.ErrRepositoryNotExists):
		return nil, ErrNoRepository
	case err != nil:
		return nil, fmt.Errorf("open the repository %s: %w", top, err)
	}
	repository, err := gogit.Open(storage, nil)
	if err != nil {
		return nil, fmt.Errorf("open the repository %s: %w", top, err)
	}
	return &Checkout{repository, storage, top}, nil
}

func (c *Checkout) objects() objectStore { return checkedObjects{c.storage, c.storage.EncodedObject} }

// Resolve returns the commit of a revision: a branch, a tag, a commit, HEAD~1, FETCH_HEAD
// and the like. The error wraps ErrBadRevision if it does not exist.
func (c *Checkout) Resolve(revision string) (string, error) {
	name := revision
	if rest, ok := strings.CutPrefix(revision, fetchHead); ok {
		name = c.fetched() + rest
	}
	hash, err := c.repository.ResolveRevision(plumbing.Revision(name))
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrBadRevision, strconv.Quote(revision))
	}
	return hash.String(), nil
}

// fetchHead is the file of the commits that git fetched last. It has a line for each, so
// that it is not read as a reference.
const fetchHead = "FETCH_HEAD"

// fetched returns the first commit of FETCH_HEAD, as git takes it, or FETCH_HEAD.
func (c *Checkout) fetched() string {
	file, err := c.storage.Filesystem().Open(fetchHead)
	if err != nil {
		return fetchHead
	}
	defer file.Close() //nolint:errcheck // it was read
	line := make([]byte, len(plumbing.ZeroHash.String()))
	if _, err := io.ReadFull(file, line); err != nil || !plumbing.IsHash(string(line)) {
		return fetchHead
	}
	return string(line)
}

// MergeBase returns the best common ancestor of two commits. The error wraps
// ErrNoMergeBase if they have none, or if the repository lacks a part of their history.
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
	shallow, _ := c.storage.Shallow()
	switch {
	case len(shallow) > 0 && (err != nil || len(bases) == 0):
		return "", fmt.Errorf("%w: the clone is shallow; fetch the whole history (git fetch --unshallow)", ErrNoMergeBase)
	case err != nil:
		return "", fmt.Errorf("merge base: %w", err)
	case len(bases) == 0:
		return "", fmt.Errorf("%w: the revisions have no common ancestor", ErrNoMergeBase)
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
	top, err := filepath.EvalSymlinks(c.top)
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
	found, err := readCommit(c.objects(), plumbing.NewHash(commit))
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	if folder = path.Clean(strings.Trim(folder, "/")); folder == "." {
		folder = ""
	}
	if folder == ".." || strings.HasPrefix(folder, "../") {
		return source.Snapshot{}, nil, fmt.Errorf("%w: %s", ErrNoFolder, strconv.Quote(folder))
	}
	o := &Options{Location: source.GitLocation{Subdir: folder}, Limits: source.Limits{}.WithDefaults(), NoIgnore: noIgnore}
	snapshot, list, err := readTree(ctx, c.objects(), found, o)
	if err != nil {
		return source.Snapshot{}, nil, fmt.Errorf("commit %s: %w", commit, err)
	}
	snapshot.Commit = commit
	snapshot.Aside = func(ctx context.Context, name string) (source.Snapshot, diag.List, error) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return source.Snapshot{}, nil, fmt.Errorf("%s: %w below the folder", name, fs.ErrNotExist)
		}
		return c.aside(ctx, commit, path.Join(folder, name), noIgnore)
	}
	return snapshot, list, nil
}

// aside reads a file or folder of a commit.
func (c *Checkout) aside(ctx context.Context, commit, name string, noIgnore bool) (source.Snapshot, diag.List, error) {
	snapshot, list, err := c.Snapshot(ctx, commit, name, noIgnore)
	if errors.Is(err, ErrNotFolder) {
		snapshot, list, err = c.Snapshot(ctx, commit, path.Dir(name), noIgnore)
		snapshot.Files = slices.DeleteFunc(slices.Clone(snapshot.Files), func(f source.File) bool { return f.Path != path.Base(name) })
		if err == nil && len(snapshot.Files) == 0 {
			err = ErrNoFolder
		}
	}
	if errors.Is(err, ErrNoFolder) {
		err = fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return snapshot, list, err
}

package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/writ-policy/writ/bundles/phase"
	"github.com/writ-policy/writ/translator/diag"
)

// DefaultEvery is how often a repository is asked for its reference; a poke comes
// sooner.
const DefaultEvery = 30 * time.Second

// fetchTimeout bounds one fetch; a remote that says nothing must not keep the next
// one from being tried.
const fetchTimeout = 2 * time.Minute

// GitOptions say where a repository is and how it is reached. Location is needed.
type GitOptions struct {
	Location GitLocation
	// Dir is where what is fetched is kept while it is read; empty is the machine's
	// folder for such things.
	Dir string
	// Every is how often the reference is looked at; it varies by a tenth, so that
	// many replicas do not ask at once. Zero means DefaultEvery.
	Every time.Duration
	// Credentials finds what to authenticate with; nil uses none. It is asked before
	// every fetch, so that a renewed token is used.
	Credentials func(GitLocation) (transport.AuthMethod, error)
	// CABundle finds PEM certificates to trust beside the machine's; nil: none. It is
	// asked before every fetch, too.
	CABundle func() ([]byte, error)
	// Keys, if set, must have signed the commit.
	Keys *GitKeys
	// Limits are those of a directory.
	Limits DirOptions
	Logger *slog.Logger
	// After is the clock; nil: the machine's.
	After func(time.Duration) <-chan time.Time
}

// Repository is a policy directory in a git repository, read as the tree of one
// commit. It is safe for concurrent use.
//
// Every new commit is fetched by itself, without history and into a folder of its
// own: a fetch that ends half way, a full disk and a history that was rewritten
// leave nothing that a later fetch could stumble on. It transfers more than a clone
// that is kept would; policies are small.
type Repository struct {
	o    GitOptions
	poke chan struct{}

	mu   sync.Mutex // held through a whole fetch
	last fetched
}

// fetched is a commit that was read.
type fetched struct {
	ref      plumbing.Hash // what the reference named, a tag perhaps
	snapshot Snapshot
	list     diag.List
	known    bool
}

// Git is the repository. Nothing is read yet.
func Git(o GitOptions) *Repository {
	if o.Every <= 0 {
		o.Every = DefaultEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.After == nil {
		o.After = time.After
	}
	o.Limits = Dir("", o.Limits).o
	return &Repository{o: o, poke: make(chan struct{}, 1)}
}

// Poke makes Watch look at once, as a webhook wants. It never waits.
func (r *Repository) Poke() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// Watch notifies whenever the repository should be looked at again: at each poll,
// and after a poke. Whether there is anything new a Snapshot tells.
func (r *Repository) Watch(ctx context.Context, notify func()) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.poke:
		case <-r.o.After(r.wait()):
		}
		notify()
	}
}

// wait is Every, give or take a tenth.
func (r *Repository) wait() time.Duration {
	spread := int64(r.o.Every / 5)
	if spread <= 0 {
		return r.o.Every
	}
	return r.o.Every - time.Duration(spread/2) + time.Duration(rand.Int64N(spread))
}

// Snapshot reads the tree of the commit that the reference names now. The commit
// that was read last is not fetched again. The error is the world's: a remote that
// does not answer, a reference that is gone, a commit nobody allowed has signed.
func (r *Repository) Snapshot(ctx context.Context) (Snapshot, diag.List, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	snapshot, list, err := r.read(ctx)
	if err != nil {
		return Snapshot{}, nil, fmt.Errorf("read %s: %w", Location{Git: &r.o.Location}, err)
	}
	return snapshot, list, nil
}

func (r *Repository) read(ctx context.Context) (Snapshot, diag.List, error) {
	origin, err := r.origin()
	if err != nil {
		return Snapshot{}, nil, err
	}
	pinned := plumbing.IsHash(r.o.Location.Ref)
	if pinned && r.last.known {
		return r.last.snapshot, r.last.list, nil
	}
	ref, err := origin.resolve(ctx, r.o.Location.Ref)
	if err != nil {
		return Snapshot{}, nil, err
	}
	if r.last.known && r.last.ref == ref.hash {
		return r.last.snapshot, r.last.list, nil
	}
	snapshot, list, err := r.fetch(ctx, origin, ref)
	if err != nil {
		return Snapshot{}, nil, err
	}
	r.last = fetched{ref: ref.hash, snapshot: snapshot, list: list, known: true}
	r.o.Logger.Info("commit read", "commit", snapshot.Commit, "files", len(snapshot.Files))
	return snapshot, list, nil
}

// fetch brings a commit here, checks who signed it, and reads its tree.
func (r *Repository) fetch(ctx context.Context, origin origin, ref reference) (Snapshot, diag.List, error) {
	folder, err := r.folder()
	if err != nil {
		return Snapshot{}, nil, err
	}
	defer os.RemoveAll(folder)
	var objects objectStore
	err = phase.Do(ctx, phase.Fetch, func(ctx context.Context) (err error) {
		objects, err = origin.objects(ctx, folder, ref)
		return err
	})
	if err != nil {
		return Snapshot{}, nil, err
	}
	commit, err := commitOf(objects, ref.hash)
	if err != nil {
		return Snapshot{}, nil, err
	}
	if r.o.Keys != nil {
		if err := r.o.Keys.verify(commit); err != nil {
			return Snapshot{}, nil, fmt.Errorf("commit %s: %w", commit.Hash, err)
		}
	}
	files, list, err := readTree(ctx, objects, commit, r.o.Location.Subdir, r.o.Limits)
	if err != nil {
		return Snapshot{}, nil, fmt.Errorf("commit %s: %w", commit.Hash, err)
	}
	return Snapshot{Files: files, Commit: commit.Hash.String()}, list, nil
}

const folderPattern = "fetch-*"

// folder is a fresh one for a fetch. What a process that was killed left is removed
// first.
func (r *Repository) folder() (string, error) {
	if r.o.Dir == "" {
		return os.MkdirTemp("", "writ-git-")
	}
	if err := os.MkdirAll(r.o.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make room for a fetch: %w", bare(err))
	}
	left, _ := filepath.Glob(filepath.Join(r.o.Dir, folderPattern)) // the pattern is good
	for _, path := range left {
		os.RemoveAll(path)
	}
	folder, err := os.MkdirTemp(r.o.Dir, folderPattern)
	if err != nil {
		return "", fmt.Errorf("make room for a fetch: %w", bare(err))
	}
	return folder, nil
}

// commitOf follows annotated tags to their commit.
func commitOf(objects objectStore, hash plumbing.Hash) (*object.Commit, error) {
	const most = 10
	for range most {
		tag, err := object.GetTag(objects, hash)
		if err != nil {
			break
		}
		hash = tag.Target
	}
	commit, err := object.GetCommit(objects, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, fmt.Errorf("%s is no commit", hash)
	}
	return commit, err
}

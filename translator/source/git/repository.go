package git

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/source"
)

// DefaultEvery is how often a repository is asked for its reference; a poke comes
// sooner.
const DefaultEvery = 30 * time.Second

// Bounds of a fetch, where Options has none: a remote that says nothing, or never
// ends, must not keep the next one from being tried, nor fill memory or disk.
const (
	DefaultStall    = 30 * time.Second
	DefaultTimeout  = 10 * time.Minute
	DefaultMaxFetch = 1 << 30
)

// Options say where a repository is and how it is reached. Location is needed.
type Options struct {
	Location source.GitLocation
	// Dir is where what is fetched is kept while it is read; empty is the machine's
	// folder for such things.
	Dir string
	// Every is how often the reference is looked at; it varies by a tenth, so that
	// many replicas do not ask at once. Zero means DefaultEvery.
	Every time.Duration
	// Credentials finds what to authenticate with; nil uses none. It is asked before
	// every fetch, so that a renewed token is used.
	Credentials func(source.GitLocation) (transport.AuthMethod, error)
	// CABundle finds PEM certificates to trust beside the machine's; nil: none. It is
	// asked before every fetch, too.
	CABundle func() ([]byte, error)
	// Keys, if set, must have signed the commit.
	Keys *Keys
	// Limits are those of a directory.
	Limits source.Limits
	// MaxFetch bounds the bytes of one fetch, as they are transferred and as they are
	// unpacked: those of the whole commit, not of the policy directory alone. One
	// object may have an eighth of it. Zero means DefaultMaxFetch.
	MaxFetch int64
	// Stall is how long a transfer may stand still, Timeout how long one reading may
	// take in all. Zero means the default.
	Stall, Timeout time.Duration
	Logger         *slog.Logger
	// After is the clock; nil: the machine's.
	After func(time.Duration) <-chan time.Time
}

// Repository is a policy directory in a git repository, read as the tree of one
// commit. It is safe for concurrent use.
//
// Every new commit is fetched by itself, without history and into a file that has
// no name: a fetch that ends half way, a full disk, a process that is killed and a
// history that was rewritten leave nothing that a later fetch could stumble on. It
// transfers more than a clone that is kept would; policies are small.
type Repository struct {
	o    Options
	poke chan struct{}

	mu          sync.Mutex // held through a whole fetch
	last        fetched
	web         *http.Transport // kept over fetches, for its connections
	authorities []byte          // that it trusts beside the machine's
}

// fetched is a commit that was read.
type fetched struct {
	ref      plumbing.Hash // what the reference named, a tag perhaps
	snapshot source.Snapshot
	list     diag.List
	known    bool
}

// Open is the repository of o. Nothing is read yet.
func Open(o Options) *Repository {
	if o.Every <= 0 {
		o.Every = DefaultEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.MaxFetch <= 0 {
		o.MaxFetch = DefaultMaxFetch
	}
	if o.Stall <= 0 {
		o.Stall = DefaultStall
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	o.Limits = o.Limits.WithDefaults()
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
func (r *Repository) Snapshot(ctx context.Context) (snapshot source.Snapshot, list diag.List, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.Timeout, errTooLong)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			r.o.Logger.Error("reading a repository panicked", "panic", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic while reading: %v", cause)
		}
		if err != nil {
			snapshot, list = source.Snapshot{}, nil
			err = &repositoryError{fmt.Sprintf("read %s: ", source.Location{Git: &r.o.Location}), err}
		}
	}()
	return r.read(ctx)
}

func (r *Repository) read(ctx context.Context) (source.Snapshot, diag.List, error) {
	origin, err := r.origin()
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	pinned := plumbing.IsHash(r.o.Location.Ref)
	if pinned && r.last.known {
		return r.last.snapshot, r.last.list, nil
	}
	ref, err := origin.resolve(ctx, r.o.Location.Ref)
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	if r.last.known && r.last.ref == ref.hash {
		return r.last.snapshot, r.last.list, nil
	}
	snapshot, list, err := r.fetch(ctx, origin, ref)
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	r.last = fetched{ref: ref.hash, snapshot: snapshot, list: list, known: true}
	r.o.Logger.Info("commit read", "commit", snapshot.Commit, "files", len(snapshot.Files))
	return snapshot, list, nil
}

// fetch brings a commit here, checks who signed it, and reads its tree.
func (r *Repository) fetch(ctx context.Context, origin origin, ref reference) (source.Snapshot, diag.List, error) {
	var objects objectStore
	var closer func()
	err := progress.Do(ctx, progress.Fetch, func(ctx context.Context) (err error) {
		objects, closer, err = origin.objects(ctx, ref)
		return err
	})
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	defer closer()
	commit, err := commitOf(objects, ref.hash)
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	if r.o.Keys != nil {
		if err := r.o.Keys.verify(commit); err != nil {
			return source.Snapshot{}, nil, fmt.Errorf("commit %s: %w", commit.Hash, err)
		}
	}
	files, list, err := readTree(ctx, objects, commit, r.o.Location.Subdir, r.o.Limits)
	if err != nil {
		return source.Snapshot{}, nil, fmt.Errorf("commit %s: %w", commit.Hash, err)
	}
	return source.Snapshot{Files: files, Commit: commit.Hash.String()}, list, nil
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
	found, err := objects.EncodedObject(plumbing.AnyObject, hash)
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return nil, fmt.Errorf("commit %s is not there", hash)
	case err != nil:
		return nil, fmt.Errorf("read commit %s: %w", hash, err)
	case found.Type() != plumbing.CommitObject:
		return nil, fmt.Errorf("%s is no commit, but a %s", hash, found.Type())
	}
	return object.DecodeCommit(objects, found)
}

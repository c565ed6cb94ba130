// Package git reads documents from a git repository: the tree of the commit that a
// reference names, fetched from a server or read from the local file system. It returns the
// same snapshots as package source and must not interpret documents.
//
// # Design
//
// Every new commit is fetched by itself, without history, into a file without a name. Only to
// prove its descent are the commits since the last active one fetched as well. An
// interrupted fetch, a full disk, a killed process and a rewritten history leave nothing
// behind that could disturb a later fetch. A kept clone would transfer less, but has all
// these states to recover from; policies are small.
//
// go-git parses the protocol. It bounds neither sizes nor times, so this package does: a
// server that stalls, sends without end or sends a small pack that expands to gigabytes must
// not block the next fetch or exhaust memory or disk.
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// Defaults of Options.
const (
	defaultInterval = 30 * time.Second
	defaultStall    = 30 * time.Second
	defaultTimeout  = 10 * time.Minute
	defaultMaxFetch = 1 << 30
)

// Options describe a repository and how to reach it. Location is required.
type Options struct {
	Location source.GitLocation
	// Dir holds the fetched pack while it is read. Empty means the system's folder for
	// temporary files.
	Dir string
	// Interval is the time between two polls of the reference. Each wait varies by up to
	// 10%, so that replicas do not poll at once. Zero means 30 seconds.
	Interval time.Duration
	// Credentials returns the credentials for a location, nil for none. It is called
	// before every fetch, so that a renewed token is used. Nil stands for no credentials.
	Credentials func(source.GitLocation) (transport.AuthMethod, error)
	// CABundle returns PEM certificates to trust besides the system's. It is called before
	// every fetch. Nil stands for no certificates.
	CABundle func() ([]byte, error)
	// Keys, if not nil, must include the key that signed the commit.
	Keys *Keys
	// Base, if not nil, returns the commit that a new one must be or descend from, and
	// nothing for any. It is called for each Snapshot; its error is that of Snapshot.
	Base func() (string, error)
	// Limits bound the policy directory.
	Limits source.Limits
	// NoIgnore reads the files that ".writignore" and ".writ.yaml" leave out.
	NoIgnore bool
	// MaxFetch bounds the bytes of one commit, both transferred and unpacked. It applies to
	// the whole tree, not only to the policy directory. A single object may have an eighth
	// of it. Zero means 1 GiB.
	MaxFetch int64
	// Stall bounds how long a transfer may make no progress. Zero means 30 seconds.
	Stall time.Duration
	// Timeout bounds one Snapshot. Zero means 10 minutes.
	Timeout time.Duration
	// Logger records commits that were read. Nil discards.
	Logger *slog.Logger
	// After and Now are the clock. Nil stands for time.After and time.Now.
	After func(time.Duration) <-chan time.Time
	Now   func() time.Time
}

// Repository is a policy directory in a git repository, read as the tree of one commit. It
// is safe for concurrent use.
type Repository struct {
	o    Options
	poke chan struct{}

	mu      sync.Mutex // held through a whole fetch of Snapshot
	last    lastRead
	refused refusal

	connecting sync.Mutex      // held to read and write the fields below
	http       *http.Transport // reused between fetches, for its connections
	cas        []byte          // the additional certificates that http trusts
}

// lastRead is the result of the previous Snapshot.
type lastRead struct {
	isSet    bool
	ref      plumbing.Hash // of the reference: a commit or an annotated tag
	snapshot source.Snapshot
	list     diag.List
}

// refusal is a commit that does not descend from base. It is not fetched again.
type refusal struct {
	ref  plumbing.Hash
	base string
	err  error
}

// Open returns the repository at o.Location. It reads nothing yet.
func Open(o Options) *Repository {
	o.Interval = cmp.Or(max(o.Interval, 0), defaultInterval)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.After == nil {
		o.After = time.After
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.MaxFetch = cmp.Or(max(o.MaxFetch, 0), defaultMaxFetch)
	o.Stall = cmp.Or(max(o.Stall, 0), defaultStall)
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.Limits = o.Limits.WithDefaults()
	return &Repository{o: o, poke: make(chan struct{}, 1)}
}

// Poke makes Watch notify at once, for a webhook. It does not block.
func (r *Repository) Poke() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// Watch calls notify at each poll and after each poke, whether or not there is a new
// commit. It returns the error of ctx when ctx is done; notify must not block.
func (r *Repository) Watch(ctx context.Context, notify func()) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.poke:
		case <-r.o.After(r.nextInterval()):
		}
		notify()
	}
}

// nextInterval returns Interval, varied by up to 10%.
func (r *Repository) nextInterval() time.Duration {
	spread := int64(r.o.Interval / 5)
	if spread <= 0 {
		return r.o.Interval
	}
	return r.o.Interval - time.Duration(spread/2) + time.Duration(rand.Int64N(spread))
}

// Snapshot reads the tree of the commit that the reference names now. The commit that was
// read last is not fetched again. The list holds one error for each file that must not be
// read; these files are not in the snapshot. Snapshot returns an error if the server cannot
// be reached or refuses the credentials, the reference or the folder does not exist, no
// allowed key has signed the commit, it does not descend from Base, a limit is exceeded, or ctx
// ends.
func (r *Repository) Snapshot(ctx context.Context) (snapshot source.Snapshot, list diag.List, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.Timeout, errTimeout)
	defer cancel()
	defer r.settle(&snapshot, &list, &err)
	return r.read(ctx)
}

func (r *Repository) read(ctx context.Context) (source.Snapshot, diag.List, error) {
	remote, err := r.newRemote()
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	isPinned := plumbing.IsHash(r.o.Location.Ref)
	if isPinned && r.last.isSet {
		return r.last.snapshot, r.last.list, nil
	}
	hash, err := remote.resolve(ctx, r.o.Location.Ref)
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	if r.last.isSet && r.last.ref == hash {
		return r.last.snapshot, r.last.list, nil
	}
	base := ""
	if r.o.Base != nil {
		if base, err = r.o.Base(); err != nil {
			return source.Snapshot{}, nil, err
		}
	}
	if r.refused.err != nil && r.refused.ref == hash && r.refused.base == base {
		return source.Snapshot{}, nil, r.refused.err
	}
	snapshot, list, err := r.fetch(ctx, remote, hash, func(objects objectStore) (*object.Commit, error) {
		return r.verifiedCommit(ctx, remote, objects, hash, base)
	})
	if _, ok := errors.AsType[*DescentError](err); ok {
		r.refused = refusal{hash, base, err}
	}
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	r.last = lastRead{isSet: true, ref: hash, snapshot: snapshot, list: list}
	r.o.Logger.Info("commit read", "commit", snapshot.Commit, "files", len(snapshot.Files))
	return snapshot, list, nil
}

// fetch fetches a commit and reads its tree. verified returns the commit if its tree may be
// read.
func (r *Repository) fetch(
	ctx context.Context, remote remote, hash plumbing.Hash, verified func(objectStore) (*object.Commit, error),
) (source.Snapshot, diag.List, error) {
	var objects objectStore
	var release func()
	err := progress.Do(ctx, progress.Fetch, func(ctx context.Context) (err error) {
		objects, release, err = remote.objects(ctx, hash)
		return err
	})
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	defer release()
	commit, err := verified(objects)
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	snapshot, list, err := readTree(ctx, objects, commit, &r.o)
	if err != nil {
		return source.Snapshot{}, nil, fmt.Errorf("commit %s: %w", commit.Hash, err)
	}
	for i := range snapshot.Origins {
		snapshot.Origins[i].Commit = source.NewCommit(commit.Hash.String(), commit.Author.Name, commit.Author.When, commit.Message)
	}
	return snapshot, list, nil
}

// verifiedCommit verifies the signature and the descent of a commit.
func (r *Repository) verifiedCommit(
	ctx context.Context, remote remote, objects objectStore, hash plumbing.Hash, base string,
) (*object.Commit, error) {
	commit, err := readCommit(objects, hash)
	if err != nil {
		return nil, err
	}
	if r.o.Keys != nil {
		if err := r.o.Keys.verify(commit, r.o.Now()); err != nil {
			return nil, fmt.Errorf("commit %s: %w", commit.Hash, err)
		}
	}
	return commit, r.checkDescent(ctx, remote, commit, base)
}

// readCommit follows annotated tags to their commit.
func readCommit(objects objectStore, hash plumbing.Hash) (*object.Commit, error) {
	const maxTags = 10
	for range maxTags {
		tag, err := object.GetTag(objects, hash)
		if err != nil {
			break
		}
		hash = tag.Target
	}
	found, err := objects.EncodedObject(plumbing.AnyObject, hash)
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return nil, fmt.Errorf("commit %s not found", hash)
	case err != nil:
		return nil, fmt.Errorf("read commit %s: %w", hash, err)
	case found.Type() != plumbing.CommitObject:
		return nil, fmt.Errorf("%s is a %s, not a commit", hash, found.Type())
	}
	return object.DecodeCommit(objects, found)
}

package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/translator/diag"
)

// DefaultSettle and DefaultRescan suit a directory people edit and tools sync.
const (
	DefaultSettle = 200 * time.Millisecond
	DefaultRescan = 30 * time.Second
)

// ErrChanging says that the directory changed during every attempt to read it.
var ErrChanging = errors.New("it keeps changing while it is read")

// errChanged ends one attempt: what was listed is not what was read.
var errChanged = errors.New("changed while being read")

// DirOptions are the bounds and times of a Directory. The zero value has the
// default bounds, no settle time and the default rescan.
type DirOptions struct {
	Limits Limits
	// Settle is how long a directory must stay quiet before Watch notifies. Zero
	// notifies at once, as tests want.
	Settle time.Duration
	// Rescan is how often Watch notifies without any event, for file systems
	// that tell nothing. Zero means DefaultRescan, less than zero never.
	Rescan time.Duration
	// Logger hears of watches that could not be set. Nil: nobody does.
	Logger *slog.Logger
	// Now and After are the clock. Nil: the machine's.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// Directory is a policy directory: a plain folder or part of a git checkout. It
// is safe for concurrent use.
type Directory struct {
	path string
	o    DirOptions

	mu    sync.Mutex // held to read and replace cache
	cache map[string]cached

	onRead     func(path string)       // called by tests between listing and reading
	openEvents func() (*events, error) // where tests have their own events
}

// Dir is the directory at path. Nothing is read yet.
func Dir(path string, o DirOptions) *Directory {
	o.Limits = o.Limits.WithDefaults()
	if o.Rescan == 0 {
		o.Rescan = DefaultRescan
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	return &Directory{path: path, o: o}
}

// attempts bounds how often a directory that changes under the reader is read
// again; the waits between them add up to about a second.
const attempts = 8

// Snapshot reads the directory. The list holds what is wrong with files as such;
// a file it names as an error is not in the snapshot, so a caller must not go on
// to compile one with errors. The error is the world's: a directory that is not
// there, a file that cannot be read. A vanished directory is never an empty one.
func (d *Directory) Snapshot(ctx context.Context) (Snapshot, diag.List, error) {
	wait := 5 * time.Millisecond
	for range attempts {
		snapshot, list, err := d.attempt(ctx)
		if !errors.Is(err, errChanged) {
			return snapshot, list, err
		}
		if err := pause(ctx, wait); err != nil {
			return Snapshot{}, nil, err
		}
		wait *= 2
	}
	return Snapshot{}, nil, fmt.Errorf("read the policy directory: %w", ErrChanging)
}

func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (d *Directory) attempt(ctx context.Context) (Snapshot, diag.List, error) {
	before, err := d.list(ctx)
	if err != nil {
		return Snapshot{}, nil, err
	}
	defer before.close()
	files, err := d.readAll(ctx, before)
	if err != nil {
		return Snapshot{}, nil, err
	}
	// A file that came, went or moved since the listing would be missed by
	// looking at the listed ones alone.
	after, err := d.list(ctx)
	if err != nil {
		return Snapshot{}, nil, err
	}
	defer after.close()
	if !slices.Equal(before.entries, after.entries) {
		return Snapshot{}, nil, errChanged
	}
	return Snapshot{Files: files}, before.diagnostics, nil
}

// resolve finds the folder path stands for and the top of the checkout it is
// in, empty where it is in none.
func (d *Directory) resolve() (root, top string, err error) {
	root, err = filepath.Abs(d.path)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", "", fmt.Errorf("read the policy directory: %w", TrimPath(err))
	}
	info, err := os.Stat(root)
	if err != nil {
		return "", "", fmt.Errorf("read the policy directory: %w", TrimPath(err))
	}
	if !info.IsDir() {
		return "", "", errors.New("read the policy directory: not a directory")
	}
	return root, checkout(root), nil
}

// checkout is the nearest folder at or above dir that has a ".git": a folder, or
// a file in a linked worktree.
func checkout(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// within reports whether path is top or below it; both are clean and absolute.
func within(top, path string) bool {
	if top == path {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(top, string(filepath.Separator))+string(filepath.Separator))
}

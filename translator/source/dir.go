package source

import (
	"cmp"
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

// defaultRescan suits a directory on a file system without events.
const defaultRescan = 30 * time.Second

var (
	// errUnstable reports that the directory changed during every attempt to read it.
	errUnstable = errors.New("the directory keeps changing")
	// errSameLocation reports a source that is named twice.
	errSameLocation = errors.New("two of them are the same")
	// errChanged ends one attempt: the files that were read are not those that were listed.
	errChanged = errors.New("changed while being read")
)

// DirOptions are the limits and times of a Directory. The zero value has the default
// limits, no settle time and the default rescan interval.
type DirOptions struct {
	Limits Limits
	// Settle is how long a directory must stay quiet before Watch notifies. Zero notifies
	// at once, as tests want.
	Settle time.Duration
	// Rescan is how often Watch notifies without any event, for file systems that report
	// none. Zero means 30 seconds; a negative value disables it.
	Rescan time.Duration
	// NoIgnore reads the files that ".writignore" and ".writ.yaml" leave out.
	NoIgnore bool
	// Logger receives failures to watch folders. Nil discards them.
	Logger *slog.Logger
	// Now and After are the clock. Nil stands for time.Now and time.After.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// Directory is a policy directory: a plain folder or part of a git checkout. It is safe for
// concurrent use.
type Directory struct {
	path string
	o    DirOptions

	mu    sync.Mutex // held to read and replace cache
	cache map[string]cachedFile

	reading sync.Mutex    // held during one attempt to read the directory
	whole   *wholeReading // nil if the next attempt must list the directory
	seen    seen

	onList     func()                  // called before each listing; set by tests
	onRead     func(path string)       // called between listing and reading a file; set by tests
	openEvents func() (*events, error) // nil for fsnotify; set by tests
}

// Dir returns the directory at path. It reads nothing yet.
func Dir(path string, o DirOptions) *Directory {
	o.Limits = o.Limits.WithDefaults()
	o.Rescan = cmp.Or(o.Rescan, defaultRescan)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	return &Directory{path: path, o: o}
}

// maxAttempts bounds how often a changing directory is read; the pauses between the
// attempts add up to about a second.
const maxAttempts = 8

// Snapshot reads the directory. The list holds one error for each file that must not be
// read; these files are not in the snapshot, so a caller must not compile a snapshot whose
// list has errors. Snapshot returns an error if the directory does not exist, a file cannot
// be read, the directory changes during every attempt, or ctx ends. A missing directory is
// never read as an empty one.
func (d *Directory) Snapshot(ctx context.Context) (Snapshot, diag.List, error) {
	var snapshot Snapshot
	var list diag.List
	err := whileChanged(ctx, func() (err error) {
		d.reading.Lock()
		defer d.reading.Unlock()
		changed := d.seen.take()
		snapshot, list, err = d.readChanged(ctx, changed)
		if errors.Is(err, errWhole) {
			snapshot, list, err = d.readWhole(ctx, changed)
		}
		if err != nil {
			d.seen.putBack(changed)
		}
		return err
	})
	return snapshot, list, err
}

// whileChanged calls read until it does not return errChanged, and returns what it returns.
// It returns another error after maxAttempts, or if ctx ends.
func whileChanged(ctx context.Context, read func() error) error {
	for n := range maxAttempts {
		if err := read(); !errors.Is(err, errChanged) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond << n):
		}
	}
	return fmt.Errorf("read the policy directory: %w", errUnstable)
}

// readWhole lists the directory and reads what it has not read before. It returns errChanged
// if the directory changed during the attempt.
func (d *Directory) readWhole(ctx context.Context, c changes) (Snapshot, diag.List, error) {
	before, err := d.list(ctx)
	if err != nil {
		return Snapshot{}, nil, err
	}
	defer before.close()
	files, err := d.readAll(ctx, before)
	if err != nil {
		return Snapshot{}, nil, err
	}
	// Checking the listed files alone would miss a file that was added or moved since.
	after, err := d.list(ctx)
	if err != nil {
		return Snapshot{}, nil, err
	}
	defer after.close()
	if !slices.Equal(before.entries, after.entries) || !slices.Equal(before.controls, after.controls) {
		return Snapshot{}, nil, errChanged
	}
	d.keep(before, files, c)
	return d.snapshotOf(files, before.origin), before.diagnostics, nil
}

func (d *Directory) snapshotOf(files []File, origin Origin) Snapshot {
	aside := func(ctx context.Context, name string) (Snapshot, diag.List, error) {
		return ReadBelow(ctx, d.path, name, DirOptions{Limits: d.o.Limits, NoIgnore: d.o.NoIgnore})
	}
	return Snapshot{Files: files, Origins: []Origin{origin}, Aside: aside}
}

// resolve returns the folder that path stands for and the top of the checkout that contains
// it; top is empty outside of a checkout.
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
	return root, checkoutTop(root), nil
}

// checkoutTop returns the nearest folder at or above dir that has a ".git" entry: a folder,
// or a file in a linked worktree.
func checkoutTop(dir string) string {
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

// isWithin reports whether path is top or below it; both are clean and absolute.
func isWithin(top, path string) bool {
	if top == path {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(top, string(filepath.Separator))+string(filepath.Separator))
}

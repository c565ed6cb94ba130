package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxMarkWait bounds how long a mark is waited for: a snapshot taken by the watch itself would
// wait for ever.
const maxMarkWait = 100 * time.Millisecond

// mark is a folder that a watcher sees beside those of the directory. Events come in the order
// of the changes, so when a file made there is seen, every change before it was.
type mark struct {
	dir     string
	reached chan string // the files that were seen

	mu    sync.Mutex // held by one pass at a time
	count int
}

func newMark() (*mark, error) {
	// The name begins with a dot, so that it is not read where the policy directory is the
	// folder of temporary files.
	dir, err := os.MkdirTemp("", ".writ-watch-")
	if err != nil {
		return nil, err
	}
	return &mark{dir: dir, reached: make(chan string, 4)}, nil
}

// pass returns once the watch has seen every change that was made before the call, and an
// error if it does not in time.
func (m *mark) pass(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	file := filepath.Join(m.dir, strconv.Itoa(m.count))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	defer os.Remove(file)
	late := time.NewTimer(maxMarkWait)
	defer late.Stop()
	for {
		select {
		case seen := <-m.reached:
			if seen == file {
				return nil
			}
		case <-late.C:
			return errors.New("the watch is late")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// note reports whether an event is one of the mark.
func (m *mark) note(event fsnotify.Event) bool {
	if m == nil || filepath.Dir(event.Name) != m.dir && event.Name != m.dir {
		return false
	}
	if event.Has(fsnotify.Create) {
		select {
		case m.reached <- event.Name:
		default: // of passes that have ended
		}
	}
	return true
}

func (m *mark) remove() {
	if m != nil {
		os.RemoveAll(m.dir)
	}
}

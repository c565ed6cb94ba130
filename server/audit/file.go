package audit

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/metrics"
)

// file is a file that events are appended to.
type file struct {
	path    string
	log     *slog.Logger
	metrics *metrics.Metrics

	mu     sync.Mutex // held to write and to reopen
	open   *os.File
	failed bool // the last write failed, and the error was logged
}

func openFile(path string, log *slog.Logger, m *metrics.Metrics) (*file, error) {
	open, err := OpenAppend(path)
	if err != nil {
		return nil, fmt.Errorf("audit file: %w", err)
	}
	return &file{path: path, log: log, metrics: m, open: open}, nil
}

// OpenAppend opens a file that only its owner reads, to append to it.
func OpenAppend(path string) (*os.File, error) {
	// A pipe that nothing reads is an error: without O_NONBLOCK, to open it would wait.
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o600)
}

// append writes the events of one decision at once, so that the lines of concurrent
// decisions are not interleaved.
func (f *file) append(events []event) {
	lines := encode(events)
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.open.Write(lines)
	if err != nil {
		f.metrics.AuditDropped(metrics.AuditFile, len(events))
		if !f.failed {
			f.log.Error("audit events are not written", "error", err)
		}
	}
	f.failed = err != nil
}

// reopen opens the path again if the file was renamed or removed by log rotation.
func (f *file) reopen() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = Reopened(f.open, f.path)
}

// Reopened returns the file at a path if it is another one than the open file, which is
// closed then, and else the open file.
func Reopened(open *os.File, path string) *os.File {
	now, err := os.Stat(path)
	if err == nil {
		if current, err := open.Stat(); err == nil && os.SameFile(now, current) {
			return open
		}
	}
	next, err := OpenAppend(path)
	if err != nil {
		return open
	}
	_ = open.Close()
	return next
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open.Close()
}

// encode writes one event per line. Users read the file on terminals, so no character of
// a request acts on one.
func encode(events []event) []byte {
	var b []byte
	for i := range events {
		b = append(b, jsontext.Line(&events[i])...)
	}
	return jsontext.EscapeControls(b)
}

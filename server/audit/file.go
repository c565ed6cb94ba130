package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/writ-policy/writ/server/metrics"
)

// file is a file that events are appended to.
type file struct {
	path    string
	log     *slog.Logger
	metrics *metrics.Metrics

	mu     sync.Mutex // held to write and to reopen
	open   *os.File
	failed bool // the last write did, which was said
}

func openFile(path string, log *slog.Logger, m *metrics.Metrics) (*file, error) {
	open, err := openAppend(path)
	if err != nil {
		return nil, fmt.Errorf("audit file: %w", err)
	}
	return &file{path: path, log: log, metrics: m, open: open}, nil
}

func openAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// append writes the events of one decision at once, so that lines of two never
// mix.
func (f *file) append(events []Event) {
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

// reopen follows a file that was moved away, as those do who rotate it.
func (f *file) reopen() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := os.Stat(f.path)
	if err == nil {
		if held, err := f.open.Stat(); err == nil && os.SameFile(now, held) {
			return
		}
	}
	next, err := openAppend(f.path)
	if err != nil {
		return // what is open takes the events on
	}
	_ = f.open.Close()
	f.open = next
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open.Close()
}

// encode writes one event a line.
func encode(events []Event) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	for i := range events {
		_ = encoder.Encode(&events[i]) // strings, numbers and a time: nothing can fail
	}
	return b.Bytes()
}

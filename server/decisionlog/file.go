package decisionlog

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins/logs"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/audit"
)

// filePlugin is the name of the file among OPA's plugins.
const filePlugin = "writ_decision_log_file"

// file is a file that events are appended to, after they are masked.
type file struct {
	mu   sync.Mutex // held to write and to reopen
	path string
	open *os.File
	// isTorn states that the last line is a part of an event.
	isTorn bool
}

func openFile(path string) (*file, error) {
	open, err := audit.OpenAppend(path)
	if err != nil {
		return nil, err
	}
	return &file{path: path, open: open}, nil
}

// Log implements logs.Logger: it appends an event as a line.
func (f *file) Log(_ context.Context, event logs.EventV1) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(event); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.open.SetWriteDeadline(time.Now().Add(lastUpload)) // of a pipe; a file has none
	text := jsontext.EscapeControls(line.Bytes())
	if f.isTorn { // the next event begins a line of its own
		text = append([]byte("\n"), text...)
	}
	n, err := f.open.Write(text)
	f.isTorn = err != nil && (n > 0 || f.isTorn)
	return err
}

// Start implements plugins.Plugin.
func (*file) Start(context.Context) error { return nil }

// Stop implements plugins.Plugin.
func (*file) Stop(context.Context) {}

// Reconfigure implements plugins.Plugin.
func (*file) Reconfigure(context.Context, any) {}

func (f *file) reopen() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = audit.Reopened(f.open, f.path)
}

func (f *file) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.open.Close()
}

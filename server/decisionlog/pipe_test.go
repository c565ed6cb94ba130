package decisionlog

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins/logs"

	"github.com/writ-policy/writ/server/metrics"
)

// A pipe that nothing reads is an error at the start, and one whose reader stops loses
// decisions: neither the callers nor the end of the process wait for it.
func TestPipeWithoutAReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	o := Options{File: path, Metrics: metrics.New(), Logger: slog.New(slog.DiscardHandler)}
	if _, err := Open(o); err == nil {
		t.Fatal("a pipe without a reader is opened")
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	r := run(t, Options{File: path})
	began := time.Now()
	for range 1000 { // more than a pipe holds
		r.Log.Log(event("alice"))
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("a thousand decisions waited %v", took)
	}
	r.stop()
	if took := time.Since(began); took > 4*lastUpload {
		t.Errorf("the end waited %v", took)
	}
	if got := r.lost(t); !strings.Contains(got, "sink") {
		t.Errorf("lost: got %q, want some by the sink", got)
	}
}

// A line that was written in part is ended before the next one.
func TestTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	f, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f.isTorn = true
	for range 2 {
		if err := f.Log(t.Context(), logs.EventV1{DecisionID: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if lines := strings.Split(string(text), "\n"); err != nil || len(lines) != 4 || lines[0] != "" || lines[1] != lines[2] {
		t.Errorf("got %q, %v", text, err)
	}
}

// A full device loses decisions, counts each, and is stated once.
func TestFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	var log bytes.Buffer
	r := run(t, Options{File: "/dev/full", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 50 {
		r.Log.Log(event("alice"))
	}
	r.stop()
	if got := r.lost(t); got != `sink"} 50` {
		t.Errorf("lost: got %q, want 50 by the sink", got)
	}
	if got := strings.Count(log.String(), "not logged"); got != 1 {
		t.Errorf("the log states it %d times: %s", got, log.String())
	}
}

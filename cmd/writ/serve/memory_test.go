package serve

import (
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"
)

func TestMemoryLimitOfEnvironmentTakesPrecedence(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "3GiB")
	before := debug.SetMemoryLimit(-1)
	var log strings.Builder
	limitMemory(slog.New(slog.NewTextHandler(&log, nil)))
	if after := debug.SetMemoryLimit(-1); after != before {
		t.Errorf("got limit %d, want %d: Go itself reads the variable", after, before)
	}
	if !strings.Contains(log.String(), "from=GOMEMLIMIT limit=3GiB") {
		t.Errorf("got log %q, want the limit and where it is from", log.String())
	}
}

func TestMemoryLimitIsLogged(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	var log strings.Builder
	limitMemory(slog.New(slog.NewTextHandler(&log, nil)))
	if !strings.Contains(log.String(), "memory limit") {
		t.Errorf("got log %q, want the limit or its absence", log.String())
	}
}

package server

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
)

func TestOpenStateDirectory(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o700: false, 0o770: false, 0o755: false, 0o777: true, 0o777 | os.ModeSticky: true} {
		var log bytes.Buffer
		c := Defaults()
		c.Policies, c.StateDir = []string{t.TempDir()}, t.TempDir()
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		if err := os.Chmod(c.StateDir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := New(c); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "state directory"); got != want {
			t.Errorf("%v: warned %v, want %v", mode, got, want)
		}
	}
}

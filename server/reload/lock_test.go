//go:build unix

package reload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// otherDir names the directory of another process, which runs this test alone.
const otherDir = "WRIT_TEST_STATE_DIR"

// Two servers do not write to one state directory: the second decides, and writes when the first has
// ended, also when that was killed.
func TestOneServerWritesTheState(t *testing.T) {
	if dir := os.Getenv(otherDir); dir != "" {
		r, _, _ := newReloader(newDocuments("other"), func(o *Options) { o.StateDir = dir })
		fmt.Println("loaded", r.Load(context.Background()), r.Status().StateError)
		select {} // until it is killed
	}
	dir := t.TempDir()
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneServerWritesTheState$")
	other.Env = append(os.Environ(), otherDir+"="+dir)
	out, err := other.StdoutPipe()
	check(t, err)
	check(t, other.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	check(t, err)
	wantText(t, "the other process", line, "loaded <nil> \n")
	before, err := os.ReadFile(filepath.Join(dir, stateFile))
	check(t, err)

	var log strings.Builder
	r, _, _ := newReloader(newDocuments("a"), func(o *Options) {
		o.StateDir, o.Logger = dir, slog.New(slog.NewTextHandler(&log, nil))
	})
	for range 3 {
		check(t, r.Load(context.Background()))
		wantSays(t, r, "a")
	}
	want := fmt.Sprint("another server writes to the state directory: process ", other.Process.Pid)
	wantText(t, "state error", strings.TrimPrefix(r.Status().StateError, "keep revision "+r.Revision()+": "), want)
	if n := strings.Count(log.String(), "directory="+dir); n != 1 {
		t.Errorf("the directory is logged %d times, want once:\n%s", n, log.String())
	}
	for _, revision := range []string{r.Revision(), ""} {
		if err := r.state.pin(revision); !errors.As(err, new(inUse)) {
			t.Errorf("pin %q: got %v, want that the directory is in use", revision, err)
		}
	}
	r.state.unpinned = ""
	after, err := os.ReadFile(filepath.Join(dir, stateFile))
	check(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the second server has replaced the stored bundle")
	}

	check(t, other.Process.Kill())
	_ = other.Wait()
	check(t, r.Reload(context.Background()))
	wantText(t, "state error", r.Status().StateError, "")
	wantSays(t, r, "a")
	if !strings.Contains(log.String(), "the last good revision is stored again") {
		t.Errorf("got the log\n%s", log.String())
	}
}

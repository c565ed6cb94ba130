package console

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/process"
)

// The commands that `make run` suggests work when they are typed.
func TestMakeRunSuggestsWhatWorks(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	bin := t.TempDir()
	process.Writ(t) // reads what `make run` builds from, for the test cache
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "curl")); err != nil {
		t.Fatal(err)
	}
	address := process.FreeAddress(t)
	run := exec.CommandContext(t.Context(), "make", "run", "LISTEN="+address, "PROGRAM="+filepath.Join(bin, "writ")) // a change of bin would end the validity of cached results
	run.Dir = "../.."
	run.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "GIT_OPTIONAL_LOCKS=0")
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL)
		_ = run.Wait()
	}()
	var tries []string
	for lines := bufio.NewScanner(out); len(tries) < 2 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "curl ") {
			tries = append(tries, lines.Text())
		}
	}
	if len(tries) != 2 {
		t.Fatalf("got %d lines to try, want 2", len(tries))
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	waitUntilReady(t, "http://"+address+"/readyz")
	for i, want := range []string{`"denied":true,"reason":"denied by RoleBinding hammer/FatFingeredEditors`, `"status":{"allowed":true`} {
		shell := exec.CommandContext(t.Context(), "sh", "-c", tries[i])
		shell.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		got, err := shell.CombinedOutput()
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s\ngot %s (%v), want %s in it", tries[i], got, err, want)
		}
	}
}

func waitUntilReady(t *testing.T, url string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		response, err := http.Get(url)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-deadline:
			t.Fatalf("%s: not ready after a minute: %v", url, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// process is a running writ. The test binary is on the path under that name.
type process struct {
	*exec.Cmd
	in          io.WriteCloser
	stdout      io.Closer
	out, errors *bufio.Reader
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), "writ", args...)}
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errors, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = out
	p.in, p.out, p.errors = in, bufio.NewReader(out), bufio.NewReader(errors)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func policies(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rbac.yaml"), []byte(oneRole), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

const evenGets = `{"user":"even","verb":"get","resource":"pods"}` + "\n"

// A person asks, reads the answer, and presses ctrl-C.
func TestInterruptEndsEval(t *testing.T) {
	p := start(t, "eval", "--policies", policies(t))
	if _, err := io.WriteString(p.in, evenGets); err != nil {
		t.Fatal(err)
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(answer, `{"allowed":true,`) {
		t.Errorf("got %s, want it allowed", answer)
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(p.errors)
	_ = p.Wait()
	if got := p.ProcessState.ExitCode(); got != exitInterrupted+int(syscall.SIGINT) {
		t.Errorf("got exit status %d, want %d", got, exitInterrupted+int(syscall.SIGINT))
	}
	if len(said) > 0 {
		t.Errorf("got %q on standard error, want nothing", said)
	}
}

// `writ eval | head -1`: the reader goes, and so does writ, without a word.
func TestClosedPipeEndsEval(t *testing.T) {
	p := start(t, "eval", "--policies", policies(t))
	go func() {
		for {
			if _, err := io.WriteString(p.in, evenGets); err != nil {
				return
			}
		}
	}()
	if _, err := p.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := p.stdout.Close(); err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(p.errors)
	_ = p.Wait()
	status, ok := p.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGPIPE {
		t.Errorf("got %v, want an end by SIGPIPE", p.ProcessState)
	}
	if len(said) > 0 {
		t.Errorf("got %q on standard error, want nothing", said)
	}
}

// listening waits until a server serves a revision, and returns its scheme and host.
func (p *process) listening(t *testing.T) (base string) {
	t.Helper()
	address := regexp.MustCompile(`msg=listening address=(\S+)`)
	for ready := false; !ready; {
		line, err := p.errors.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if found := address.FindStringSubmatch(line); found != nil {
			base = "http://" + found[1]
		}
		ready = base != "" && strings.Contains(line, "revision=")
	}
	return base
}

// serve logs its address, answers requests, and exits with status 0 on a signal.
func TestServeAnswersAndStops(t *testing.T) {
	p := start(t, "serve", "--policies", policies(t), "--listen", "127.0.0.1:0", "--drain", "0s")
	base := p.listening(t)
	response, err := http.Post(base+"/v1/decisions/access", "application/json", strings.NewReader(evenGets))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(body, []byte(`{"allowed":true,`)) {
		t.Errorf("got %s, want it allowed", body)
	}
	if response.Header.Get("Writ-Revision") == "" {
		t.Error("the answer does not say which revision it is of")
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, p.errors)
	if err := p.Wait(); err != nil {
		t.Errorf("got %v, want an exit status of 0", err)
	}
}

// A hangup does not end a server: it looks for new documents.
func TestServeReadsAgainOnHangup(t *testing.T) {
	p := start(t, "serve", "--policies", policies(t), "--listen", "127.0.0.1:0", "--drain", "0s")
	base := p.listening(t)
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for line := ""; !strings.Contains(line, "looking for new documents"); {
		var err error
		if line, err = p.errors.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	response, err := http.Get(base + "/readyz")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got %v, %v", response, err)
	}
	response.Body.Close()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, p.errors)
	if err := p.Wait(); err != nil {
		t.Errorf("got %v, want an exit status of 0", err)
	}
}

package editor

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/process"
)

// maxMemory is what a server may hold of a small directory, whatever it is sent.
const maxMemory = 700 << 20

// ended runs a server with input until it ends, and returns its exit status, what it writes
// to standard error, and the memory that it held.
func ended(t *testing.T, send func(in io.Writer)) (status int, stderr string, memory int64) {
	t.Helper()
	command := exec.CommandContext(t.Context(), process.Writ(t), "lsp") //nolint:gosec // the command that is tested
	command.Dir = t.TempDir()
	var out bytes.Buffer
	command.Stderr = &out
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	send(in) // fails once the server has ended
	stop := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	_ = command.Wait()
	stop.Stop()
	usage := command.ProcessState.SysUsage().(*syscall.Rusage)
	return command.ProcessState.ExitCode(), out.String(), usage.Maxrss << 10
}

// A stream that cannot be read on ends the server with an error, and takes no memory.
func TestHostileStreams(t *testing.T) {
	t.Parallel()
	endless := strings.Repeat("x", 1<<20)
	const exit = `{"jsonrpc":"2.0","method":"exit"}`
	for name, send := range map[string]func(in io.Writer){
		"a negative length":        func(in io.Writer) { fmt.Fprint(in, "Content-Length: -1\r\n\r\n{}") },
		"a length beyond numbers":  func(in io.Writer) { fmt.Fprint(in, "Content-Length: 99999999999999999999\r\n\r\n{}") },
		"a length beyond memory":   func(in io.Writer) { fmt.Fprint(in, "Content-Length: 9999999999\r\n\r\n{}") },
		"a length that is a word":  func(in io.Writer) { fmt.Fprint(in, "Content-Length: long\r\n\r\n{}") },
		"no length":                func(in io.Writer) { fmt.Fprint(in, "\r\n\r\n") },
		"a header without an end":  func(in io.Writer) { repeat(in, endless, 1<<10) },
		"headers without an end":   func(in io.Writer) { repeat(in, "X: y\r\n", 1<<24) },
		"the request exit, twice":  func(in io.Writer) { repeat(in, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(exit), exit), 2) },
		"a body that does not end": func(in io.Writer) { fmt.Fprint(in, "Content-Length: 100\r\n\r\n{"); in.(io.Closer).Close() },
	} {
		status, stderr, memory := ended(t, send)
		if status != 1 && status != 2 || strings.Contains(stderr, "goroutine ") || memory > maxMemory {
			t.Errorf("%s: exit status %d, %d MiB, %s", name, status, memory>>20, stderr)
		}
		if len(stderr) > 1<<10 {
			t.Errorf("%s: standard error has %d bytes", name, len(stderr))
		}
	}
}

// repeat writes a text so often, or until the reader is gone.
func repeat(in io.Writer, text string, count int) {
	for range count {
		if _, err := io.WriteString(in, text); err != nil {
			return
		}
	}
}

// Messages that no editor sends are answered or ignored, and the session goes on.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	c := begin(t, map[string]string{"role.yaml": role, "bind.yaml": binding})
	if m := c.response(c.request("textDocument/hover", c.place("bind.yaml", 0, 0))); m.Error == nil || m.Error.Code != -32002 {
		t.Errorf("a request before initialize: got %+v", m)
	}
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": c.uri("role.yaml"), "text": "{"}})
	c.notify("$/cancelRequest", map[string]any{"id": 1})
	c.initialize()
	c.open("role.yaml", role)
	deep := strings.Repeat(`{"a":[`, 200_000)
	for _, body := range []string{
		"", "null", "[]", "{}", `{"jsonrpc":"2.0"}`, `"x"`, "\x00\xff", deep, strings.Repeat("[", 5_000_000),
		`{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":` + deep + `}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":[1]}`, `{"jsonrpc":"2.0","method":"textDocument/didChange"}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":[]}}`, `{"jsonrpc":"2.0","method":"initialized","params":7}`,
	} {
		c.raw(body)
	}
	outside := []string{"file:///etc/passwd", "file:///../../etc/passwd", c.uri("../outside.yaml"), "file://", "file://host/a", "untitled:1", "http://x/role.yaml", "%", c.uri("a") + "/../../../../../../etc/passwd"}
	for _, uri := range outside {
		c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "version": 1, "text": "kind: Role"}})
		c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri}, "contentChanges": []any{map[string]any{"text": "x"}}})
	}
	for _, method := range []string{"hover", "definition", "references", "completion", "codeAction", "documentSymbol", "absent"} {
		for _, at := range [][2]int{{-1, -1}, {1 << 30, 1 << 30}, {0, 1 << 30}, {2, -5}, {1 << 30, 0}} {
			c.request("textDocument/"+method, c.place("role.yaml", at[0], at[1]))
		}
		for _, uri := range outside {
			if m := c.response(c.request("textDocument/"+method, map[string]any{"textDocument": map[string]any{"uri": uri}})); len(m.Result) > 0 && string(m.Result) != "null" {
				t.Errorf("%s of %s: got %s", method, uri, m.Result)
			}
		}
	}
	for i := range 20_000 {
		c.notify("$/cancelRequest", map[string]any{"id": i + 1_000_000})
	}
	c.change("role.yaml", -1, -7, 1<<30, "")
	c.change("role.yaml", 1<<30, 5, -3, "")
	c.open("role.yaml", role)
	if got := string(c.ask("textDocument/documentSymbol", c.place("role.yaml", 0, 0))); !strings.Contains(got, "reader") {
		t.Errorf("the session does not go on: %s", got)
	}
}

// More requests than are answered at a time are refused with an error, and each has an
// answer; large documents are read within bounds.
func TestFloods(t *testing.T) {
	t.Parallel()
	c := begin(t, map[string]string{"role.yaml": role})
	c.initialize()
	c.open("role.yaml", role)
	const flood = 5_000
	for i := range flood {
		if i%50 == 0 { // each waits for the next analysis
			c.change("role.yaml", 0, 0, 0, "#\n")
		}
		c.request("textDocument/hover", c.place("role.yaml", 2, 20))
	}
	answered := 0
	c.next("the last answer", func(m message) bool {
		if m.Method == "" {
			answered++
		}
		return answered == flood
	})
	began := time.Now()
	c.open("large.yaml", role+"# "+strings.Repeat("\n# a line\n---\n", 500_000))
	c.ask("textDocument/documentSymbol", c.place("large.yaml", 0, 0))
	t.Logf("a document of a million lines took %v", time.Since(began))
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri("large.yaml")}})
	c.open("role.yaml", role)
	if got := string(c.ask("textDocument/documentSymbol", c.place("role.yaml", 0, 0))); !strings.Contains(got, "reader") {
		t.Errorf("the session does not go on: %s", got)
	}
	c.notify("exit", nil)
	_ = c.command.Wait()
	if memory := c.command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; memory > 2*maxMemory {
		t.Errorf("the server held %d MiB", memory>>20)
	} else {
		t.Logf("the server held %d MiB", memory>>20)
	}
}

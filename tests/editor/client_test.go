// Package editor drives the built command as an editor does, by the Language Server
// Protocol on standard input and output.
package editor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/process"
)

// patience is how long a test waits for a message, on a machine that is busy with others.
const patience = 2 * time.Minute

// client is an editor.
type client struct {
	t        *testing.T
	dir      string
	command  *exec.Cmd
	in       io.WriteCloser
	messages chan message
	id       int
	version  int
}

type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
	} `json:"error"`
}

// begin starts the server of a directory.
func begin(t *testing.T, files map[string]string, args ...string) *client {
	t.Helper()
	c := &client{t: t, dir: t.TempDir(), messages: make(chan message, 1<<16)}
	for name, text := range files {
		file := filepath.Join(c.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	c.command = exec.Command(process.Writ(t), append([]string{"lsp"}, args...)...) //nolint:gosec,noctx // it ends by itself when its input does
	c.command.Stderr = os.Stderr
	var err error
	if c.in, err = c.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	go c.read(bufio.NewReader(out))
	t.Cleanup(func() {
		c.in.Close()
		_ = c.command.Wait()
	})
	return c
}

// read receives messages until the end.
func (c *client) read(out *bufio.Reader) {
	defer close(c.messages)
	for {
		length := 0
		for {
			line, err := out.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				length, _ = strconv.Atoi(value)
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(out, body); err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			m.Method = "not JSON: " + string(body)
		}
		c.messages <- m
	}
}

// next returns the next message that want accepts; others are dropped.
func (c *client) next(what string, want func(message) bool) message {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case m, ok := <-c.messages:
			if !ok {
				c.t.Fatalf("the server ended before %s", what)
			}
			if want(m) {
				return m
			}
		case <-timeout:
			c.t.Fatalf("no %s in %v", what, patience)
		}
	}
}

// raw sends a message as it is.
func (c *client) raw(body string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	c.raw(text(c.t, map[string]any{"jsonrpc": "2.0", "method": method, "params": params}))
}

// request sends a request and returns its identifier.
func (c *client) request(method string, params any) int {
	c.t.Helper()
	c.id++
	c.raw(text(c.t, map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params}))
	return c.id
}

// response waits for that of a request.
func (c *client) response(id int) message {
	c.t.Helper()
	return c.next(fmt.Sprintf("response %d", id), func(m message) bool { return m.Method == "" && m.ID == float64(id) })
}

// ask sends a request and returns its result.
func (c *client) ask(method string, params any) json.RawMessage {
	c.t.Helper()
	m := c.response(c.request(method, params))
	if m.Error != nil {
		c.t.Fatalf("%s: error %d: %s", method, m.Error.Code, m.Error.Message)
	}
	return m.Result
}

func (c *client) initialize() json.RawMessage {
	c.t.Helper()
	result := c.ask("initialize", map[string]any{"processId": nil, "rootUri": c.uri("."), "capabilities": map[string]any{}})
	c.notify("initialized", map[string]any{})
	return result
}

func (c *client) uri(name string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(c.dir, name))}).String()
}

func (c *client) open(name, content string) {
	c.t.Helper()
	c.version++
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": c.uri(name), "languageId": "yaml", "version": c.version, "text": content,
	}})
}

// change replaces a part of a line.
func (c *client) change(name string, line, from, to int, with string) {
	c.t.Helper()
	c.version++
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": c.uri(name), "version": c.version},
		"contentChanges": []any{map[string]any{"range": between(line, from, to), "text": with}},
	})
}

func between(line, from, to int) map[string]any {
	return map[string]any{
		"start": map[string]any{"line": line, "character": from}, "end": map[string]any{"line": line, "character": to},
	}
}

func (c *client) place(name string, line, character int) map[string]any {
	return map[string]any{
		"textDocument": map[string]any{"uri": c.uri(name)},
		"position":     map[string]any{"line": line, "character": character},
		"context":      map[string]any{"includeDeclaration": true},
	}
}

type published struct {
	URI         string
	Version     int
	Diagnostics []struct {
		Range    json.RawMessage
		Severity int
		Code     string
		Message  string
	}
}

// codes waits until the codes of the diagnostics of a file are these.
func (c *client) codes(name, want string) published {
	c.t.Helper()
	last := "none"
	var p published
	c.next("diagnostics "+want+" of "+name, func(m message) bool {
		if m.Method != "textDocument/publishDiagnostics" {
			return false
		}
		p = published{}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			c.t.Fatal(err)
		}
		if p.URI != c.uri(name) {
			return false
		}
		codes := make([]string, len(p.Diagnostics))
		for i, d := range p.Diagnostics {
			codes[i] = d.Code
		}
		last = strings.Join(codes, ",")
		return last == want
	})
	return p
}

// end waits for the end of the process and returns its exit status.
func (c *client) end() int {
	c.t.Helper()
	for range c.messages {
	}
	var failed *exec.ExitError
	if err := c.command.Wait(); errors.As(err, &failed) {
		return failed.ExitCode()
	} else if err != nil {
		c.t.Fatal(err)
	}
	return 0
}

func text(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

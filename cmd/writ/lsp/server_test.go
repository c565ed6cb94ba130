package lsp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
	"github.com/writ-policy/writ/translator/source"
)

// A request that waits for an analysis ends when it is cancelled.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := &server{
		ctx: t.Context(), phase: ready, dir: "/d", edits: 1,
		analysed: make(chan struct{}), running: make(map[jsonrpc2.ID]context.CancelFunc),
		slots: make(chan struct{}, 1),
	}
	near, far := net.Pipe()
	server := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(far, codec{}), s)
	defer server.Close()
	client := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(near, codec{}), nil)
	defer client.Close()
	id := jsonrpc2.ID{Num: 7}
	call, err := client.DispatchCall(t.Context(), "textDocument/hover", placeParams{TextDocument: documentID{URI: "file:///d/a.yaml"}}, jsonrpc2.PickID(id))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Notify(t.Context(), "$/cancelRequest", map[string]any{"id": id}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var failed *jsonrpc2.Error
	if err := call.Wait(ctx, nil); !errors.As(err, &failed) || failed.Code != codeCancelled {
		t.Errorf("got %v, want error %d", err, codeCancelled)
	}
}

// Open documents beyond the bound keep the text that is stored, and so does one that grows
// beyond it.
func TestOpenDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	s := &server{
		ctx: t.Context(), dir: "/d", wake: make(chan struct{}, 1), open: make(map[string]*document),
		workspace: editor.Open(t.TempDir(), translator.Options{}, source.DirOptions{}),
	}
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, near) }() // what is logged
	c := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(far, codec{}), s)
	defer c.Close()
	s.edit(c, "a.yaml", documentID{}, "kind: Role")
	s.open["b.yaml"] = &document{size: maxOpen - 20}
	s.edit(c, "c.yaml", documentID{}, "kind: Role")
	if _, isOpen := s.workspace.Text("c.yaml"); !isOpen {
		t.Error("a document within the bound is not open")
	}
	s.edit(c, "a.yaml", documentID{}, "kind: RoleBinding")
	if _, isOpen := s.workspace.Text("a.yaml"); isOpen || s.open["a.yaml"] != nil {
		t.Error("a document beyond the bound is open")
	}
	s.edit(c, "a.yaml", documentID{}, "kind: Role")
	if text, _ := s.workspace.Text("a.yaml"); text != "kind: Role" {
		t.Errorf("a document within the bound again has the text %q", text)
	}
}

// Positions of diagnostics are runes from 1, those of the protocol UTF-16 units from 0.
func TestPositions(t *testing.T) {
	t.Parallel()
	l := linesOf("kind: Role\r\nname: \"𝒜é\" # ok\n")
	for _, row := range []struct {
		name   string
		line   int
		column int // in runes, from 1
		want   position
	}{
		{"the first character", 1, 1, position{0, 0}},
		{"before two units", 2, 8, position{1, 7}},
		{"after two units", 2, 9, position{1, 9}},
		{"after one unit", 2, 10, position{1, 10}},
		{"the end of a line with CRLF", 1, 11, position{0, 10}},
		{"beyond the end of a line", 1, 99, position{0, 10}},
		{"beyond the end of the text", 9, 9, position{8, 0}},
		{"no position", 0, 0, position{0, 0}},
	} {
		if got := l.position(diag.Position{Line: row.line, Column: row.column}); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
	for _, text := range []string{"a: 1\rb: 2\r\rc: é", "a: 1\r\nb: 2\n\rc: é"} { // as YAML and diagnostics count lines
		if got := linesOf(text); !slices.Equal(got, lines{"a: 1", "b: 2", "", "c: é"}) {
			t.Errorf("%q: got the lines %q", text, got)
		}
	}
	if got := l.runes(position{1, 9}); got != 8 {
		t.Errorf("got %d runes before the position, want 8", got)
	}
	if got := l.runes(position{1, 8}); got != 7 {
		t.Errorf("within a character: got %d runes, want 7", got)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	const text = "a𝒜b\ncd\n"
	at := func(line, character, endLine, endCharacter int) *span {
		return &span{position{line, character}, position{endLine, endCharacter}}
	}
	for _, row := range []struct {
		name  string
		where *span
		want  string
	}{
		{"all", nil, "X"},
		{"a character of two units", at(0, 1, 0, 3), "aXb\ncd\n"},
		{"within a character", at(0, 2, 0, 3), "aXb\ncd\n"},
		{"a line end", at(0, 4, 1, 0), "a𝒜bXcd\n"},
		{"beyond the end of a line", at(0, 99, 0, 99), "a𝒜bX\ncd\n"},
		{"beyond the end of the text", at(9, 0, 9, 9), "a𝒜b\ncd\nX"},
		{"an end before the start", at(1, 1, 0, 0), "a𝒜b\ncXd\n"},
		{"negative", at(-1, -1, -1, -1), "Xa𝒜b\ncd\n"},
	} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			text, want := strings.ReplaceAll(text, "\n", end), strings.ReplaceAll(row.want, "\n", end)
			if got := replace(text, contentChange{row.where, "X"}); got != want {
				t.Errorf("%s: got %q, want %q", row.name, got, want)
			}
		}
	}
}

func TestReadObject(t *testing.T) {
	t.Parallel()
	endless := bufio.NewReader(io.MultiReader(strings.NewReader(strings.Repeat("x", 2*maxHeader)), strings.NewReader("\r\n\r\n")))
	if err := (codec{}).ReadObject(endless, new(any)); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a header without an end: got %v", err)
	}
	in := bufio.NewReader(strings.NewReader("content-length: 2\r\nContent-Type: x\r\n\r\n{}Content-Length: 1\r\n\r\n{Content-Length: 3\r\n\r\n{}"))
	for i, want := range []error{nil, errMalformed, io.ErrUnexpectedEOF} {
		var value map[string]any
		if err := (codec{}).ReadObject(in, &value); !errors.Is(err, want) {
			t.Errorf("message %d: got %v, want %v", i, err, want)
		}
	}
}

func TestURI(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/a b/ü#1.yaml": "file:///a%20b/%C3%BC%231.yaml", "/a": "file:///a"} {
		if got := uriOf(path); got != want || pathOf(got) != path {
			t.Errorf("got %s and %s, want %s and %s", got, pathOf(got), want, path)
		}
	}
	if got := pathOf("untitled:Untitled-1"); got != "" {
		t.Errorf("got %q for a document that is not a file", got)
	}
}

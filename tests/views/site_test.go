// Package views compares what the views of the web console show with the JSON of its
// endpoints, of a running server.
package views

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/writ-policy/writ/server"
)

// patience is how long a test waits for a server on a busy machine.
const patience = time.Minute

// site is a server with a copy of the examples.
type site struct {
	*testing.T
	base, dir string
}

func newSite(t *testing.T) *site {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/policies")); err != nil {
		t.Fatal(err)
	}
	return serve(t, dir)
}

// serve is a server with the documents of a folder.
func serve(t *testing.T, dir string) *site {
	t.Helper()
	s := &site{T: t, dir: dir}
	listening := make(chan net.Addr, 1)
	c := server.Defaults()
	c.Policies, c.Listen, c.Settle = []string{s.dir}, "127.0.0.1:0", 0
	c.Timeouts.Drain, c.Timeouts.Grace = 0, time.Second
	c.Listening = func(a net.Addr) { listening <- a }
	running, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-listening:
		s.base = "http://" + a.String()
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	s.until("/readyz", func(status int, _ []byte) bool { return status == http.StatusOK })
	return s
}

// until asks a path again until its answer is as wanted, and returns it.
func (s *site) until(path string, want func(status int, body []byte) bool) []byte {
	s.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		status, body := s.get(path)
		if want(status, body) {
			return body
		}
		if time.Now().After(end) {
			s.Fatalf("%s: got %d %.300s", path, status, body)
		}
	}
}

func (s *site) get(path string) (status int, body []byte) {
	s.Helper()
	answer, err := http.Get(s.base + path)
	if err != nil {
		s.Fatal(err)
	}
	return s.read(answer)
}

func (s *site) read(answer *http.Response) (status int, body []byte) {
	s.Helper()
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer.StatusCode, body
}

// answer reads the JSON of an endpoint.
func answer[T any](s *site, path string) (value T) {
	s.Helper()
	// A place of the console may be taken, or a comparison not be ready.
	body := s.until(path, func(status int, _ []byte) bool { return status == http.StatusOK })
	if err := json.Unmarshal(body, &value); err != nil {
		s.Fatalf("%s: %v in %.300s", path, err, body)
	}
	return value
}

// ask posts a request to an endpoint.
func ask[T any](s *site, path, request string) (value T) {
	s.Helper()
	posted, err := http.Post(s.base+path, "application/json", strings.NewReader(request))
	if err != nil {
		s.Fatal(err)
	}
	status, body := s.read(posted)
	if status != http.StatusOK {
		s.Fatalf("%s: got %d %s", path, status, body)
	}
	if err := json.Unmarshal(body, &value); err != nil {
		s.Fatal(err)
	}
	return value
}

// edit replaces a text in a document, and waits for another revision.
func (s *site) edit(file, old, replacement string) {
	s.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(file)))
	if err != nil || !bytes.Contains(content, []byte(old)) {
		s.Fatalf("%s does not contain %q: %v", file, old, err)
	}
	s.write(file, bytes.ReplaceAll(content, []byte(old), []byte(replacement)))
}

// write writes a document, and waits for another revision.
func (s *site) write(file string, content []byte) {
	s.Helper()
	revision := answer[map[string]any](s, "/v1/status")["revision"]
	whole := filepath.Join(s.TempDir(), "edited") // a file half written would be a revision of its own
	if err := os.WriteFile(whole, content, 0o600); err != nil {
		s.Fatal(err)
	}
	if err := os.Rename(whole, filepath.Join(s.dir, filepath.FromSlash(file))); err != nil {
		s.Fatal(err)
	}
	s.until("/v1/status", func(_ int, body []byte) bool {
		var status map[string]any
		return json.Unmarshal(body, &status) == nil && status["revision"] != revision
	})
}

// node is an element of a view.
type node struct{ *html.Node }

// view returns the document of a view.
func (s *site) view(path string) node {
	s.Helper()
	body := s.until(path, func(status int, _ []byte) bool { return status == http.StatusOK })
	document, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	return node{document}
}

// all returns the elements below n that fit.
func (n node) all(fits func(node) bool) (list []node) {
	for child := range n.Descendants() {
		if child.Type == html.ElementNode && fits(node{child}) {
			list = append(list, node{child})
		}
	}
	return list
}

func (n node) attribute(name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// tags returns the elements below n with one of some names.
func (n node) tags(names ...string) []node {
	return n.all(func(e node) bool { return slices.Contains(names, e.Data) })
}

// named returns the element with an accessible name, and the zero node if it is missing.
func (n node) named(label string) node {
	found := n.all(func(e node) bool { return e.attribute("aria-label") == label })
	if len(found) == 0 {
		return node{&html.Node{}}
	}
	return found[0]
}

// text is the text of an element, with single spaces.
func (n node) text() string {
	var out strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			out.WriteString(child.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// rows are the texts of the cells of a table's body.
func (n node) rows() (rows [][]string) {
	for _, body := range n.tags("tbody") {
		for _, row := range body.tags("tr") {
			var cells []string
			for _, cell := range row.tags("th", "td") {
				cells = append(cells, cell.text())
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

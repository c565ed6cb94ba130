package api

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/writ-policy/writ/server/auth"
	described "github.com/writ-policy/writ/tests/openapi"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the recorded questions and answers")

// Each archive below testdata is one or more requests, what the evaluator was
// asked, and the answers: request, asked and answer, in turn. A file tokens before
// them is the server's token file.
func TestRecorded(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("no recorded requests were found")
	}
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update is for people")
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar"), func(t *testing.T) { recorded(t, path) })
	}
}

func recorded(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		t.Error("the archive does not say what it proves")
	}
	out := &txtar.Archive{Comment: archive.Comment}
	f := &fake{}
	_, o := endpoints(f, func(o *Options) { o.Status = func(bool) any { return map[string]any{"ready": true} } })
	requests := 0
	for i, file := range archive.Files {
		switch file.Name {
		case "tokens":
			o.Rule.Authenticator = tokens(t, string(file.Data))
			out.Files = append(out.Files, file)
		case "request":
			requests++
			f.asked = nil
			answer := roundTrip(t, New(o), file.Data)
			asked := ""
			if len(f.asked) > 0 {
				asked = f.questions() + "\n"
			}
			out.Files = append(out.Files, file, txtar.File{Name: "asked", Data: []byte(asked)}, txtar.File{Name: "answer", Data: []byte(answer)})
			if *update {
				continue
			}
			if i+2 >= len(archive.Files) {
				t.Fatal("a request has no recorded answer; run with -update")
			}
			if want := string(archive.Files[i+1].Data); asked != want {
				t.Errorf("request %d: asked\n%swant\n%s", requests, asked, want)
			}
			if want := string(archive.Files[i+2].Data); answer != want {
				t.Errorf("request %d: answered\n%swant\n%s", requests, answer, want)
			}
		}
	}
	if requests == 0 {
		t.Error("the archive has no request")
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// recordedDocument is the OpenAPI document that recorded answers fit.
var recordedDocument = sync.OnceValues(func() (*described.Document, error) {
	_, o := endpoints(&fake{}, func(o *Options) {
		o.StatusForm = struct {
			Ready bool `json:"ready"`
		}{}
	})
	return described.Read(New(o), "")
})

// roundTrip sends a request as text: its first line, headers, an empty line and
// the body. The answer is status, headers that matter, and body.
func roundTrip(t *testing.T, h http.Handler, text []byte) string {
	t.Helper()
	head, body, _ := bytes.Cut(text, []byte("\n\n"))
	body = bytes.TrimRight(body, "\n")
	wire := append(append([]byte(nil), bytes.ReplaceAll(bytes.TrimRight(head, "\n"), []byte("\n"), []byte("\r\n"))...), "\r\n\r\n"...)
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(wire)))
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(r.Method, r.RequestURI, bytes.NewReader(body))
	request.Header = r.Header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request)
	document, err := recordedDocument()
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Check(r.Method, r.URL.Path, w.Code, w.Header().Get("Content-Type"), w.Body.Bytes()); err != nil {
		t.Error(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", w.Code)
	names := []string{"Allow", "Connection", "Content-Type", "Retry-After", "Writ-Revision", "Www-Authenticate"}
	for _, name := range names {
		if values := w.Header()[name]; values != nil {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(values, ", "))
		}
	}
	for name := range w.Header() {
		if !slices.Contains(names, name) && !slices.Contains([]string{"X-Content-Type-Options", "Cache-Control", "Content-Security-Policy"}, name) {
			t.Errorf("got a header %s", name)
		}
	}
	b.WriteString("\n" + w.Body.String())
	return b.String()
}

func tokens(t *testing.T, content string) *auth.Tokens {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := auth.ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

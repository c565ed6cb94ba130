package page

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server"
)

// examples are the policies that the views show.
const examples = "../../examples/policies"

// site is a server with a copy of the examples.
type site struct {
	t    *testing.T
	base string
	dir  string
}

// newSite runs a server until the test ends. configure may be nil.
func newSite(t *testing.T, configure func(*server.Config)) *site {
	t.Helper()
	s, stop := startSite(t, configure)
	t.Cleanup(stop)
	return s
}

// startSite runs a server until stop is called.
func startSite(t *testing.T, configure func(*server.Config)) (s *site, stop func()) {
	t.Helper()
	s = &site{t: t, dir: t.TempDir()}
	if err := os.CopyFS(s.dir, os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	running, err := start(s.dir, configure)
	if err != nil {
		t.Fatal(err)
	}
	s.base = running.base
	s.ready()
	return s, func() {
		if err := running.stop(); err != nil {
			t.Error(err)
		}
	}
}

// shared is the server of tests that edit no document. One decision is recorded there, a
// denial, before any test asks for others.
func shared(t *testing.T) *site {
	t.Helper()
	requireBrowser(t)
	common.once.Do(func() {
		if common.dir, common.err = os.MkdirTemp("", "page"); common.err != nil {
			return
		}
		if common.err = os.CopyFS(common.dir, os.DirFS(examples)); common.err == nil {
			common.process, common.err = start(common.dir, nil)
		}
	})
	if common.err != nil {
		t.Fatal(common.err)
	}
	s := &site{t: t, base: common.process.base, dir: common.dir}
	s.ready()
	common.ask.Do(func() { s.ask(denied) })
	return s
}

var common struct {
	once, ask sync.Once
	dir       string
	process   process
	err       error
}

// stopShared ends the server of shared, if it runs.
func stopShared() {
	if common.process.stop != nil {
		_ = common.process.stop()
	}
	_ = os.RemoveAll(common.dir)
}

// process is a server that runs.
type process struct {
	base string
	stop func() error
}

// start runs a server with the documents of a folder. configure may be nil.
func start(dir string, configure func(*server.Config)) (process, error) {
	listening := make(chan net.Addr, 1)
	c := server.Defaults()
	c.Policies, c.Listen, c.Settle = []string{dir}, "127.0.0.1:0", 0
	c.Timeouts.Drain, c.Timeouts.Grace = 0, time.Second
	c.Listening = func(a net.Addr) { listening <- a }
	if configure != nil {
		configure(&c)
	}
	running, err := server.New(c)
	if err != nil {
		return process{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	select {
	case a := <-listening:
		return process{"http://" + a.String(), func() error { cancel(); return <-ended }}, nil
	case err := <-ended:
		cancel()
		return process{}, err
	}
}

func (s *site) ready() {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		answer, err := http.Get(s.base + "/readyz")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(end) {
			s.t.Fatal("the server does not become ready")
		}
	}
}

// edit replaces a text in a document.
func (s *site) edit(file, old, replacement string) {
	s.t.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(file))
	content, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		s.t.Fatalf("%s does not contain %q", file, old)
	}
	// A file half written would be a revision of its own.
	whole := filepath.Join(s.t.TempDir(), "edited")
	if err := os.WriteFile(whole, []byte(strings.ReplaceAll(string(content), old, replacement)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(whole, path); err != nil {
		s.t.Fatal(err)
	}
}

// ask asks for a decision, as an enforcement point does.
func (s *site) ask(request map[string]any) {
	s.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.Post(s.base+"/v1/decisions/access", "application/json", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if content, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("status %d: %s %v", answer.StatusCode, content, err)
	}
}

// The examples have this denial.
var denied = map[string]any{
	"user": "Edgar", "verb": "delete", "resource": "deploymentconfigs", "namespace": "hammer", "labels": map[string]string{"protected": "yes"},
}

const deniedView = "/page/ask?labels=protected%3A+%22yes%22&namespace=hammer&resource=deploymentconfigs&user=Edgar&verb=delete"

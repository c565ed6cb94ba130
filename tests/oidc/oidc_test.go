// Package oidc tests callers whose tokens an OpenID provider issues that is not written for
// writ: oidc-provider of npm, a certified implementation. `make oidc` installs and runs it.
package oidc

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	folder = flag.String("provider", "", "folder of provider.js with its packages installed")
	writ   = flag.String("writ", "", "the built command")
)

// server is a running writ that accepts tokens of the provider.
type server struct {
	url string
	log *os.File
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

func startServer(t *testing.T, p *provider) *server {
	t.Helper()
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	check(t, err)
	command := exec.Command(*writ, "serve", "--listen", "127.0.0.1:0", "--policies", dir, "--allow-empty", "--drain", "0s", "--log-level", "debug",
		"--oidc-issuer", p.issuer, "--oidc-audience", "writ", "--oidc-ca", filepath.Join(p.dir, "ca.crt"), "--oidc-refresh", "1s",
		"--oidc-username-prefix", "oidc:", "--auditors", "dev")
	command.Stderr = log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		if t.Failed() {
			t.Logf("the log of writ:\n%s", (&server{log: log}).text(t))
		}
	})
	s := &server{log: log}
	eventually(t, "writ listens", func() bool {
		found := listening.FindStringSubmatch(s.text(t))
		if found != nil {
			s.url = "http://" + found[1]
		}
		return found != nil
	})
	return s
}

func (s *server) text(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(s.log.Name())
	check(t, err)
	return string(content)
}

// ask returns the HTTP status and the body that the sender of a token gets.
func (s *server) ask(t *testing.T, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/status", nil)
	check(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	check(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(t, err)
	return response.StatusCode, string(text)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so: %s", what)
		}
	}
}

// trust makes the present certificate of the provider the authority that writ trusts.
func trust(t *testing.T, p *provider) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dir, "tls.crt"))
	check(t, err)
	write(t, filepath.Join(p.dir, "ca.crt"), content)
}

func TestProvider(t *testing.T) {
	if *folder == "" || *writ == "" {
		t.Skip("-provider and -writ are required; use make oidc")
	}
	p := startProvider(t)
	trust(t, p)
	s := startServer(t, p)
	accepted := func(token string) func() bool {
		return func() bool { code, _ := s.ask(t, token); return code == http.StatusOK }
	}
	refused := func(token string) func() bool {
		return func() bool { code, _ := s.ask(t, token); return code == http.StatusUnauthorized }
	}
	first := p.token(t, "writ", "ada")
	eventually(t, "a token of the provider is accepted", accepted(first))
	if _, text := s.ask(t, first); !strings.Contains(text, `"diagnostics"`) {
		t.Errorf("the groups of the token do not make an auditor: %s", text)
	}

	head, rest, _ := strings.Cut(first, ".")
	for name, token := range map[string]string{
		"absent": "", "for another client": p.token(t, "other", "ada"), "changed": head + ".e" + rest, "of another form": "secret",
	} {
		if !refused(token)() {
			code, _ := s.ask(t, token)
			t.Errorf("a token that is %s: got %d", name, code)
		}
	}
	eventually(t, "a token that is expired is refused", refused(p.token(t, "writ", "brief")))
	if !strings.Contains(s.text(t), "the token is expired") {
		t.Error("the log does not state that a token is expired")
	}

	rotate(t, p, s)
	withdrawn := p.token(t, "writ", "ada")
	p.do(t, "add")
	p.do(t, "withdraw")
	eventually(t, "a token by a key that was withdrawn is refused", refused(withdrawn))

	p.newCertificate(t)
	p.do(t, "certificate")
	eventually(t, "writ does not trust the new certificate of the provider", func() bool {
		return strings.Contains(s.text(t), "certificate signed by unknown authority") || strings.Contains(s.text(t), "failed to verify certificate")
	})
	trust(t, p)
	p.do(t, "add")
	eventually(t, "writ trusts the new authority, and reads a new key", accepted(p.token(t, "writ", "bob")))
	for _, secret := range []string{first, withdrawn, strings.Split(first, ".")[2]} {
		if strings.Contains(s.text(t), secret) {
			t.Error("the log has a token")
		}
	}
}

// rotate adds keys while requests with new tokens are answered. None of them is refused.
func rotate(t *testing.T, p *provider, s *server) {
	t.Helper()
	var token atomic.Pointer[string]
	next := p.token(t, "writ", "ada")
	token.Store(&next)
	var senders sync.WaitGroup
	var stop atomic.Bool
	var answered atomic.Int64
	for range 4 {
		senders.Go(func() {
			for !stop.Load() {
				if code, text := s.ask(t, *token.Load()); code != http.StatusOK {
					t.Errorf("while keys change: got %d %s", code, text)
					return
				}
				answered.Add(1)
			}
		})
	}
	for i := range 3 {
		p.do(t, "add")
		next := p.token(t, "writ", fmt.Sprint("user", i))
		token.Store(&next)
		before := answered.Load()
		eventually(t, "requests are answered", func() bool { return answered.Load() > before+20 || t.Failed() })
	}
	stop.Store(true)
	senders.Wait()
	t.Logf("%d requests were answered while keys changed", answered.Load())
}

package git_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/writ-policy/writ/translator/source/git"
)

// Credentials are sent to no other server, and no redirect leads from https to http.
func TestRedirects(t *testing.T) {
	c := newCheckout(t)
	c.write("a.yaml", "a: 1\n")
	c.commit()
	real := serveGit(t, c)
	var mu sync.Mutex
	var headers []http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers = append(headers, r.Header.Clone())
		mu.Unlock()
		real.Config.Handler.ServeHTTP(w, r)
	}))
	defer other.Close()
	redirects := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.RequestURI(), http.StatusFound)
	})
	plain, secure := httptest.NewServer(redirects), httptest.NewTLSServer(redirects)
	defer plain.Close()
	defer secure.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	open := func(url string) *git.Repository {
		return git.Open(git.Options{
			Location:    parse(t, "git+"+url+"/work/.git"),
			Credentials: git.Credentials{User: "writ", Password: "hunter2"}.For,
			CABundle:    func() ([]byte, error) { return authority, nil },
		})
	}
	if files, _, _ := read(t, open(plain.URL)); files["a.yaml"] != "a: 1\n" {
		t.Errorf("redirected: got files %q", files)
	}
	if len(headers) == 0 {
		t.Fatal("nothing was redirected")
	}
	for _, h := range headers {
		if h.Get("Authorization") != "" {
			t.Errorf("credentials were sent to another server: %v", h)
		}
	}
	headers = nil
	if _, _, err := open(secure.URL).Snapshot(context.Background()); err == nil || !strings.Contains(err.Error(), "scheme") {
		t.Errorf("from https to http: got error %v", err)
	}
	if len(headers) > 0 {
		t.Errorf("from https to http: got a request %v", headers[0])
	}
}

package server

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A listener for browsers has the page and its endpoints, and no other listener has them. It
// does not require the client certificates that the others do.
func TestPageListener(t *testing.T) {
	a, h := newAuthority(t), newHouse(t)
	cert, key := a.issue(2)
	h.config.TLS.Cert, h.config.TLS.Key, h.config.TLS.ClientCA = h.write("tls.crt", cert), h.write("tls.key", key), h.write("ca.crt", a.pem)
	h.config.TLS.RequireClientCert = true
	h.config.Callers.Tokens, h.config.Callers.Auditors = h.write("tokens.csv", "good,vera,1,sec\n"), []string{"sec"}
	h.config.Page.Listen = "127.0.0.1:0"
	browsers := make(chan net.Addr, 1)
	h.config.Page.Listening = func(a net.Addr) { browsers <- a }
	r := h.run()
	page, callers := "https://"+(<-browsers).String(), r.url
	get := func(config *tls.Config, url, token string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "text/html")
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		client := &http.Client{
			Transport:     &http.Transport{TLSClientConfig: config.Clone(), DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, ""
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	known, browser := a.client("vera", "sec"), a.client("")
	r.eventually("ready", func() bool { code, _ := get(known, callers+"/readyz", ""); return code == http.StatusOK })
	for _, tt := range []struct {
		name, url, token string
		config           *tls.Config
		want             int
	}{
		{"the page elsewhere", callers + "/page/", "good", known, 404},
		{"a console's endpoint elsewhere", callers + "/v1/matrix?of=who&resource=pods", "good", known, 404},
		{"a decision's status elsewhere", callers + "/v1/status", "good", known, 200},
		{"elsewhere without a certificate", callers + "/healthz", "good", browser, 0},
		{"the page without credentials", page + "/page/", "", browser, 401},
		{"the page with a token", page + "/page/", "good", browser, 200},
		{"the page with a certificate", page + "/page/", "", known, 200},
		{"an endpoint without credentials", page + "/v1/documents", "", browser, 401},
		{"an endpoint with a token", page + "/v1/documents", "good", browser, 200},
		{"the start", page + "/", "", browser, 302},
		{"an endpoint of callers", page + "/v1/status", "good", browser, 404},
	} {
		if code, body := get(tt.config, tt.url, tt.token); code != tt.want {
			t.Errorf("%s: got status %d, want %d: %s", tt.name, code, tt.want, body)
		}
	}
	if _, text := get(known, callers+"/", ""); !strings.Contains(text, "at a listener of its own (--page-listen)") {
		t.Errorf("the start elsewhere: got %s", text)
	}
	if _, body := get(browser, page+"/page/ask?user=alice&verb=get&resource=pods", "good"); !strings.Contains(body, callers+"/v1/decisions/access") {
		t.Errorf("the view Ask names no endpoint at %s", callers)
	}
}

// The log names the page where there is one.
func TestPageIsLogged(t *testing.T) {
	for mode, want := range map[string]bool{PageAuto: true, PageOff: false} {
		h := newHouse(t)
		var log syncBuffer
		h.config.Page.Mode, h.config.Logger = mode, slog.New(slog.NewTextHandler(&log, nil))
		r := h.run()
		r.eventually("ready", r.isReady)
		if text := log.String(); strings.Contains(text, `msg="page: `+r.url+`/page/"`) != want || strings.Contains(text, "page: ") != want {
			t.Errorf("--page %s: got the log\n%s", mode, text)
		}
	}
}

// A stream of events ends with the token or the session that opened it.
func TestStreamsEndWithTheirCallers(t *testing.T) {
	h := newHouse(t)
	const tokens = "one,olga,1,ops\ntwo,olga,2,ops\n"
	h.config.Callers.Tokens, h.config.Callers.Auditors = h.write("tokens.csv", tokens), []string{"ops"}
	r := h.run()
	r.eventually("ready", r.isReady)
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	open := func(token string, cookies ...*http.Cookie) <-chan error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range cookies {
			request.AddCookie(cookie)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := r.client.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("got %v, %v", response, err)
		}
		ended := make(chan error, 1)
		go func() {
			defer response.Body.Close()
			_, err := io.Copy(io.Discard, response.Body)
			ended <- err
		}()
		return ended
	}
	signIn, err := r.client.PostForm(r.url+"/page/sign-in", url.Values{"token": {"two"}})
	if err != nil || len(signIn.Cookies()) != 1 {
		t.Fatalf("sign in: got %v, %v", signIn, err)
	}
	signIn.Body.Close()
	byToken, other, bySession := open("one"), open("two"), open("", signIn.Cookies()...)
	h.write("tokens.csv", strings.ReplaceAll(tokens, "one,olga,1", "new,olga,1"))
	if err := <-byToken; err != nil {
		t.Errorf("the stream of the token that was removed: got %v", err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/page/sign-out", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.AddCookie(signIn.Cookies()[0])
	signOut, err := r.client.Do(request)
	if err != nil || signOut.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign out: got %v, %v", signOut, err)
	}
	signOut.Body.Close()
	if err := <-bySession; err != nil {
		t.Errorf("the stream of the session that has ended: got %v", err)
	}
	select {
	case err := <-other:
		t.Errorf("the stream of another token has ended: %v", err)
	default:
	}
}

func TestAddressFor(t *testing.T) {
	for _, tt := range []struct{ host, listener, want string }{
		{"writ.example:8443", "[::]:8686", "writ.example:8686"},
		{"writ.example", "0.0.0.0:8686", "writ.example:8686"},
		{"[::1]:8443", "[::]:8686", "[::1]:8686"},
		{"localhost:8443", "127.0.0.1:8686", "127.0.0.1:8686"},
	} {
		at, err := net.ResolveTCPAddr("tcp", tt.listener)
		if err != nil {
			t.Fatal(err)
		}
		if got := addressFor(tt.host, at); got != tt.want {
			t.Errorf("%s for a reader at %s: got %s, want %s", tt.listener, tt.host, got, tt.want)
		}
	}
}

// Where the page is, and who may reach it there.
func TestWhereThePageIs(t *testing.T) {
	const unsafe = "other machines reach the page"
	for i, tt := range []struct {
		mode, listen, pageListen string
		clientCA, hasTLS, tokens bool
		main                     bool
		want                     string // in the error; empty: no error is wanted
	}{
		{mode: PageAuto, listen: "127.0.0.1:1", main: true},
		{mode: PageAuto, listen: "127.0.0.1:1", hasTLS: true, clientCA: true},
		{mode: PageAuto, listen: ":1", hasTLS: true, tokens: true},
		{mode: PageOff, listen: "127.0.0.1:1"},
		{mode: PageOn, listen: "127.0.0.1:1", hasTLS: true, clientCA: true, main: true},
		{mode: PageOn, listen: ":1", hasTLS: true, tokens: true, main: true},
		{mode: PageOn, listen: ":1", main: true, want: unsafe},
		{mode: PageOn, listen: ":1", hasTLS: true, main: true, want: unsafe},
		{mode: PageOn, listen: ":1", tokens: true, main: true, want: unsafe},
		{mode: PageAuto, listen: "127.0.0.1:1", pageListen: "127.0.0.1:2"},
		{mode: PageOn, listen: ":1", pageListen: "[::1]:2"},
		{mode: PageAuto, listen: "127.0.0.1:1", pageListen: ":2", want: unsafe},
		{mode: PageAuto, listen: "127.0.0.1:1", pageListen: ":2", hasTLS: true, want: unsafe},
		{mode: PageAuto, listen: "127.0.0.1:1", pageListen: ":2", hasTLS: true, tokens: true},
		{mode: PageOff, listen: "127.0.0.1:1", pageListen: "127.0.0.1:2", want: "mutually exclusive"},
		{mode: PageAuto, listen: "127.0.0.1:1", pageListen: "nonsense", want: "for the page"},
	} {
		c := Defaults()
		c.Policies, c.Callers.InsecureListen, c.Callers.Anonymous = []string{"policies"}, true, true // they do not count
		c.Page.Mode, c.Listen, c.Page.Listen = tt.mode, tt.listen, tt.pageListen
		if tt.hasTLS {
			c.TLS.Cert, c.TLS.Key = "a", "b"
		}
		if tt.clientCA {
			c.TLS.ClientCA = "c"
		}
		if tt.tokens {
			c.Callers.Tokens = "d"
		}
		err := c.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("row %d: got %v, want %q", i, err, tt.want)
		}
		if c.hasPage() != tt.main {
			t.Errorf("row %d: the page at --listen: got %t", i, c.hasPage())
		}
	}
}

package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// Every answer of the page has the headers that browsers protect its readers by.
func TestHeaders(t *testing.T) {
	h := New(options(t))
	for _, target := range []string{"/page/", "/page/ask", "/page/none", "/page/sign-in", "/page/log", "/page/documents/none", "/page"} {
		w := get(h, target)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
				"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types writ",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: header %s: got %q, want %q", target, name, got, want)
			}
		}
		for name := range w.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: got header %s", target, name)
			}
		}
	}
}

func TestAssets(t *testing.T) {
	h := New(options(t))
	total := 0
	for name, path := range loadAssets().paths {
		w := get(h, path, "Accept-Encoding", "br, gzip")
		total += w.Body.Len()
		tag := w.Header().Get("ETag")
		if w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Cache-Control") != "no-cache" || tag == "" {
			t.Errorf("%s: got status %d, header %v", name, w.Code, w.Header())
		}
		if w := get(h, path, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("%s with its tag: got status %d", name, w.Code)
		}
		if w := get(h, path, "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s without gzip: got header %v", name, w.Header())
		}
		if w := get(h, path, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"); w.Code != http.StatusForbidden {
			t.Errorf("%s from another site: got status %d", name, w.Code)
		}
	}
	if total == 0 || total > 20<<10 {
		t.Errorf("assets have %d bytes as transferred, want at most 20 KiB", total)
	}
	if w := get(h, assetPath+"page.css"); w.Code != http.StatusNotFound {
		t.Errorf("a name without a hash: got status %d", w.Code)
	}
}

func TestHostsAndSites(t *testing.T) {
	h := New(options(t))
	for _, tt := range []struct {
		name, method, target string
		header               []string
		want                 int
	}{
		{"the page", "GET", "/page/", nil, 200},
		{"another host", "GET", "/page/", []string{"Host", "evil.example"}, 421},
		{"an asset for another host", "GET", "/page/assets/none.css", []string{"Host", "evil.example"}, 421},
		{"the start for another host", "GET", "/", []string{"Host", "evil.example", "Accept", "text/html"}, 200}, // what Next answers
		{"a link of another site", "GET", "/page/ask", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"a picture of another site", "GET", "/page/ask", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"a script of another origin of the site", "GET", "/page/ask", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403},
		{"its own script", "GET", "/page/ask", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, 200},
		{"a form of another site", "POST", "/page/sign-out", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"a form of another origin", "POST", "/page/sign-out", []string{"Origin", "http://evil.example"}, 403},
		{"a form of an opaque origin", "POST", "/page/sign-out", []string{"Origin", "null"}, 403},
		{"its own form", "POST", "/page/sign-out", []string{"Origin", "http://127.0.0.1:8686"}, 303},
		{"another method", "DELETE", "/page/", nil, 405},
		{"a long address", "GET", "/page/ask?user=" + strings.Repeat("a", maxURL), nil, 414},
	} {
		w := send(h, tt.method, tt.target, "", tt.header...)
		if w.Code != tt.want {
			t.Errorf("%s: got status %d, want %d", tt.name, w.Code, tt.want)
		}
		if w.Code == http.StatusMisdirectedRequest && strings.Contains(w.Body.String(), assetPath) {
			t.Errorf("%s: the answer links to assets, which are refused too", tt.name)
		}
	}
}

func TestStart(t *testing.T) {
	h := New(options(t))
	if w := get(h, "/", "Accept", "text/html,*/*"); w.Code != http.StatusFound || w.Header().Get("Location") != "/page/" {
		t.Errorf("a browser: got status %d to %q", w.Code, w.Header().Get("Location"))
	}
	if w := get(h, "/", "Accept", "*/*"); w.Code != http.StatusOK || w.Body.String() != "next " {
		t.Errorf("another client: got status %d, %s", w.Code, w.Body)
	}
	if w := get(h, "/page/ask?user=&verb=get"); w.Code != http.StatusFound || w.Header().Get("Location") != "/page/ask?verb=get" {
		t.Errorf("empty values: got status %d to %q", w.Code, w.Header().Get("Location"))
	}
}

// Who sees what: a view names no revision to a caller who is not known.
func TestRoles(t *testing.T) {
	o := options(t)
	o.Caller = byToken
	h := New(o)
	all := []string{"/page/", "/page/ask", "/page/ask/visibility", "/page/ask/gateway", "/page/documents", "/page/documents/hammer/protected.yaml", "/page/log", "/page/who-can?resource=pods", "/page/who-can?of=what", "/page/inheritance", "/page/changes", "/page/risks", "/page/reach", "/page/sessions"}
	everybody := map[string]bool{"/page/": true, "/page/ask": true, "/page/ask/visibility": true, "/page/ask/gateway": true, "/page/who-can?of=what": true}
	for _, target := range all {
		for token, want := range map[string]int{"": 401, "wrong": 401, "unavailable": 503, "auditor": 200, "developer": 403} {
			if token == "developer" && everybody[target] {
				want = http.StatusOK
			}
			w := get(h, target, "Authorization", "Bearer "+token)
			if w.Code != want {
				t.Errorf("%s with token %q: got status %d, want %d", target, token, w.Code, want)
			}
			body := strings.ReplaceAll(w.Body.String(), `value="`+target+`"`, "") // where to go after signing in
			if want != http.StatusOK && token != "developer" && (strings.Contains(body, "6ab2") || strings.Contains(body, ".yaml")) {
				t.Errorf("%s with token %q: the answer names a revision or a document", target, token)
			}
		}
	}
	own := get(h, "/page/ask?verb=get&resource=pods", "Authorization", "Bearer developer").Body.String()
	for _, want := range []string{`name="user" value="edgar" autocomplete="off" spellcheck="false" readonly`, `value="dev,shop"`} {
		if !strings.Contains(own, want) {
			t.Errorf("a question about oneself: no %s", want)
		}
	}
	can := get(h, "/page/who-can?of=what", "Authorization", "Bearer developer").Body.String()
	if !strings.Contains(can, `name="subject" value="edgar" autocomplete="off" spellcheck="false" readonly`) || strings.Contains(can, "data-names") || strings.Contains(can, `href="/page/who-can"`) {
		t.Error("what oneself can: the subject is a field, names are completed or there is a link to who can")
	}
	if w := get(h, "/page/ask?user=ada&verb=get&resource=pods", "Authorization", "Bearer developer"); w.Code != http.StatusForbidden {
		t.Errorf("a question about another: got status %d", w.Code)
	}
	overview := get(h, "/page/", "Authorization", "Bearer developer").Body.String()
	for _, hidden := range []string{"Diagnostics", "Events", "Last denied", "data-events"} {
		if strings.Contains(overview, hidden) {
			t.Errorf("the overview of a caller who is not an auditor has %q", hidden)
		}
	}
}

// signIn sends the form and returns the answer with its cookie.
func signIn(h http.Handler, token, to string) (*httptest.ResponseRecorder, *http.Cookie) {
	w := send(h, http.MethodPost, "/page/sign-in", url.Values{"token": {token}, "to": {to}}.Encode())
	if cookies := w.Result().Cookies(); len(cookies) == 1 {
		return w, cookies[0]
	}
	return w, nil
}

func TestSignIn(t *testing.T) {
	o := options(t)
	now, withdrawn := clock, false
	o.Now = func() time.Time { return now }
	o.Caller = func(r *http.Request) (console.Caller, error) {
		if withdrawn {
			return console.Caller{}, errToken
		}
		return byToken(r)
	}
	waited := 0
	o.After = func(d time.Duration) <-chan time.Time {
		if waited++; d != time.Second {
			t.Errorf("a wrong token waits %s", d)
		}
		return time.After(0)
	}
	h := New(o)
	for _, token := range []string{"", "wrong", "audi tor"} {
		w, cookie := signIn(h, token, "/page/log")
		if w.Code != http.StatusUnauthorized || cookie != nil || !strings.Contains(w.Body.String(), `role="alert"`) {
			t.Errorf("token %q: got status %d, cookie %v", token, w.Code, cookie)
		}
	}
	if waited != 3 {
		t.Errorf("%d of 3 wrong tokens waited", waited)
	}
	w, cookie := signIn(h, "auditor", "/page/log?user=a")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/page/log?user=a" {
		t.Fatalf("signing in: got status %d to %q", w.Code, w.Header().Get("Location"))
	}
	if cookie.Name != "writ" || !cookie.HttpOnly || cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || len(cookie.Value) != 43 {
		t.Errorf("got cookie %+v", cookie)
	}
	header := []string{"Cookie", cookie.Name + "=" + cookie.Value}
	if w := get(h, "/page/log", header...); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Sign out") {
		t.Errorf("with a session: got status %d", w.Code)
	}
	if w := get(h, "/v1/log", header...); w.Body.String() != "next Bearer auditor" {
		t.Errorf("an endpoint with a session: got %q", w.Body)
	}
	if w := get(h, "/v1/log", append(header, "Authorization", "Bearer other")...); w.Body.String() != "next Bearer other" {
		t.Errorf("an endpoint with a session and a token: got %q", w.Body)
	}
	withdrawn = true
	if w := get(h, "/page/log", header...); w.Code != http.StatusUnauthorized {
		t.Errorf("with a withdrawn token: got status %d", w.Code)
	}
	withdrawn = false
	now = clock.Add(sessionTime)
	if w := get(h, "/page/log", header...); w.Code != http.StatusUnauthorized {
		t.Errorf("after %s: got status %d", sessionTime, w.Code)
	}
	_, cookie = signIn(h, "auditor", "")
	header = []string{"Cookie", cookie.Name + "=" + cookie.Value}
	if w := send(h, http.MethodPost, "/page/sign-out", "", header...); w.Code != http.StatusSeeOther || !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out: got status %d, %v", w.Code, w.Header())
	}
	if w := get(h, "/page/log", header...); w.Code != http.StatusUnauthorized {
		t.Errorf("after signing out: got status %d", w.Code)
	}
}

// After signing in a browser goes to a view of the page, wherever a link wants to send it.
func TestSignInGoesNowhereElse(t *testing.T) {
	o := options(t)
	o.Caller, o.Secure = byToken, true
	h := New(o)
	for to, want := range map[string]string{
		"": "/page/", "/page/ask?user=a%20b": "/page/ask?user=a%20b", "https://evil.example/page/": "/page/", "//evil.example/page/": "/page/",
		"/page/\\evil": "/page/", "/v1/status": "/page/", "/page/sign-out": "/page/", "javascript:alert(1)": "/page/",
	} {
		w, cookie := signIn(h, "auditor", to)
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("to %q: got %q, want %q", to, got, want)
		}
		if cookie.Name != "__Host-writ" || !cookie.Secure {
			t.Errorf("with TLS: got cookie %+v", cookie)
		}
	}
}

func TestFewWrongTokensWait(t *testing.T) {
	o := options(t)
	o.Caller = byToken
	release := make(chan time.Time)
	waiting := make(chan struct{}, maxWaiting)
	o.After = func(time.Duration) <-chan time.Time { waiting <- struct{}{}; return release }
	h := New(o)
	codes := make(chan int, maxWaiting)
	for range maxWaiting {
		go func() { w, _ := signIn(h, "wrong", ""); codes <- w.Code }()
	}
	for range maxWaiting {
		<-waiting
	}
	if w, _ := signIn(h, "wrong", ""); w.Code != http.StatusTooManyRequests {
		t.Errorf("one more: got status %d", w.Code)
	}
	if w, _ := signIn(h, "auditor", ""); w.Code != http.StatusSeeOther {
		t.Errorf("a token that is accepted: got status %d", w.Code)
	}
	close(release)
	for range maxWaiting {
		if code := <-codes; code != http.StatusUnauthorized {
			t.Errorf("a wrong token: got status %d", code)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	now := clock
	s := sessions{now: func() time.Time { return now }}
	first := s.open("first")
	for i := range maxSessions {
		now = clock.Add(time.Duration(i+1) * time.Millisecond)
		s.open(fmt.Sprint(i))
	}
	if len(s.kept) != maxSessions || s.token(first) != "" {
		t.Errorf("got %d sessions, want %d without the first one", len(s.kept), maxSessions)
	}
}

// Too many views at a time wait, and then find the page busy.
func TestPlaces(t *testing.T) {
	p := &page{Options: options(t), places: make(chan struct{}, 1)}
	p.assets = loadAssets()
	p.places <- struct{}{}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/page/", nil)
	p.view(true, overview)(w, r)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("got status %d", w.Code)
	}
}

// A session of a page without TLS is short: the cookie is sent to every port of the host.
func TestSessionsWithoutTLSAreShort(t *testing.T) {
	for secure, want := range map[bool]time.Duration{true: sessionTime, false: plainSessionTime} {
		now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
		p := &page{Options: Options{Secure: secure}, sessions: sessions{now: func() time.Time { return now }, lasts: lastsOf(secure)}}
		cookie := p.sessions.open("token")
		now = now.Add(want - time.Second)
		if p.sessions.token(cookie) == "" {
			t.Errorf("secure %v: the session ends before %s", secure, want)
		}
		now = now.Add(2 * time.Second)
		if p.sessions.token(cookie) != "" {
			t.Errorf("secure %v: the session lasts longer than %s", secure, want)
		}
	}
}

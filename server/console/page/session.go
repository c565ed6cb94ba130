package page

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// Bounds of sessions and of signing in.
const (
	maxSessions = 10_000
	sessionTime = 8 * time.Hour
	// Without TLS a browser sends the cookie to every port of the host, so that another
	// server of the machine may read it.
	plainSessionTime = time.Hour
	maxWaiting       = 10
	wrongWaiting     = time.Second
)

// sessions maps the hashes of cookies to tokens. The zero value with a clock is ready.
type sessions struct {
	now   func() time.Time
	lasts time.Duration // of a session; zero means sessionTime

	mu   sync.Mutex // held for a look-up, never while a token is verified
	kept map[[sha256.Size]byte]session
}

// session is one browser that signed in.
type session struct {
	token string
	ends  time.Time
}

// open returns the cookie of a new session. If there are too many, the one that ends
// first is closed.
func (s *sessions) open(token string) string {
	var id [32]byte
	rand.Read(id[:]) //nolint:errcheck // it never returns an error
	cookie := base64.RawURLEncoding.EncodeToString(id[:])
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = make(map[[sha256.Size]byte]session)
	}
	if len(s.kept) >= maxSessions {
		s.makeRoom(now)
	}
	s.kept[sha256.Sum256([]byte(cookie))] = session{token, now.Add(cmp.Or(s.lasts, sessionTime))}
	return cookie
}

// lastsOf is how long sessions last with TLS or without.
func lastsOf(secure bool) time.Duration {
	if secure {
		return sessionTime
	}
	return plainSessionTime
}

func (s *sessions) makeRoom(now time.Time) {
	var oldest [sha256.Size]byte
	var ends time.Time
	for id, kept := range s.kept {
		if !kept.ends.After(now) {
			delete(s.kept, id)
		} else if ends.IsZero() || kept.ends.Before(ends) {
			oldest, ends = id, kept.ends
		}
	}
	if len(s.kept) >= maxSessions {
		delete(s.kept, oldest)
	}
}

func (s *sessions) close(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, sha256.Sum256([]byte(cookie)))
}

// token returns the token of a session; empty without one.
func (s *sessions) token(cookie string) string {
	id := sha256.Sum256([]byte(cookie))
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.kept[id]
	if ok && !kept.ends.After(s.now()) {
		delete(s.kept, id)
		return ""
	}
	return kept.token
}

// authorize returns the request with the credentials of its session. Credentials that the
// request has itself come first.
func (s *sessions) authorize(r *http.Request, name string) *http.Request {
	cookie, err := r.Cookie(name)
	if err != nil || len(r.Header["Authorization"]) > 0 {
		return r
	}
	token := s.token(cookie.Value)
	if token == "" {
		return r
	}
	ctx := console.WithSignIn(r.Context(), func() bool { return s.token(cookie.Value) != "" })
	return withToken(r.WithContext(ctx), token)
}

func withToken(r *http.Request, token string) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// cookieName is the name of the cookie. Browsers accept the prefix from TLS alone, and
// then no other host can set it.
func (p *page) cookieName() string {
	if p.Secure {
		return "__Host-writ"
	}
	return "writ"
}

func (p *page) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: p.cookieName(), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: p.Secure, SameSite: http.SameSiteStrictMode,
	}
}

// signInForm is what the form to sign in shows.
type signInForm struct {
	// To is the view to go to afterwards.
	To    string
	Error string
}

func (f *signInForm) html() h.Node {
	return piece.Div("sign", h.Form(h.Class("card rows"), h.Method("post"), h.Action("/page/sign-in"), piece.LabelledBy("sign-in"),
		h.H1(h.ID("sign-in"), h.Text("Sign in")),
		piece.P("muted", h.Text("The page shows documents and people to those who may see them.")),
		h.If(f.Error != "", h.P(h.Class("error"), h.Role("alert"), h.ID("sign-in-error"), h.Text(f.Error))),
		piece.Kept("to", f.To),
		piece.Div("field", h.Label(h.For("token"), h.Text("Token")), h.Input(h.ID("token"), h.Name("token"), h.Type("password"), h.AutoComplete("current-password"), h.Required(),
			h.If(f.Error != "", h.Group{h.Aria("invalid", "true"), h.Aria("describedby", "sign-in-error")}))),
		piece.Div("line", piece.Submit("Sign in"))))
}

// showSignIn shows the form.
func (p *page) showSignIn(w http.ResponseWriter, r *http.Request, status int, form signInForm) {
	form.To = ownView(form.To)
	p.write(w, r, status, frame{Title: "Sign in", Bare: true, Content: &form})
}

func (p *page) signInPage(w http.ResponseWriter, r *http.Request) {
	p.showSignIn(w, r, http.StatusOK, signInForm{To: r.URL.Query().Get("to")})
}

// signIn opens a session for a token that is accepted. A wrong token is answered after a
// second, and few wait at a time: tokens cannot be tried out.
func (p *page) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
	if err := r.ParseForm(); err != nil {
		p.showSignIn(w, r, http.StatusBadRequest, signInForm{Error: "The form cannot be read."})
		return
	}
	token, to := strings.TrimSpace(r.PostForm.Get("token")), r.PostForm.Get("to")
	caller, err := console.Caller{}, errNoToken
	if token != "" && !strings.ContainsAny(token, " \r\n\t") {
		caller, err = p.Caller(withToken(r, token))
	}
	switch {
	case errors.Is(err, ErrUnavailable):
		p.showSignIn(w, r, http.StatusServiceUnavailable, signInForm{to, "Tokens cannot be checked at the moment. Try again later."})
	case err != nil || caller.User == "":
		p.rejectToken(w, r, to)
	default:
		http.SetCookie(w, p.cookie(p.sessions.open(token), int(p.sessions.lasts/time.Second)))
		http.Redirect(w, r, ownView(to), http.StatusSeeOther)
	}
}

var errNoToken = errors.New("no token")

func (p *page) rejectToken(w http.ResponseWriter, r *http.Request, to string) {
	select {
	case p.wrong <- struct{}{}:
		defer func() { <-p.wrong }()
	default:
		w.Header().Set("Retry-After", "1")
		p.showSignIn(w, r, http.StatusTooManyRequests, signInForm{to, "Too many wrong tokens at a time. Try again in a second."})
		return
	}
	select {
	case <-p.After(wrongWaiting):
	case <-r.Context().Done():
	}
	p.showSignIn(w, r, http.StatusUnauthorized, signInForm{to, "The token is not accepted."})
}

// ownView returns the address of a view, and that of the first one for any other address.
func ownView(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/page/") || strings.HasPrefix(u.Path, "/page/sign-") || strings.Contains(to, "\\") {
		return "/page/"
	}
	return u.RequestURI()
}

func (p *page) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(p.cookieName()); err == nil {
		p.sessions.close(cookie.Value)
	}
	http.SetCookie(w, p.cookie("", -1))
	http.Redirect(w, r, "/page/", http.StatusSeeOther)
}

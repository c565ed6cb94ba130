package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// ErrUnavailable is wrapped by errors of Options.Caller if the credentials cannot be
// checked at the moment.
var ErrUnavailable = errors.New("the credentials cannot be checked at the moment")

// Options configure the page. Console, Caller, JSON, AnswersFor, Endpoints and Next are
// required.
type Options struct {
	// Console answers what the views show.
	Console console.Console
	// Caller authenticates a request by its connection and its header Authorization. An
	// error means that the request is not admitted. A caller without a user is that of a
	// server without credentials.
	Caller func(*http.Request) (console.Caller, error)
	// JSON returns YAML as JSON.
	JSON func(yaml []byte) ([]byte, error)
	// AnswersFor reports whether the server answers for a host, as the header Host has it.
	AnswersFor func(host string) bool
	// Endpoints returns the scheme and host of the endpoints for decisions, for a reader of
	// the page at host.
	Endpoints func(host string) string
	// EvalFlags are the arguments by which writ eval reads the documents, and decides, as the
	// server does.
	EvalFlags []string
	// Next answers requests for other paths.
	Next http.Handler
	// Secure is true if the listener speaks TLS.
	Secure bool
	// Answered records a request to a route with its status; nil records none.
	Answered func(route, method string, status int)
	// Panicked records a panic of a route; nil records none.
	Panicked func(ctx context.Context, route string, cause any)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// After is the clock of waiting; nil means time.After.
	After func(time.Duration) <-chan time.Time
}

// Bounds of requests. A console never takes places of decisions.
const (
	places    = 16
	viewTime  = time.Second
	maxURL    = 16 << 10
	maxSignIn = 64 << 10
	// Documents that are compared take as much work as a reload.
	proposalPlaces = 2
	proposalTime   = 15 * time.Second
	maxProposal    = 4 << 20
)

// page is the handler.
type page struct {
	Options
	sessions  sessions
	assets    assets
	routes    *http.ServeMux
	places    chan struct{}
	proposals chan struct{} // places of comparisons of documents that are sent
	wrong     chan struct{} // wrong tokens that wait for their answer
}

// New returns the handler of the page and, by Options.Next, of everything else.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	p := &page{Options: o, places: make(chan struct{}, places), proposals: make(chan struct{}, proposalPlaces), wrong: make(chan struct{}, maxWaiting)}
	p.sessions.now, p.sessions.lasts = o.Now, lastsOf(o.Secure)
	p.assets = loadAssets()
	p.routes = p.mux()
	return p
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = p.sessions.authorize(r, p.cookieName())
	switch {
	case r.URL.Path == "/page" || strings.HasPrefix(r.URL.Path, "/page/"):
		p.serve(w, r)
	case r.URL.Path == "/" && isRead(r) && strings.Contains(r.Header.Get("Accept"), "text/html") && p.AnswersFor(r.Host):
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, "/page/", http.StatusFound)
	default:
		p.Next.ServeHTTP(w, r)
	}
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// serve answers a request below /page.
func (p *page) serve(w http.ResponseWriter, r *http.Request) {
	recorded := &recorder{ResponseWriter: w}
	defer func() { p.finish(recorded, r, recover()) }()
	setHeaders(recorded.Header())
	if refused := p.refuse(r); refused.status != 0 {
		p.fail(recorded, r, console.Caller{}, refused)
		return
	}
	p.routes.ServeHTTP(recorded, r)
}

// finish answers a request whose handler panicked with cause, and records the answer. After
// a part of the answer is written, it ends the connection.
func (p *page) finish(w *recorder, r *http.Request, cause any) {
	_, route, _ := strings.Cut(r.Pattern, " ")
	route = cmp.Or(route, "/page/")
	begun := w.status != 0
	if cause != nil {
		if p.Panicked != nil {
			p.Panicked(r.Context(), route, cause)
		}
		if !begun {
			p.fail(w, r, console.Caller{}, failureOf(errors.New("a panic"), nil))
		}
	}
	if p.Answered != nil {
		p.Answered(route, r.Method, w.status)
	}
	if cause != nil && begun {
		panic(http.ErrAbortHandler) // half a document must not look like a whole one
	}
}

// policy allows nothing but what the page itself serves.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types writ"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// refuse returns why a request is not answered at all; its status is zero if it is.
func (p *page) refuse(r *http.Request) failure {
	switch {
	case !p.AnswersFor(r.Host):
		return failure{status: http.StatusMisdirectedRequest, title: "Unknown host", text: "The server does not answer for this name. Use an address or localhost, or start the server with --allowed-host."}
	case isForeign(r):
		return failure{status: http.StatusForbidden, title: "A request from another site", text: "Pages of other sites may link to a view, and nothing else. Open the view itself."}
	case len(r.URL.RequestURI()) > maxURL:
		return failure{status: http.StatusRequestURITooLong, title: "The address is too long", text: "An address may have 16 KiB. Ask with less, or by POST /v1/explanations."}
	}
	return failure{}
}

// protection rejects what browsers send to other methods than GET from other sites.
var protection = http.NewCrossOriginProtection()

// isForeign reports whether a browser sent the request for a page of another site. A link
// that is followed to a view is not foreign: it shows the view to the person alone.
func isForeign(r *http.Request) bool {
	if protection.Check(r) != nil {
		return true
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	isView := !strings.HasPrefix(r.URL.Path, assetPath)
	return !isView || !isRead(r) || r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// recorder keeps the status of a response.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = cmp.Or(r.status, status)
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(content []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	return r.ResponseWriter.Write(content)
}

// views are those of the navigation, in its order.
var views = []piece.Tab{
	{Name: "Overview", Href: "/page/", Icon: "overview", Key: "o"},
	{Name: "Ask", Href: "/page/ask", Icon: "ask", Key: "a"},
	{Name: "Who can", Href: "/page/who-can", Icon: "matrix", Key: "w"},
	{Name: "Sessions", Href: sessionsPath, Icon: "clock", Key: "e"},
	{Name: "Risks", Href: risksPath, Icon: "warning", Key: "r"},
	{Name: "Reach", Href: reachPath, Icon: "reach", Key: "p"},
	{Name: "Documents", Href: "/page/documents", Icon: "document", Key: "d"},
	{Name: "Inheritance", Href: "/page/inheritance", Icon: "tree", Key: "i"},
	{Name: "Assertions", Href: assertionsPath, Icon: "proof", Key: "s"},
	{Name: "Changes", Href: "/page/changes", Icon: "changes", Key: "c"},
	{Name: "Log", Href: "/page/log", Icon: "log", Key: "l"},
}

// mux returns the routes of the page.
func (p *page) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, v := range []struct {
		path      string
		everybody bool
		show      content
	}{
		{"/page/{$}", true, overview},
		{"/page/ask", true, p.ask(accessForm)},
		{"/page/ask/visibility", true, p.ask(visibilityForm)},
		{"/page/ask/gateway", true, p.ask(gatewayForm)},
		{whoCanPath, true, p.whoCan},
		{subjectPath, true, subject},
		{rolePath, false, role},
		{sessionsPath, false, emergency},
		{risksPath, false, risks},
		{"/page/documents", false, documents},
		{"/page/documents/{path...}", false, document},
		{changesPath, false, changes},
		{proposalPath, false, proposal},
		{inheritancePath, false, inheritance},
		{assertionsPath, false, p.assertions},
		{"/page/log", false, decisionLog},
	} {
		mux.Handle("GET "+v.path, p.view(v.everybody, v.show))
	}
	mux.Handle("GET "+reachPath, p.viewWithin(false, p.proposals, proposalTime, reach))
	mux.Handle("POST "+proposalPath, p.viewWithin(false, p.proposals, proposalTime, propose))
	mux.Handle("POST "+assertionsPath, p.viewWithin(false, p.proposals, proposalTime, p.tryAssertion))
	mux.HandleFunc("GET "+assetPath+"{name}", p.asset)
	mux.HandleFunc("GET /page/sign-in", p.signInPage)
	mux.HandleFunc("POST /page/sign-in", p.signIn)
	mux.HandleFunc("POST /page/sign-out", p.signOut)
	mux.Handle("GET /page", http.RedirectHandler("/page/", http.StatusFound))
	mux.Handle("GET /page/", p.view(true, func(context.Context, *question) (frame, error) {
		return frame{}, console.Errorf(console.NotFound, "the page has no such view")
	}))
	return mux
}

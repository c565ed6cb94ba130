// Package hostile sends every endpoint what callers must not be able to gain by. The
// endpoints are those of a server with the policies of a random world, and a naive
// reading of what was sent, with the oracle's decision on it, bounds each answer.
//
// A request begins as one that the protocol has, near what the documents of the world
// name. Edits then change how it is written, what it means, or whether it means
// anything: its JSON, its bytes, its path, its query and its headers.
//
// # Adding an endpoint
//
// An attack names the routes that it covers. TestEveryRouteIsAttacked fails for a route
// of the router that no attack covers, and for an attack without a fuzz target.
package hostile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	_ "github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// attack is the requests of one protocol.
type attack struct {
	// target is the name of its fuzz target.
	target string
	// worlds are those whose documents its requests are about.
	worlds []*site
	// routes are what it covers, each a method and a pattern.
	routes []string
	// draw makes a request for a route.
	draw func(d random.Source, s *site, route string) *request
	// judge returns what is wrong about an answer with a status below 300; empty if
	// nothing is.
	judge func(x *exchange) string
	// decides states that answers are decisions.
	decides bool
	// slow states that an answer takes long: fewer requests are drawn.
	slow bool
	// at is operators or apiServers for routes of another listener than that of callers.
	at string
}

// allows matches decisions that allow something.
var allows = regexp.MustCompile(`"allowed":true|"decision":true|"decision":"(allow|partial)"`)

// attacks are all attacks over HTTP. init fills it, since an exchange is judged by the
// attack that its path belongs to.
var attacks []*attack

func init() {
	attacks = []*attack{
		accessAttack, reviewAttack, originAttack, visibilityAttack, dashboardAttack, gatewayAttack, effectiveAttack,
		operationsAttack, operatorAttack, accessBatchAttack, gatewayBatchAttack, visibilityBatchAttack,
		authzenAttack, authzenSearchAttack, dataAttack, questionAttack, verifyAttack, filterAttack, compileAttack, listAttack, rulesReviewAttack, consoleAttack, objectsAttack,
		reachAttack, namespaceAttack, apiAttack,
	}
}

// request is a request as it is written.
type request struct {
	method, path, query string
	header              [][2]string
	body                []byte
}

func (r *request) set(name, value string) { r.header = append(r.header, [2]string{name, value}) }

// bytes is the request on the wire of HTTP/1.1.
func (r *request) bytes() []byte {
	var b bytes.Buffer
	target := r.path
	if r.query != "" {
		target += "?" + r.query
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", r.method, target)
	for _, field := range r.header {
		fmt.Fprintf(&b, "%s: %s\r\n", field[0], field[1])
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(r.body), r.body)
	return b.Bytes()
}

// exchange is a request as net/http reads it, and its answer.
type exchange struct {
	site   *site
	route  string
	sent   *http.Request // its body is body
	body   []byte
	status int
	answer []byte
	// mismatch is how the answer differs from the OpenAPI document; nil if it does not.
	mismatch error
	// edited states that the request is not as it was drawn.
	edited bool
}

// listener is the listener of a site that has the routes.
func (a *attack) listener(s *site) *listener {
	switch a.at {
	case operators:
		return s.operators
	case apiServers:
		return s.apiServers
	}
	return s.callers
}

// send answers a request at a site. It returns nil if net/http does not accept it.
func (a *attack) send(s *site, route string, r *request) *exchange {
	sent, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.bytes())))
	if err != nil || sent.Host == "" {
		return nil
	}
	x := &exchange{site: s, route: route, sent: sent}
	if x.body, err = io.ReadAll(sent.Body); err != nil {
		return nil
	}
	sent.Body = io.NopCloser(bytes.NewReader(x.body))
	if a.at == apiServers {
		sent.TLS = s.frontProxy
	}
	w := httptest.NewRecorder()
	listener := a.listener(s)
	listener.ServeHTTP(w, sent)
	x.status, x.answer = w.Code, w.Body.Bytes()
	x.mismatch = listener.document.Check(sent.Method, sent.URL.Path, w.Code, w.Header().Get("Content-Type"), x.answer)
	return x
}

// isJSON reports whether the body is declared to be JSON and not lines of it.
func (x *exchange) isJSON() bool { return x.sent.Header.Get("Content-Type") == "application/json" }

// caller is who sent the request, nil if it has no known token: the naive reading of its
// credentials.
func (x *exchange) caller() *caller {
	values := x.sent.Header["Authorization"]
	if len(values) != 1 {
		return nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "bearer") {
		return nil
	}
	return callers[strings.TrimLeft(token, " ")]
}

// problem returns what is wrong about an exchange, empty if nothing is.
func (a *attack) problem(x *exchange) string {
	if logged := x.site.takeErrors(); logged != "" {
		return "the server reports an error: " + logged
	}
	switch {
	case x.status >= http.StatusInternalServerError && x.status != http.StatusServiceUnavailable:
		return "an internal error"
	case x.mismatch != nil:
		return "the OpenAPI document has other answers: " + x.mismatch.Error()
	case x.status >= http.StatusMultipleChoices:
		return ""
	case a.at != apiServers && isSiteOther(x.sent.Header): // an API server checks that
		return "a request of another site's page is answered"
	case a.at != apiServers && (x.sent.Host != "localhost" || x.sent.URL.Host != "" && x.sent.URL.Host != "localhost"):
		return "a request for another host is answered"
	case strings.Contains(strings.ToLower(x.sent.URL.EscapedPath()), "%2f"):
		return "a path that hides a slash is answered"
	}
	for _, b := range attacks {
		if b.at == a.at && slices.ContainsFunc(b.routes, func(route string) bool { return fits(route, x.sent) }) {
			return b.judge(x) // an edited path may be that of another route
		}
	}
	return "a path that is not a route is answered"
}

// fits reports whether a request is for a route.
func fits(route string, sent *http.Request) bool {
	method, pattern, _ := strings.Cut(route, " ")
	want, got := strings.Split(pattern, "/"), strings.Split(sent.URL.Path, "/")
	if before, _, rest := strings.Cut(pattern, "*"); rest {
		return method == sent.Method && strings.HasPrefix(sent.URL.Path, before)
	}
	if method != sent.Method || len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (!strings.HasPrefix(want[i], ":") || got[i] == "") {
			return false
		}
	}
	return true
}

// isSiteOther reports whether a header marks the request of another site's page.
func isSiteOther(h http.Header) bool {
	return slices.ContainsFunc(h["Sec-Fetch-Site"], func(site string) bool { return site == "cross-site" || site == "same-site" })
}

// decoded decodes an answer; nil if it is not one JSON object.
func (x *exchange) decoded() map[string]any { return decodedObject(x.answer) }

func decodedObject(text []byte) map[string]any {
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // an answer repeats the numbers of a review
	if err := d.Decode(&object); err != nil {
		return nil
	}
	return object
}

// fuzz runs an attack. The arguments of the target are a route and a seed, which draw the
// request, and edits.
func (a *attack) fuzz(f *testing.F) {
	for route := range a.routes {
		for seed := range uint64(12) {
			f.Add(uint8(route), seed, []byte(nil))
			f.Add(uint8(route), seed, edits(seed*31+uint64(route)))
			f.Add(uint8(route), seed+100, edits(seed*37+uint64(route)))
		}
	}
	f.Fuzz(func(t *testing.T, number uint8, seed uint64, edits []byte) {
		route := a.routes[int(number)%len(a.routes)]
		d := random.New(seed, 21)
		s := a.worlds[d.IntN(len(a.worlds))]
		s.open(t)
		r := a.draw(d, s, route)
		r.edit(edits)
		x := a.send(s, route, r)
		if x == nil {
			return
		}
		x.edited = len(edits) > 0
		if problem := a.problem(x); problem != "" {
			t.Fatalf("%s\n%s\n-- answer %d --\n%s", problem, r.bytes(), x.status, x.answer)
		}
	})
}

// edits are random edits, the same for a seed.
func edits(seed uint64) []byte {
	d := random.New(seed, 22)
	list := make([]byte, 1+d.IntN(30))
	for i := range list {
		list[i] = byte(d.IntN(256))
	}
	return list
}

// The listeners beside that of callers, which mark their routes.
const (
	operators  = "operators: "
	apiServers = "API servers: "
)

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// Each route is covered by one attack, and each attack has a fuzz target. The routes are
// the router's own.
func TestEveryRouteIsAttacked(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	targets := make(map[string]bool)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range fuzzTarget.FindAllSubmatch(content, -1) {
			targets[string(match[1])] = true
		}
	}
	covered := make(map[string]string)
	for _, a := range attacks {
		if !targets[a.target] {
			t.Errorf("%s is not declared", a.target)
		}
		for _, route := range a.routes {
			route = a.at + route
			if covered[route] != "" {
				t.Errorf("%s and %s cover %s", covered[route], a.target, route)
			}
			covered[route] = a.target
		}
	}
	s := accessSites[0]
	s.open(t)
	found := make(map[string]bool)
	for prefix, listener := range map[string]*listener{"": s.callers, operators: s.operators, apiServers: s.apiServers} {
		for _, route := range listener.Handler.(*gin.Engine).Routes() {
			if prefix != "" && route.Path == "/v1/openapi.json" {
				continue // attacked on the other listener
			}
			name := prefix + route.Method + " " + route.Path
			if found[name] = true; covered[name] == "" {
				t.Errorf("no attack covers %s", name)
			}
		}
	}
	for route := range covered {
		if !found[route] {
			t.Errorf("%s is not a route", route)
		}
	}
	if len(found) < 20 {
		t.Errorf("found %d routes, which cannot be all", len(found))
	}
}

// Requests that are not edited are answered as the oracle decides, and some of them are
// allowed: a server that denied everything would withstand every attack. The answers of
// each operation of the OpenAPI documents fit its schemas.
func TestDrawnRequestsAreAnswered(t *testing.T) {
	for _, a := range attacks {
		for number, route := range a.routes {
			answered, allowed, draws, least := 0, 0, uint64(60), 20
			if a.slow {
				draws, least = 15, 2
			}
			for seed := range draws {
				d := random.New(seed, 21)
				s := a.worlds[d.IntN(len(a.worlds))]
				s.open(t)
				r := a.draw(d, s, route)
				x := a.send(s, route, r)
				if x == nil {
					t.Fatalf("%s %d: net/http does not accept\n%s", a.target, number, r.bytes())
				}
				if problem := a.problem(x); problem != "" {
					t.Errorf("%s\n%s\n-- answer %d --\n%s", problem, r.bytes(), x.status, x.answer)
				}
				if x.status < http.StatusMultipleChoices {
					answered++
				}
				if err := a.listener(s).document.CheckRequest(r.method, x.sent.URL.Path, r.body); err != nil && x.isJSON() && x.status == http.StatusOK {
					t.Errorf("%s: a request that is answered: %v", route, err)
				}
				if allows.Match(x.answer) {
					allowed++
				}
			}
			if answered < least || a.decides && allowed < 2 {
				t.Errorf("%s: of %d requests %d are answered and %d allowed", route, draws, answered, allowed)
			}
		}
	}
	for _, document := range documents {
		for _, operation := range document.Operations() {
			if checked := document.Checked(); !checked[operation+" 200"] && !checked[operation+" 202"] {
				t.Errorf("no answer to %s was compared with the document", operation)
			}
		}
	}
}

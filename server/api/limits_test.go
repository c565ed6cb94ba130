package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/kubernetes"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/metrics"
)

// bodyEndpoints are the endpoints that take a body, each with one it answers.
var bodyEndpoints = []struct{ name, path, body string }{
	{"sar", reviewPath, asked},
	{"origin", "/api/v1/ns/hammer/subjectaccessreviews", `{"kind":"SubjectAccessReview","apiVersion":"v1","spec":{"verb":"get","resourceKind":"Pod","userName":"clark"}}`},
	{"canonical", "/v1/decisions/access", `{"user":"clark","verb":"get","resource":"pods"}`},
	{"batch", "/v1/decisions/access/batch", `{"requests":[{"user":"clark","verb":"get","resource":"pods"}]}`},
}

func send(h http.Handler, method, path string, body io.Reader) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, body))
	return w
}

// Each of these ends in a refusal, on every endpoint, quickly and without its size
// in memory many times over.
func TestHostileBodies(t *testing.T) {
	bodies := []struct {
		name string
		body []byte
		want int
	}{
		{"a line of 2 MiB", bytes.Repeat([]byte("a"), 2<<20), http.StatusRequestEntityTooLarge},
		{"a string of 2 MiB", []byte(`{"user":"` + strings.Repeat("a", 2<<20) + `"}`), http.StatusRequestEntityTooLarge},
		{"10,000 deep", []byte(strings.Repeat(`{"a":`, 10_000)), http.StatusBadRequest},
		{"lists 10,000 deep", []byte(`{"attributes":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}"), http.StatusBadRequest},
		{"rubbish", []byte{0, 1, 2, 0xff, 0xfe, '{', '"', 0x80}, http.StatusBadRequest},
		{"gzip", []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}, http.StatusBadRequest},
		{"15,000 equal keys", []byte(`{"x":{` + strings.Repeat(`"a":1,`, 15_000) + `"b":1}}`), http.StatusBadRequest},
		{"100,000 equal keys", []byte(`{"x":{` + strings.Repeat(`"a":1,`, 100_000) + `"b":1}}`), http.StatusRequestEntityTooLarge},
		{"300,000 objects", []byte(`{"attributes":{"a":[` + strings.Repeat(`{},`, 300_000) + `{}]}}`), http.StatusRequestEntityTooLarge},
		{"a broken rune at the end", []byte("{\"user\":\"\xe2\x82"), http.StatusBadRequest},
		{"nothing", nil, http.StatusBadRequest},
	}
	for _, endpoint := range bodyEndpoints {
		for _, tt := range bodies {
			t.Run(endpoint.name+"/"+tt.name, func(t *testing.T) {
				f := &fake{}
				_, o := endpoints(f, nil)
				w := send(New(o), http.MethodPost, endpoint.path, bytes.NewReader(tt.body))
				if w.Code != tt.want || len(f.asked) > 0 {
					t.Errorf("got %d and %d evaluations, want %d and none: %s", w.Code, len(f.asked), tt.want, w.Body)
				}
				if w.Body.Len() > 2000 || !json.Valid(w.Body.Bytes()) {
					t.Errorf("got an answer of %d bytes: %.200s", w.Body.Len(), w.Body)
				}
			})
		}
	}
}

// A body that hides its length is cut off at the limit all the same.
func TestBodyWithoutALength(t *testing.T) {
	for _, endpoint := range bodyEndpoints {
		_, o := endpoints(&fake{}, func(o *Options) { o.MaxBody = 4 << 10 })
		r := httptest.NewRequest(http.MethodPost, endpoint.path, iotest.OneByteReader(strings.NewReader(strings.Repeat(" ", 5<<10))))
		r.ContentLength = -1
		w := httptest.NewRecorder()
		New(o).ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: got %d, want 413", endpoint.name, w.Code)
		}
		if got := w.Header().Get("Connection"); got != "close" {
			t.Errorf("%s: got connection %q, want it closed", endpoint.name, got)
		}
		if w := send(New(o), http.MethodPost, endpoint.path, iotest.OneByteReader(strings.NewReader(endpoint.body))); w.Code != http.StatusOK {
			t.Errorf("%s: got %d for a body in single bytes, want 200", endpoint.name, w.Code)
		}
	}
}

func TestBodyThatBreaksOff(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{errors.New("a secret of the network"), http.StatusBadRequest},
		{fmt.Errorf("read: %w", os.ErrDeadlineExceeded), http.StatusRequestTimeout},
	} {
		for _, endpoint := range bodyEndpoints {
			_, o := endpoints(&fake{}, nil)
			w := send(New(o), http.MethodPost, endpoint.path, io.MultiReader(strings.NewReader(endpoint.body[:10]), iotest.ErrReader(tt.err)))
			if w.Code != tt.want || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%s: got %d %s, want %d", endpoint.name, w.Code, w.Body, tt.want)
			}
		}
	}
}

func TestShedding(t *testing.T) {
	for _, endpoint := range bodyEndpoints {
		t.Run(endpoint.name, func(t *testing.T) {
			f := &fake{inside: make(chan struct{}), release: make(chan struct{})}
			m, o := endpoints(f, func(o *Options) { o.MaxInFlight = 2 })
			h := New(o)
			var callers sync.WaitGroup
			for range 2 {
				callers.Go(func() {
					if w := send(h, http.MethodPost, endpoint.path, strings.NewReader(endpoint.body)); w.Code != http.StatusOK {
						t.Errorf("got %d for a request that had its place, want 200", w.Code)
					}
				})
				<-f.inside
			}
			w := send(h, http.MethodPost, endpoint.path, strings.NewReader(endpoint.body))
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "" {
				t.Errorf("got %d, Retry-After %q, want 503 without", w.Code, w.Header().Get("Retry-After"))
			}
			if plain := !json.Valid(w.Body.Bytes()); plain != (endpoint.name == "sar") {
				t.Errorf("got the body %s", w.Body)
			}
			if w := send(h, http.MethodGet, "/healthz", nil); w.Code != http.StatusOK {
				t.Errorf("got %d from /healthz under load, want 200", w.Code)
			}
			close(f.release)
			callers.Wait()
			f.inside = nil
			if w := send(h, http.MethodPost, endpoint.path, strings.NewReader(endpoint.body)); w.Code != http.StatusOK {
				t.Errorf("got %d when the others were done, want 200", w.Code)
			}
			page := send(m.Handler(), http.MethodGet, "/", nil).Body.String()
			for _, want := range []string{"writ_http_requests_shed_total 1", "writ_http_requests_in_flight 0"} {
				if !strings.Contains(page, want+"\n") {
					t.Errorf("got no line %q", want)
				}
			}
		})
	}
}

// The values of a body are charged while its request is answered. A request for which
// the others leave too few is shed, before anything is made of its body.
func TestValuesAreCharged(t *testing.T) {
	for _, endpoint := range bodyEndpoints {
		t.Run(endpoint.name, func(t *testing.T) {
			f, values := &fake{}, limits.NewBudget(100)
			m, o := endpoints(f, func(o *Options) { o.Values = values })
			h := New(o)
			values.Acquire(98)
			w := send(h, http.MethodPost, endpoint.path, strings.NewReader(endpoint.body))
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "" || len(f.asked) > 0 {
				t.Errorf("got %d, Retry-After %q, want 503 without", w.Code, w.Header().Get("Retry-After"))
			}
			if plain := !json.Valid(w.Body.Bytes()); plain != (endpoint.name == "sar") {
				t.Errorf("got the body %s", w.Body)
			}
			values.Release(98)
			if w := send(h, http.MethodPost, endpoint.path, strings.NewReader(endpoint.body)); w.Code != http.StatusOK {
				t.Errorf("got %d with values left, want 200", w.Code)
			}
			if held := values.Held(); held != 0 {
				t.Errorf("%d values are charged after the answers, want 0", held)
			}
			page := send(m.Handler(), http.MethodGet, "/", nil).Body.String()
			if !strings.Contains(page, `writ_requests_refused_total{reason="values_in_use"} 1`) {
				t.Error("the refusal is not counted")
			}
		})
	}
}

// A slow sender takes no place; large bodies have few of their own.
func TestSlowAndLargeBodies(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) { o.MaxInFlight = 1 })
	h := New(o)
	var slow sync.WaitGroup
	var feeds []*io.PipeWriter
	begin := func(bytes int) {
		body, feed := io.Pipe()
		feeds = append(feeds, feed)
		slow.Go(func() { send(h, http.MethodPost, reviewPath, body) })
		if _, err := feed.Write([]byte(strings.Repeat(" ", bytes))); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		begin(10)
	}
	for range exchange.MaxLarge {
		begin(exchange.SmallBody)
		// The second writing is taken when the first has been counted.
		if _, err := feeds[len(feeds)-1].Write([]byte("  ")); err != nil {
			t.Fatal(err)
		}
		if _, err := feeds[len(feeds)-1].Write([]byte(" ")); err != nil {
			t.Fatal(err)
		}
	}
	if w := send(h, http.MethodPost, reviewPath, strings.NewReader(asked)); w.Code != http.StatusOK {
		t.Errorf("got %d beside slow bodies, want 200", w.Code)
	}
	padded := strings.Repeat(" ", 2*exchange.SmallBody) + asked
	if w := send(h, http.MethodPost, reviewPath, strings.NewReader(padded)); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d for one large body too many, want 503", w.Code)
	}
	for _, feed := range feeds {
		feed.Close()
	}
	slow.Wait()
	if w := send(h, http.MethodPost, reviewPath, strings.NewReader(padded)); w.Code != http.StatusOK {
		t.Errorf("got %d for a large body when the others were gone, want 200", w.Code)
	}
}

// Slow senders of bodies that are not large share a budget. Small reviews are answered
// meanwhile, and larger ones when the slow senders are gone.
func TestBodiesShareABudget(t *testing.T) {
	m, o := endpoints(&fake{}, nil)
	h := New(o)
	var slow sync.WaitGroup
	var feeds []*io.PipeWriter
	refused := make(chan int, 2*exchange.MaxBodies/exchange.SmallBody)
	for range cap(refused) {
		body, feed := io.Pipe()
		feeds = append(feeds, feed)
		slow.Go(func() {
			defer body.Close()
			if w := send(h, http.MethodPost, reviewPath, body); w.Code == http.StatusServiceUnavailable {
				refused <- w.Code
			}
		})
		// The last part of the body is read once the parts before it are held.
		for range exchange.SmallBody / 4 >> 10 {
			if _, err := feed.Write([]byte(strings.Repeat(" ", 4<<10))); err != nil {
				break
			}
		}
	}
	if len(refused) == 0 {
		t.Error("all bodies are held")
	}
	if w := send(h, http.MethodPost, reviewPath, strings.NewReader(asked)); w.Code != http.StatusOK {
		t.Errorf("got %d beside slow bodies, want 200", w.Code)
	}
	padded := strings.Repeat(" ", exchange.SmallBody-len(asked)) + asked
	if w := send(h, http.MethodPost, reviewPath, strings.NewReader(padded)); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d for a body beyond the budget, want 503", w.Code)
	}
	for _, feed := range feeds {
		feed.Close()
	}
	slow.Wait()
	if w := send(h, http.MethodPost, reviewPath, strings.NewReader(padded)); w.Code != http.StatusOK {
		t.Errorf("got %d when the others were gone, want 200", w.Code)
	}
	if page := send(m.Handler(), http.MethodGet, "/metrics", nil).Body.String(); !strings.Contains(page, `writ_requests_refused_total{reason="bodies_in_use"}`) {
		t.Error("the refusals are not counted")
	}
}

// Who-can has few places of its own, and takes none of the decisions'.
func TestSheddingOfWhoCan(t *testing.T) {
	f := &fake{inside: make(chan struct{}), release: make(chan struct{})}
	_, o := endpoints(f, nil)
	h := New(o)
	list := func() int {
		body := `{"kind":"ResourceAccessReview","apiVersion":"v1","spec":{"verb":"get","resourceKind":"Pod"}}`
		return send(h, http.MethodPost, "/api/v1/ns/hammer/resourceaccessreviews", strings.NewReader(body)).Code
	}
	var callers sync.WaitGroup
	for range exchange.MaxListing {
		callers.Go(func() {
			if code := list(); code != http.StatusOK {
				t.Errorf("got %d, want 200", code)
			}
		})
		<-f.inside
	}
	if code := list(); code != http.StatusServiceUnavailable {
		t.Errorf("got %d, want 503", code)
	}
	close(f.release)
	callers.Wait()
}

// A handler that panics, before it has written anything and after.
func TestPanics(t *testing.T) {
	var log bytes.Buffer
	m := metrics.New()
	logger := slog.New(slog.NewTextHandler(&log, nil))
	w := &wrapper{service: exchange.New(exchange.Options{Metrics: m, Logger: logger, Rule: openRule})}
	early := func(http.ResponseWriter, *http.Request) { panic("a secret") }
	engine := w.router("test", []route{
		{methods: "POST", pattern: "/apis/webhook", role: auth.Public, form: kubernetes.Form, handler: early},
		{methods: "POST", pattern: "/api/review", role: auth.Public, form: exchange.Status, handler: early},
		{methods: "POST", pattern: "/v1/other", role: auth.Public, handler: early},
		{methods: "POST", pattern: "/late", role: auth.Public, handler: func(w http.ResponseWriter, _ *http.Request) {
			exchange.Write(w, 200, exchange.JSON, []byte("{"))
			panic("a secret")
		}},
	})
	for _, tt := range []struct {
		path string
		code int
		body string
	}{
		{"/apis/webhook", 200, `"denied":true`},
		{"/api/review", 500, `"kind":"Status"`},
		{"/v1/other", 500, `"title":"Internal Server Error"`},
	} {
		w := send(engine, http.MethodPost, tt.path, nil)
		if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.body) || !json.Valid(w.Body.Bytes()) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: got %d %s, want %d with %s", tt.path, w.Code, w.Body, tt.code, tt.body)
		}
	}
	func() {
		defer func() {
			if cause := recover(); cause != http.ErrAbortHandler {
				t.Errorf("half an answer: got %v, want the connection aborted", cause)
			}
		}()
		send(engine, http.MethodPost, "/late", nil)
	}()
	if page := send(m.Handler(), http.MethodGet, "/", nil).Body.String(); !strings.Contains(page, "writ_http_requests_panicked_total 4\n") || !strings.Contains(page, "writ_http_requests_in_flight 0\n") {
		t.Error("the panics were not counted")
	}
	if !strings.Contains(log.String(), "a secret") {
		t.Error("the log does not say what happened")
	}
}

func TestSecurityHeaders(t *testing.T) {
	_, o := endpoints(&fake{}, nil)
	for _, path := range []string{"/healthz", "/metrics", "/nowhere", reviewPath} {
		header := send(New(o), http.MethodGet, path, nil).Header()
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cache-Control") != "no-store" || header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: got %v", path, header)
		}
	}
}

func TestReadyz(t *testing.T) {
	ready := false
	_, o := endpoints(&fake{}, func(o *Options) { o.Ready = func() bool { return ready } })
	h := New(o)
	if w := send(h, http.MethodGet, "/readyz", nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d, want 503", w.Code)
	}
	ready = true
	if w := send(h, http.MethodGet, "/readyz", nil); w.Code != http.StatusOK {
		t.Errorf("got %d, want 200", w.Code)
	}
}

// Paths that callers choose make no series; decisions are counted by outcome.
func TestCounting(t *testing.T) {
	f := &fake{}
	_, o := endpoints(f, nil)
	h := New(o)
	for i := range 20 {
		send(h, http.MethodGet, fmt.Sprint("/nowhere/", i), nil)
		send(h, http.MethodPost, fmt.Sprint("/clusters/c", i, reviewPath), strings.NewReader(asked))
	}
	for _, verb := range []string{"get", "delete", "fails"} {
		for _, user := range []string{"clark", "edgar"} {
			send(h, http.MethodPost, "/v1/decisions/access", strings.NewReader(`{"user":"`+user+`","verb":"`+verb+`","resource":"pods"}`))
		}
	}
	page := send(h, http.MethodGet, "/metrics", nil).Body.String()
	for _, want := range []string{
		`writ_http_requests_total{code="404",method="GET",route="none"} 20`,
		`writ_http_requests_total{code="200",method="POST",route="/clusters/:cluster` + reviewPath + `"} 20`,
		`writ_decisions_total{outcome="allow",point="access"} 1`,
		`writ_decisions_total{outcome="deny",point="access"} 2`,
		`writ_decisions_total{outcome="error",point="access"} 2`,
		`writ_decisions_total{outcome="no_opinion",point="access"} 21`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("got no line %q", want)
		}
	}
	if strings.Contains(page, "/nowhere") {
		t.Error("a caller's path is a label")
	}
}

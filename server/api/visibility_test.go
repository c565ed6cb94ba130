package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/decision"
)

// viewing is a fake that shows users the items of their name.
type viewing struct {
	fake
	labels map[string]string // of the cluster, at the last question
	blind  bool              // it shows nothing
}

func (v *viewing) Visibility(_ context.Context, r *decision.VisibilityRequest) decision.Authorization {
	v.mu.Lock()
	v.labels = r.Cluster.Labels
	v.mu.Unlock()
	switch r.User {
	case "panic":
		panic("a secret of the engine")
	case "fails":
		return decision.FailedAuthorization("no revision loaded")
	case "":
		a := decision.DeniedAuthorization("no principal")
		a.Revision = fakeRevision
		return a
	}
	return decision.Authorization{Decision: decision.VisibleSome, Permissions: []string{"view"}, Policy: "own", Revision: fakeRevision}
}

func (v *viewing) FilterItems(_ context.Context, r *decision.VisibilityRequest, a decision.Authorization, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	d := decision.VisibilityDecision{Authorization: a}
	if items == nil {
		return d, nil
	}
	index := 0
	for item, err := range items {
		if err != nil {
			return d, err
		}
		if a.Decision != decision.VisibleNone && item.Name == r.User && !v.blind {
			if err := yield(index); err != nil {
				return d, err
			}
		}
		index++
	}
	return d, nil
}

const (
	visiblePath = "/v1/decisions/visibility"
	ownHead     = `{"decision":"partial","permissions":["view"],"policy":"own","reason":"","filters":{},"matched":[]}`
	noNumbers   = `{"aggregations":{},"metrics":{}}`
)

func post(h http.Handler, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, visiblePath, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestVisibility(t *testing.T) {
	m, o := endpoints(&fake{}, func(o *Options) { o.Current, o.MaxBody = serving(&viewing{}), 200 })
	h := New(o)
	long := `{"name":"` + strings.Repeat("x", 300) + `"}`
	for _, row := range []struct {
		name, media, body string
		code              int
		want              string // of the answer, "..." for the rest
	}{
		{
			"a whole request", "application/json", `{"user":"a","items":[{"name":"a"},{"name":"b"},{"name":"a"}]}`, 200,
			strings.TrimSuffix(ownHead, "}") + `,"visible":[0,2],"aggregations":{},"metrics":{}}`,
		},
		{"denied", "application/json", `{"items":[{"name":""}]}`, 200, `{"decision":"deny","permissions":[],"policy":"","reason":"no principal"...`},
		{"fails", "application/json", `{"user":"fails"}`, 200, `{"decision":"deny","permissions":[],"policy":"","reason":"denied: evaluation error: no revision loaded"...`},
		{"a panic", "application/json", `{"user":"panic"}`, 200, `{"decision":"deny","permissions":[],"policy":"","reason":"denied: evaluation error: internal error"...`},
		{"no request", "application/json", `{"user":1}`, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"key \"user\" must be a string","error":{"code":"invalid_request"...`},
		{"another type", "text/plain", `{}`, 415, `{"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"the content type must be application/json or application/x-ndjson"}`},
		{"too large", "application/json", long, 413, `{"type"...`},
		{"a stream", linesMedia, "{\"user\":\"a\"}\n{\"name\":\"a\"}\n\n{}\n{\"name\":\"a\"}", 200, ownHead + "\n" + `{"visible":[0,2]}` + "\n" + noNumbers},
		{"a stream of no items", linesMedia + "; charset=utf-8", `{"user":"a"}`, 200, ownHead + "\n" + noNumbers},
		{"a stream that is denied", linesMedia, "{}\n{\"name\":\"a\"}", 200, `{"decision":"deny","permissions":[],"policy":"","reason":"no principal","filters":{},"matched":[]}` + "\n" + noNumbers},
		{"a stream with an evaluation error", linesMedia, `{"user":"fails"}`, 200, `{"decision":"deny","permissions":[],"policy":"","reason":"denied: evaluation error: no revision loaded","filters":{},"matched":[]}` + "\n" + noNumbers},
		{"a stream longer than a body", linesMedia, "{\"user\":\"a\"}\n" + strings.Repeat("{\"name\":\"b\"}\n", 100), 200, ownHead + "\n" + noNumbers},
		{"a line longer than a body", linesMedia, "{\"user\":\"a\"}\n{\"name\":\"a\"}\n" + long, 200, ownHead + "\n" + `{"error":{"code":"invalid_request","message":"item 1: the line is longer than 200 bytes"}}`},
		{"a stream that begins with an invalid request", linesMedia, "{\"user\":1}\n{}", 400, `{"type":"about:blank","title":"Bad Request"...`},
		{"a stream with items of its own", linesMedia, `{"user":"a","items":[]}`, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"key \"items\" must be absent...`},
		{"an invalid item", linesMedia, "{\"user\":\"a\"}\n[]", 200, ownHead + "\n" + `{"error":{"code":"invalid_request","message":"item 0: the item is not a JSON object"}}`},
		{"a stream and a panic", linesMedia, `{"user":"panic"}`, 500, `{"type":"about:blank","title":"Internal Server Error"...`},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := post(h, row.media, row.body)
			got := strings.TrimSuffix(w.Body.String(), "\n")
			want, cut := strings.CutSuffix(row.want, "...")
			if w.Code != row.code || got != want && !(cut && strings.HasPrefix(got, want)) {
				t.Errorf("got %d\n%s\nwant %d\n%s", w.Code, got, row.code, row.want)
			}
			if strings.Contains(row.want, ownHead[1:20]) && w.Header().Get("Writ-Revision") != fakeRevision {
				t.Errorf("got revision %q, want %q", w.Header().Get("Writ-Revision"), fakeRevision)
			}
		})
	}
	page := send(m.Handler(), http.MethodGet, "/", nil).Body.String()
	for _, want := range []string{
		`writ_decisions_total{outcome="allow",point="visibility"} 6`, `writ_decisions_total{outcome="deny",point="visibility"} 2`,
		`writ_decisions_total{outcome="error",point="visibility"} 3`, `writ_decisions_total{outcome="allow",point="access"} 0`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// Without a revision everything is denied.
func TestVisibilityWithoutARevision(t *testing.T) {
	_, o := endpoints(nil, func(o *Options) { o.Current = serving(decision.Unavailable("no revision loaded")) })
	for _, media := range []string{"application/json", linesMedia} {
		w := post(New(o), media, `{"user":"a"}`)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"decision":"deny"`) || !strings.Contains(w.Body.String(), "no revision loaded") {
			t.Errorf("%s: got %d %s, want a denial", media, w.Code, w.Body)
		}
	}
}

// labelled are clusters that have labels.
type labelled struct{ access.Clusters }

func (labelled) Labels(name string) map[string]string { return map[string]string{"of": name} }

func TestClusterLabels(t *testing.T) {
	for _, row := range []struct{ name, body, want string }{
		{"left out", `{"user":"a","cluster":{"name":"c"}}`, "c"},
		{"given, though none", `{"user":"a","cluster":{"name":"c","labels":{}}}`, ""},
		{"given", `{"user":"a","cluster":{"name":"c","labels":{"of":"x"}}}`, "x"},
		{"of no cluster", `{"user":"a"}`, ""},
	} {
		for _, media := range []string{"application/json", linesMedia} {
			t.Run(row.name+" "+media, func(t *testing.T) {
				v := &viewing{}
				_, o := endpoints(&fake{}, func(o *Options) { o.Current, o.Clusters = serving(v), labelled{} })
				post(New(o), media, row.body)
				if got := v.labels["of"]; got != row.want {
					t.Errorf("got the label %q, want %q", got, row.want)
				}
			})
		}
	}
}

// What may be seen goes out while items still come, beyond what a request may
// take otherwise; and a caller who falls silent is not waited for.
func TestStreamAsItComes(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) { o.Current, o.Timeout = serving(&viewing{}), 2*time.Second })
	server := httptest.NewUnstartedServer(New(o))
	server.Config.ReadTimeout, server.Config.WriteTimeout = 2*time.Second, 2*time.Second
	server.Start()
	defer server.Close()
	body, feed := io.Pipe()
	response := make(chan *http.Response, 1)
	go func() {
		r, err := http.Post(server.URL+visiblePath, linesMedia, body)
		if err != nil {
			t.Error(err)
		}
		response <- r
	}()
	say := func(text string) {
		if _, err := io.WriteString(feed, text); err != nil {
			t.Fatal(err)
		}
	}
	say("{\"user\":\"a\"}\n{\"name\":\"a\"}\n")
	r := <-response
	if r == nil {
		t.FailNow()
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	expect := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %s, %v, want %s", lines.Text(), lines.Err(), want)
		}
	}
	expect(ownHead)
	expect(`{"visible":[0]}`)
	say("{}\n{\"name\":\"a\"}\n")
	expect(`{"visible":[2]}`)
	expect(`{"error":{"code":"evaluation_error","message":"the body took too long"}}`)
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("got %s, %v, want the end", lines.Text(), lines.Err())
	}
	feed.CloseWithError(errors.New("the test is over"))
}

// A stream keeps the revision it began with, whatever is loaded meanwhile.
func TestStreamKeepsItsRevision(t *testing.T) {
	var active atomic.Pointer[viewing]
	first, second := &viewing{}, &viewing{blind: true}
	active.Store(first)
	loaded := 0
	_, o := endpoints(nil, func(o *Options) {
		o.Current = func() decision.Policies { loaded++; return active.Load() }
	})
	body, feed := io.Pipe()
	r := httptest.NewRequest(http.MethodPost, visiblePath, body)
	r.Header.Set("Content-Type", linesMedia)
	w := httptest.NewRecorder()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		New(o).ServeHTTP(w, r)
	}()
	for i, text := range []string{"{\"user\":\"a\"}\n{\"name\":\"a\"}\n", "{}\n", "{\"name\":\"a\"}\n"} {
		if _, err := io.WriteString(feed, text); err != nil {
			t.Fatal(err)
		}
		if i == 1 { // the reader takes a second write when it has read the first
			active.Store(second)
		}
	}
	feed.Close()
	<-ended
	if !strings.HasPrefix(w.Body.String(), ownHead+"\n"+`{"visible":[0`) || !strings.HasSuffix(w.Body.String(), `2]}`+"\n"+noNumbers+"\n") || loaded != 1 {
		t.Errorf("got %s, revisions loaded %d times", w.Body, loaded)
	}
}

// A line has as many values as a body, and they are charged as those of a body are.
func TestValuesOfStreams(t *testing.T) {
	many := `{"name":"a","fields":{"l":[` + strings.Repeat("1,", 200) + `1]}}`
	for _, row := range []struct {
		name, body, want string
		code             int
		held             int64
	}{
		{"within", "{\"user\":\"a\"}\n{\"name\":\"a\"}", noNumbers, 200, 0},
		{"a request with many values", `{"user":"a","groups":[` + strings.Repeat(`"g",`, 200) + `"g"]}`, "more than 100 values", 413, 0},
		{"an item with many values", "{\"user\":\"a\"}\n" + many, "item 0: the item has more than 100 values", 200, 0},
		{"a request without values left", `{"user":"a"}`, "too many values", 503, 999},
		{"an item without values left", "{\"user\":\"a\"}\n{\"name\":\"a\",\"labels\":{}}", `"message":"too many values in flight"`, 200, 997},
	} {
		values := limits.NewBudget(1000)
		values.Acquire(row.held)
		_, o := endpoints(&fake{}, func(o *Options) { o.Current, o.MaxValues, o.Values = serving(&viewing{}), 100, values })
		w := post(New(o), linesMedia, row.body)
		if w.Code != row.code || !strings.Contains(w.Body.String(), row.want) {
			t.Errorf("%s: got %d %s, want %d with %s", row.name, w.Code, w.Body, row.code, row.want)
		}
		if held := values.Held(); held != row.held {
			t.Errorf("%s: %d values are charged after it, want %d", row.name, held, row.held)
		}
	}
}

// Streams are few, and take no place of decisions.
func TestSheddingOfStreams(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) { o.Current, o.MaxInFlight = serving(&viewing{}), 1 })
	h := New(o)
	var feeds []*io.PipeWriter
	ended := make(chan int, maxStreams)
	for range maxStreams {
		body, feed := io.Pipe()
		feeds = append(feeds, feed)
		r := httptest.NewRequest(http.MethodPost, visiblePath, body)
		r.Header.Set("Content-Type", linesMedia)
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			ended <- w.Code
		}()
		if _, err := feed.Write([]byte("{\"user\":\"a\"}\n")); err != nil {
			t.Fatal(err)
		}
	}
	if w := post(h, linesMedia, `{"user":"a"}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d for one stream too many, want 503", w.Code)
	}
	if w := post(h, "application/json", `{"user":"a"}`); w.Code != http.StatusOK {
		t.Errorf("got %d beside streams, want 200", w.Code)
	}
	for _, feed := range feeds {
		feed.Close()
	}
	for range feeds {
		if code := <-ended; code != http.StatusOK {
			t.Errorf("got %d, want 200", code)
		}
	}
	if w := post(h, linesMedia, `{"user":"a"}`); w.Code != http.StatusOK {
		t.Errorf("got %d when the others were gone, want 200", w.Code)
	}
}

// A list of items may have any number of values within the body and the budget of all
// requests; other requests may not.
func TestLongLists(t *testing.T) {
	items := `"items":[` + strings.Repeat(`{"name":"a"},`, 300) + `{"name":"a"}]`
	for name, row := range map[string]struct {
		path, body string
		held       int64
		code       int
	}{
		"a list":                  {visiblePath, `{"user":"a",` + items + `}`, 0, 200},
		"a list beside others":    {visiblePath, `{"user":"a",` + items + `}`, 2900, 503},
		"a list with a long body": {visiblePath, `{"user":"a",` + strings.Replace(items, `"a"`, `"`+strings.Repeat("a", 10_000)+`"`, 1) + `}`, 0, 413},
		"groups of a user":        {"/v1/decisions/access", `{"user":"a","verb":"get","resource":"pods","groups":[` + strings.Repeat(`"g",`, 300) + `"g"]}`, 0, 413},
	} {
		values := limits.NewBudget(3000)
		values.Acquire(row.held)
		_, o := endpoints(&fake{}, func(o *Options) {
			o.Current, o.MaxValues, o.MaxBody, o.Values = serving(&viewing{}), 100, 10_000, values
		})
		r := httptest.NewRequest(http.MethodPost, row.path, strings.NewReader(row.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if New(o).ServeHTTP(w, r); w.Code != row.code {
			t.Errorf("%s: got %d %.200s, want %d", name, w.Code, w.Body, row.code)
		}
		if held := values.Held(); held != row.held {
			t.Errorf("%s: %d values are charged after it, want %d", name, held, row.held)
		}
	}
}

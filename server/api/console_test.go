package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/answers"
)

// closedConsole is a console whose event streams end at once.
func closedConsole(o *Options) console.Console {
	x := answers.New(answers.Options{Current: o.Current, Status: o.Status})
	x.Close()
	return x
}

// consoled is a console with given answers.
type consoled struct {
	console.Viewer
	events chan console.Event
	asked  chan *console.Proposal // of those that are compared, until their context ends
}

func (c *consoled) Now() console.Viewer { return c }

func (*consoled) Revision() string { return fakeRevision }

func (c *consoled) Subscribe(_ context.Context, _ console.Caller, after int64, decisions bool) (<-chan console.Event, error) {
	if after != 7 || !decisions {
		return nil, console.Errorf(console.Busy, "too many")
	}
	return c.events, nil
}

func (*consoled) Matrix(_ context.Context, _ console.Caller, q console.MatrixQuery) (*console.Matrix, error) {
	cells := []console.Cell{{Outcome: console.Allow}, {Outcome: console.Depends}}
	m := &console.Matrix{Columns: []string{"get", "@sum"}, Rows: []console.Row{
		{Name: "=1+1", Kind: "user", Cells: cells}, {Name: "a,b", Kind: "group", Cells: []console.Cell{{Outcome: console.Deny}, {Outcome: console.None}}},
	}, Total: q.Limit}
	if q.Each != nil {
		return m, errors.Join(q.Each(&console.Matrix{Columns: m.Columns}), q.Each(m))
	}
	return m, nil
}

func (*consoled) Topology(console.Caller, string) (*console.Topology, error) {
	return &console.Topology{
		Nodes: []console.Node{{ID: "a", Kind: "Gateway", Name: `x"]<b>`, Policies: []console.NodePolicy{{Kind: "AuthPolicy", Namespace: "n", Name: "p"}}}, {ID: `b"`, Kind: "Listener", Name: "l"}},
		Edges: [][2]string{{"a", `b"`}},
	}, nil
}

func (c *consoled) Propose(ctx context.Context, _ console.Caller, p *console.Proposal) (*console.Diff, error) {
	if c.asked == nil {
		return nil, &console.Error{Reason: console.Mistaken, Message: "mistakes", Diagnostics: []console.Diagnostic{{File: "a.yaml", Line: 3}}}
	}
	c.asked <- p
	<-ctx.Done()
	return nil, console.Errorf(console.Busy, "the comparison took too long")
}

func (*consoled) Diff(_ context.Context, _ console.Caller, from, _ string) (*console.Diff, error) {
	if from == "" {
		return nil, &console.Error{Reason: console.Invalid, Field: "from", Message: "from must not be empty"}
	}
	return nil, &console.Error{Reason: console.Pending, Wait: 2 * time.Second}
}

func (*consoled) Document(_ console.Caller, file string, line int) (*console.Document, error) {
	if file != "a/b.yaml" || line != 3 {
		return nil, console.Errorf(console.NotFound, "document %q does not exist", file)
	}
	return &console.Document{File: file}, nil
}

func TestConsole(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) { o.Console = &consoled{} })
	h := New(o)
	for name, row := range map[string]struct {
		target string
		status int
		header [2]string
		body   string
	}{
		"a table":               {"/v1/matrix?resource=pods&format=csv", 200, [2]string{"Content-Disposition", "attachment; filename=matrix.csv"}, "subject,kind,get,'@sum\n'=1+1,user,allowed,depends\n\"a,b\",group,denied,not allowed\n"},
		"a limit":               {"/v1/matrix?limit=7", 200, [2]string{"Writ-Revision", fakeRevision}, `"total":7`},
		"not a limit":           {"/v1/matrix?limit=-1", 400, [2]string{}, "limit must be a number"},
		"another format":        {"/v1/matrix?format=xls", 400, [2]string{}, "json or csv"},
		"an unknown parameter":  {"/v1/matrix?colour=red", 400, [2]string{}, "no parameter but"},
		"a needless parameter":  {"/v1/rates?window=1h", 400, [2]string{}, `"the query must have no parameter"`},
		"not UTF-8":             {"/v1/subject?subject=user:%ff", 400, [2]string{}, "the parameter subject must be UTF-8"},
		"a parameter twice":     {"/v1/matrix?of=who&of=what", 400, [2]string{}, "once each"},
		"a long query":          {"/v1/matrix?search=" + strings.Repeat("a", 17<<10), 414, [2]string{}, "16384"},
		"Graphviz":              {"/v1/topology?format=dot", 200, [2]string{"Content-Type", "text/plain; charset=utf-8"}, `"a" -> "b\""`},
		"Mermaid":               {"/v1/topology?format=mermaid", 200, [2]string{}, `n0["Gateway x#quot;]#lt;b#gt;<br>AuthPolicy n/p"]`},
		"a pending comparison":  {"/v1/diff?from=a&to=b", 202, [2]string{"Retry-After", "2"}, `{"state":"pending"}`},
		"an invalid comparison": {"/v1/diff", 400, [2]string{"Content-Type", "application/problem+json"}, `"field":"from"`},
		"a file in a folder":    {"/v1/documents/a/b.yaml?line=3", 200, [2]string{}, `"file":"a/b.yaml"`},
		"a file above":          {"/v1/documents/../b.yaml", 404, [2]string{}, ""},
		"too many streams":      {"/v1/events", 503, [2]string{}, "too many"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, row.target, nil))
			if w.Code != row.status || row.header[0] != "" && w.Header().Get(row.header[0]) != row.header[1] || !strings.Contains(w.Body.String(), row.body) {
				t.Errorf("got %d %v %s, want %d %v %s", w.Code, w.Header(), w.Body, row.status, row.header, row.body)
			}
		})
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/topology", nil)
	for host, want := range map[string]int{"evil.example": http.StatusMisdirectedRequest, "localhost:1": http.StatusOK} {
		_, o := endpoints(&fake{}, func(o *Options) { o.Console, o.Rule.Loopback = &consoled{}, true })
		r.Host = host
		w := httptest.NewRecorder()
		if New(o).ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: got %d, want %d", host, w.Code, want)
		}
	}
}

// The time of an explanation is written as times of documents are.
func TestTimeOfAnExplanation(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) { o.Console = &consoled{} })
	for _, at := range []string{"2026-11-22T9:00:00Z", "2026-11-22T09:00:00,5Z", "2026-11-22", "tomorrow"} {
		r := httptest.NewRequest(http.MethodPost, "/v1/explanations/access?at="+at, strings.NewReader(`{"user":"a","verb":"get","resource":"pods"}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if New(o).ServeHTTP(w, r); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "the parameter at must be an RFC 3339 time") {
			t.Errorf("%s: got %d %s", at, w.Code, w.Body)
		}
	}
}

// A stream has the ID, the name and the data of each event, and ends with the console.
func TestEventStream(t *testing.T) {
	c := &consoled{events: make(chan console.Event, 2)}
	c.events <- console.Event{ID: 8, Name: console.EventState, Data: console.StateEvent{Ready: true}}
	c.events <- console.Event{Name: console.EventRates, Data: console.RatesEvent{PerSecond: 1}}
	close(c.events)
	_, o := endpoints(&fake{}, func(o *Options) { o.Console = c })
	r := httptest.NewRequest(http.MethodGet, "/v1/events?decisions=1", nil)
	r.Header.Set("Last-Event-ID", "7")
	w := httptest.NewRecorder()
	New(o).ServeHTTP(w, r)
	const want = ": events of writ\n\nid: 8\nevent: state\ndata: {\"ready\":true,\"degraded\":false}\n\nevent: rates\ndata: {\"perSecond\":1,"
	if got := w.Body.String(); !strings.HasPrefix(got, want) || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Without a console its endpoints are not there.
func TestNoConsole(t *testing.T) {
	_, o := endpoints(&fake{}, nil)
	w := httptest.NewRecorder()
	New(o).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/matrix", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("got %d, want 404", w.Code)
	}
}

// A proposal is read strictly, and its mistakes are listed.
func TestProposal(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) { o.Console, o.MaxBody = &consoled{}, 1000 })
	h := New(o)
	for name, row := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"mistakes":          {`{"documents":[{"path":"a.yaml","content":"x"}],"removed":["b.yaml"],"whole":true}`, 422, `"detail":"mistakes","diagnostics":[{"file":"a.yaml","line":3,`},
		"nothing":           {`{}`, 400, `\"documents\" must be given, or removed`},
		"not an object":     {`[]`, 400, "not a JSON object"},
		"an unknown field":  {`{"document":[]}`, 400, `unknown field \"document\"`},
		"another case":      {`{"Documents":[]}`, 400, `unknown field \"Documents\"`},
		"a field twice":     {`{"documents":[],"documents":[]}`, 400, ""},
		"no content":        {`{"documents":[{"path":"a.yaml"}]}`, 400, `\"documents[0]\" must be an object with path and content`},
		"not a path":        {`{"documents":[{"path":1,"content":""}]}`, 400, `\"documents[0].path\" must be a string`},
		"an unknown member": {`{"documents":[{"path":"a","content":"","mode":1}]}`, 400, "path and content alone"},
		"not a bool":        {`{"documents":[],"whole":"yes"}`, 400, `\"whole\" must be true or false`},
		"a large body":      {`{"documents":[{"path":"a.yaml","content":"` + strings.Repeat("x", 1000) + `"}]}`, 413, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if w := send(h, http.MethodPost, "/v1/diff", strings.NewReader(row.body)); w.Code != row.status || !strings.Contains(w.Body.String(), row.want) {
				t.Errorf("got %d %s, want %d and %s", w.Code, w.Body, row.status, row.want)
			}
		})
	}
}

// Two proposals are compared at a time, and each ends with its caller.
func TestSheddingOfProposals(t *testing.T) {
	c := &consoled{asked: make(chan *console.Proposal)}
	_, o := endpoints(&fake{}, func(o *Options) { o.Console = c })
	h := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	propose := func(ctx context.Context) int {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/diff", strings.NewReader(`{"removed":["a.yaml"]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	var callers sync.WaitGroup
	for range 2 {
		callers.Go(func() { propose(ctx) })
		<-c.asked
	}
	if code := propose(t.Context()); code != http.StatusServiceUnavailable {
		t.Errorf("got %d, want 503", code)
	}
	if w := send(h, http.MethodGet, "/v1/matrix?limit=7", nil); w.Code != http.StatusOK {
		t.Errorf("beside proposals a view is refused: %d", w.Code)
	}
	cancel()
	callers.Wait()
	ctx, cancel = context.WithCancel(t.Context())
	callers.Go(func() { propose(ctx) })
	<-c.asked // there is a place again
	cancel()
	callers.Wait()
}

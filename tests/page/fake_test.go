package page

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/page"
	"github.com/writ-policy/writ/tests/gate"
)

// fake answers what a test cannot bring about quickly with documents: a comparison that takes
// long, many files, many routes that are alike, a slow view. It is asked nothing else.
type fake struct {
	console.Viewer
	compared atomic.Bool   // the comparison is done
	release  chan struct{} // nil, or what listing files waits for: a request for /busy
	ended    <-chan struct{}
}

func (f *fake) Now() console.Viewer { return f }

func (f *fake) Subscribe(context.Context, console.Caller, int64, bool) (<-chan console.Event, error) {
	return nil, console.ErrForbidden
}

func (f *fake) Revision() string { return "1111111111110000" }

func (f *fake) Status(console.Caller) *console.Status {
	return &console.Status{Ready: true, Revision: f.Revision()}
}

func (f *fake) Revisions(console.Caller) (*console.Revisions, error) {
	return &console.Revisions{Revisions: []console.Revision{{Revision: f.Revision(), Active: true}, {Revision: "2222222222220000"}}}, nil
}

func (*fake) Propose(context.Context, console.Caller, *console.Proposal) (*console.Diff, error) {
	return &console.Diff{Report: &diff.Report{}}, nil
}

func (f *fake) Diff(context.Context, console.Caller, string, string) (*console.Diff, error) {
	if !f.compared.Load() {
		return nil, &console.Error{Reason: console.Pending, Message: "the comparison is being made", Wait: time.Second}
	}
	return &console.Diff{Report: &diff.Report{}}, nil
}

func (f *fake) Files(console.Caller) (*console.Files, error) {
	if f.release != nil {
		select {
		case <-f.release:
		case <-f.ended: // the test failed before
		}
	}
	files := &console.Files{Files: []console.File{{File: "first.yaml"}}}
	for i := range 250 {
		files.Files = append(files.Files, console.File{File: fmt.Sprintf("teams/team-%03d.yaml", i)})
	}
	return files, nil
}

func (f *fake) Rules(console.Caller, console.RulesQuery) (*console.Rules, error) {
	return &console.Rules{}, nil
}

func (f *fake) Log(context.Context, console.Caller, console.LogQuery) (*console.Log, error) {
	return &console.Log{Size: 1000}, nil
}

func (f *fake) Topology(console.Caller, string) (*console.Topology, error) {
	t := &console.Topology{
		Gateways: []string{"net/edge"}, Edges: [][2]string{{"Gateway/net/edge", "Gateway/net/edge#http"}},
		Nodes: []console.Node{{ID: "Gateway/net/edge", Kind: "Gateway", Name: "net/edge"}, {ID: "Gateway/net/edge#http", Kind: "Listener", Name: "http", Column: 1}},
	}
	for i := range 37 {
		route := fmt.Sprintf("HTTPRoute/shop/route-%02d", i)
		t.Nodes = append(t.Nodes, console.Node{ID: route, Kind: "HTTPRoute", Name: fmt.Sprintf("shop/route-%02d", i), Column: 2}, console.Node{ID: route + "#all", Kind: "Rule", Name: "all", Column: 3})
		t.Edges = append(t.Edges, [2]string{"Gateway/net/edge#http", route}, [2]string{route, route + "#all"})
	}
	return t, nil
}

func (f *fake) Effective(console.Caller, string, string) (*console.Effective, error) {
	return &console.Effective{}, nil
}

// serve serves the page with the answers of f, and returns where.
func (f *fake) serve(t *testing.T) string {
	t.Helper()
	requireBrowser(t)
	f.ended = t.Context().Done()
	s := httptest.NewServer(page.New(page.Options{
		Console: f, Caller: func(*http.Request) (console.Caller, error) { return console.Caller{SeesAll: true}, nil },
		JSON: func(yaml []byte) ([]byte, error) { return yaml, nil }, AnswersFor: func(string) bool { return true },
		Endpoints: func(host string) string { return "http://" + host },
		Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/busy" {
				close(f.release)
				w.WriteHeader(http.StatusNoContent)
				return
			}
			// Events, which never come.
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-f.ended:
			}
		}),
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A comparison that takes long is waited for, or stopped.
func TestLongComparison(t *testing.T) {
	gate.Only(t)
	f := &fake{}
	b := newTab(t, f.serve(t), desktop)
	b.open("/page/changes")
	b.click("button", "Compare")
	if busy := apply[string](b, b.find("main", ""), `function() { return this.ariaBusy }`); busy != "true" {
		t.Errorf("aria-busy is %q", busy)
	}
	b.click("button", "Stop")
	if got := b.path(); got != "/page/changes" {
		t.Errorf("Stop leads to %s", got)
	}
	b.click("button", "Compare")
	b.find("button", "Stop")
	f.compared.Store(true)
	b.eventually("the result comes by itself", func() bool { return b.text(b.find("region", "Difference")) != "" && len(b.all("button", "Stop")) == 0 })
	b.eventually("the view is not busy", func() bool {
		return apply[bool](b, b.find("main", ""), `function() { return !this.hasAttribute('aria-busy') }`)
	})
}

// A folder with many entries is opened on demand.
func TestWideFolder(t *testing.T) {
	b := newTab(t, (&fake{}).serve(t), desktop)
	b.open("/page/documents")
	b.find("link", "first.yaml")
	if len(b.all("link", "team-000.yaml")) > 0 {
		t.Error("the folder is open from the start")
	}
	b.click("link", "teams/ 250 entries")
	if got := b.path(); got != "/page/documents?open=teams" {
		t.Errorf("opening the folder leads to %s", got)
	}
	b.find("link", "team-249.yaml")
}

// Routes that are alike are one node, which is opened on demand.
func TestRoutesAlike(t *testing.T) {
	b := newTab(t, (&fake{}).serve(t), desktop)
	b.open("/page/inheritance")
	if len(b.all("link", "HTTPRoute shop/route-00")) > 0 {
		t.Error("the routes are drawn apart from the start")
	}
	b.goes(func() {
		apply[bool](b, b.find("link", "HTTPRoute 37 routes alike"), `function() { this.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true, view: window})); return true }`)
	})
	b.find("link", "HTTPRoute shop/route-00")
	b.find("link", "HTTPRoute shop/route-36")
}

// While the next view is computed, the one that is left stays and says that it waits.
func TestBusy(t *testing.T) {
	f := &fake{release: make(chan struct{})}
	b := newTab(t, f.serve(t), desktop)
	b.open("/page/log")
	// The next view comes once this one reports that it waits.
	get(b, chromedp.Evaluate[bool](`new MutationObserver((_, o) => { o.disconnect(); fetch('/busy') }).observe(document.querySelector('main'), {attributeFilter: ['aria-busy']}), true`))
	b.click("link", "Documents")
	b.find("heading", "Documents")
}

// Where the focus is can be seen, at each stop of the keyboard.
func TestFocusIsVisible(t *testing.T) {
	b := newTab(t, (&fake{}).serve(t), desktop)
	b.open("/page/log")
	seen := make(map[string]bool)
	for range 20 {
		b.press("\t")
		at := get(b, chromedp.Evaluate[struct {
			Name    string `json:"name"`
			Outline string `json:"outline"`
		}](`(e => ({name: e.tagName + ' ' + (e.name ?? '') + e.textContent.slice(0, 20), outline: getComputedStyle(e).outlineStyle + ' ' + getComputedStyle(e).outlineWidth}))(document.activeElement)`))
		if at.Name == "BODY " || seen[at.Name] {
			break
		}
		seen[at.Name] = true
		if at.Outline != "solid 2px" {
			t.Errorf("%s has the focus with outline %s", at.Name, at.Outline)
		}
	}
	if len(seen) < 10 {
		t.Errorf("the keyboard stops %d times, want at least 10", len(seen))
	}
}

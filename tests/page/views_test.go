package page

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// views are looked at in every size and theme.
var views = []string{
	"/page/", "/page/ask", deniedView, podView,
	"/page/ask/gateway?host=books.example.com&method=PUT&path=%2F7&identity=%7Bsub%3A+ann%2C+groups%3A+%5Breaders%5D%7D",
	"/page/ask?user=ada&verb=get&labels=%5B",
	"/page/who-can?resource=deploymentconfigs&namespace=hammer", "/page/who-can?of=what",
	"/page/who-can/subject?subject=Edgar", "/page/who-can/role?role=hammer%2FfatFingeredEditor",
	"/page/risks", "/page/risks?code=risk-create-workloads", "/page/reach", "/page/reach?to=cluster-admin",
	"/page/documents", "/page/documents/hammer/protected.yaml?line=9", "/page/documents/none.yaml", "/page/inheritance?kind=RateLimitPolicy", "/page/assertions", "/page/changes", "/page/changes/proposal", "/page/log", "/page/sign-in",
}

const podView = "/page/ask?cluster=prod-eu-1&groups=shop-developers&name=web-0&namespace=shop" +
	"&pod=%7B%22spec%22%3A%7B%22hostNetwork%22%3Atrue%2C%22containers%22%3A%5B%7B%22name%22%3A%22web%22%2C%22securityContext%22%3A%7B%22runAsUser%22%3A0%7D%7D%5D%7D%7D" +
	"&resource=pods&subresource=exec&user=priya&verb=create"

// axe is the engine of accessibility checks, which is not part of writ.
func axe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("testdata/axe.min.js.sha256")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(script)
	if want, _, _ := strings.Cut(string(recorded), " "); hex.EncodeToString(sum[:]) != want {
		t.Fatal("testdata/axe.min.js is not the file that was published")
	}
	return string(script)
}

// finding is what axe reports.
type finding struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML string `json:"html"`
		Why  string `json:"failureSummary"`
	} `json:"nodes"`
}

const runAxe = `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r => JSON.stringify(r.violations))`

// findings runs axe on the view.
func (b *tab) findings(script string) []finding {
	b.t.Helper()
	get(b, chromedp.Evaluate[chromedp.Void](script))
	text := get(b, chromedp.Evaluate[string](runAxe, chromedp.EvalAwaitPromise))
	var found []finding
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

// Every view is accessible and fits its window, in each size and theme.
func TestViews(t *testing.T) {
	s := shared(t)
	script := axe(t)
	for _, l := range looks() {
		t.Run(l.String(), func(t *testing.T) {
			b := newTab(t, s.base, l)
			for _, view := range views {
				b.open(view)
				b.find("main", "")
				// Figures of Overview follow the server each second, and their width with them.
				if moved := b.moved(); moved > 0.02 {
					t.Errorf("%s: the layout moves by %v while it loads", view, moved)
				}
				for _, f := range b.findings(script) {
					for _, n := range f.Nodes {
						t.Errorf("%s: %s: %s\n%s\n%s", view, f.ID, f.Help, n.HTML, n.Why)
					}
				}
				if wide := get(b, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`)); wide > l.width {
					t.Errorf("%s: %d pixels wide in a window of %d", view, wide, l.width)
				}
			}
		})
	}
}

// moved is by how much the layout moved since the view was loaded, without its reader. The
// browser keeps such moves for observers alone, and gives them after its next frames.
func (b *tab) moved() float64 {
	b.t.Helper()
	return get(b, chromedp.Evaluate[float64](`new Promise(done => {
		let sum = 0
		new PerformanceObserver(list => { for (const e of list.getEntries()) sum += e.value }).observe({type: 'layout-shift', buffered: true})
		requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum))))
	})`, chromedp.EvalAwaitPromise))
}

// A layout that moves is found.
func TestMoved(t *testing.T) {
	b := newTab(t, (&fake{}).serve(t), desktop)
	b.open("/page/documents")
	get(b, chromedp.Evaluate[bool](`requestAnimationFrame(() => setTimeout(() => { const p = document.createElement('h2'); p.textContent = 'late'; document.querySelector('main').prepend(p, document.createElement('hr')) })), true`))
	b.eventually("the move is found", func() bool { return b.moved() > 0 })
}

// axe finds what it is for.
func TestAxeFinds(t *testing.T) {
	s := shared(t)
	b := newTab(t, s.base, desktop)
	b.open("/page/ask")
	get(b, chromedp.Evaluate[bool](`document.querySelector('label').remove(), document.querySelector('input').setAttribute('list', ''), true`))
	for _, f := range b.findings(axe(t)) {
		if f.ID == "label" {
			return
		}
	}
	t.Error("axe does not find a field without a label")
}

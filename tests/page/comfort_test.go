package page

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/writ-policy/writ/server"
	"github.com/writ-policy/writ/tests/gate"
)

// options are what a field is completed with.
func (b *tab) options(field string) []string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[[]string](fmt.Sprintf(`[...document.getElementById('f-%s').list.options].map(o => o.value)`, field)))
}

// Fields are completed with the names that documents have.
func TestCompletion(t *testing.T) {
	gate.Only(t)
	s := shared(t)
	journey(t, s, "names of documents", func(b *tab) {
		b.open("/page/ask")
		b.fill("combobox", "User", "ed")
		b.eventually("the user is completed", func() bool { return slices.Contains(b.options("user"), "Edgar") })
		b.fill("combobox", "Groups", "ops, shop")
		b.eventually("the last group is completed", func() bool { return slices.Contains(b.options("groups"), "ops,shop-developers") })
		b.open("/page/ask/gateway")
		for field, want := range map[string]string{"gateway": "net/edge", "listener": "http", "route": "shop/books", "rule": "read", "method": "PUT"} {
			if got := b.options(field); !slices.Contains(got, want) {
				b.t.Errorf("%s is completed with %q, want %s among them", field, got, want)
			}
		}
	})
}

// Copying takes the whole text and says so.
func TestCopy(t *testing.T) {
	s := shared(t)
	journey(t, s, "lines of a request", func(b *tab) {
		b.open(deniedView)
		get(b, chromedp.Evaluate[bool](`navigator.clipboard.writeText = async text => { window.copied = text }, true`))
		for button, id := range map[string]string{"Copy curl": "carry-curl", "Copy eval": "carry-eval", "Copy DecisionTest": "carry-test"} {
			b.push("button", button)
			b.eventually(button+" copies its text", func() bool {
				return get(b, chromedp.Evaluate[bool](fmt.Sprintf(`window.copied === document.getElementById('%s').textContent`, id)))
			})
			b.eventually("it is said", func() bool { return b.text(b.find("status", "Messages")) == "Copied." })
		}
		if copied := get(b, chromedp.Evaluate[string](`document.getElementById('carry-curl').textContent`)); !strings.HasPrefix(copied, "curl -s '"+s.base+"/v1/decisions/access'") {
			b.t.Errorf("Copy curl copies %s", copied)
		}
	})
}

// The log follows new decisions without being loaded again.
func TestFollow(t *testing.T) {
	s := shared(t)
	b := newTab(t, s.base, desktop)
	b.open("/page/log")
	b.push("checkbox", "Follow")
	b.click("button", "Filter")
	b.find("table", "Decisions")
	get(b, chromedp.Evaluate[bool](`window.isSame = true`))
	b.eventually("a new decision is shown", func() bool {
		s.ask(map[string]any{"user": "follower", "verb": "get", "resource": "pods"})
		tables := b.all("table", "Decisions")
		return len(tables) > 0 && strings.Contains(b.text(tables[0]), "follower")
	})
	if !get(b, chromedp.Evaluate[bool](`window.isSame === true`)) {
		t.Error("the view was loaded again")
	}
}

// A server that goes is reported, and so is its return.
func TestLostConnection(t *testing.T) {
	gate.Only(t)
	s, stop := startSite(t, nil)
	b := newTab(t, s.base, desktop)
	b.open("/page/")
	messages := func() string { return b.text(b.find("status", "Messages")) }
	stop()
	b.eventually("the lost connection is reported", func() bool { return messages() == "Not connected: what is shown may be old." })
	b.find("region", "Served")
	address, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	again, err := start(s.dir, func(c *server.Config) { c.Listen = address.Host })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := again.stop(); err != nil {
			t.Error(err)
		}
	})
	b.eventually("the message goes", func() bool { return messages() == "" })
	b.forgive("net::ERR_")
}

// A matrix that is larger than the window scrolls in a region of its own, by keys too, and
// its head and row headers stay.
func TestWideMatrix(t *testing.T) {
	s := shared(t)
	b := newTab(t, s.base, look{width: 800, height: 400})
	b.open("/page/who-can?resource=deploymentconfigs&all=1")
	b.matrix()
	region := b.find("region", "Matrix, scrolls")
	headers := func() string {
		return apply[string](b, region, `function() {
			const box = this.getBoundingClientRect(), place = s => this.querySelector(s).getBoundingClientRect()
			return [place('tbody th').left - box.left, place('thead th').left - box.left, place('thead th + th').top - box.top].join(' ')
		}`)
	}
	before := headers()
	for key, side := range map[string]string{kb.ArrowRight: "scrollLeft", kb.ArrowDown: "scrollTop"} {
		b.eventually("keys change "+side, func() bool {
			apply[bool](b, region, `function() { this.focus(); return true }`)
			b.press(key)
			return apply[float64](b, region, `function() { return this.`+side+` }`) > 60
		})
	}
	if after := headers(); after != before {
		t.Errorf("the headers move from %s to %s", before, after)
	}
	if wide := get(b, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`)); wide {
		t.Error("the whole view scrolls")
	}
}

package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/writ-policy/writ/server"
)

// journey is a test that is made in each size and theme.
func journey(t *testing.T, s *site, name string, walk func(b *tab)) {
	t.Helper()
	for _, l := range looks() {
		t.Run(name+", "+l.String(), func(t *testing.T) { walk(newTab(t, s.base, l)) })
	}
}

// A newcomer learns why a request is denied: the start, Ask, the form, the line.
func TestAsk(t *testing.T) {
	s := shared(t)
	journey(t, s, "a denial and its line", func(b *tab) {
		b.open("/")
		if got := b.text(b.find("status", "State")); got != "Serving the newest documents" {
			b.t.Errorf("State: got %q", got)
		}
		b.click("link", "Ask")
		b.find("heading", "Ask")
		for name, value := range map[string]string{"User": "Edgar", "Verb": "delete", "Resource": "deploymentconfigs", "Namespace": "hammer", "Labels": `protected: "yes"`} {
			role := "textbox"
			if len(b.all("combobox", name)) > 0 {
				role = "combobox" // it has suggestions
			}
			b.fill(role, name, value)
		}
		b.click("button", "Ask")
		if got := b.text(b.find("status", "Outcome")); got != "Denied" {
			b.t.Errorf("Outcome: got %q", got)
		}
		if strings.Contains(b.path(), "apiGroup") {
			b.t.Errorf("the address has an empty value: %s", b.path())
		}
		b.find("figure", "Decisive rule")
		if ladder := b.text(b.find("list", "Evaluation ladder")); strings.Count(ladder, "decides") != 1 || !strings.Contains(ladder, "comes too late") {
			b.t.Errorf("Evaluation ladder: got %q", ladder)
		}
		b.click("link", "hammer/protected.yaml:9")
		b.find("heading", "protected.yaml")
		if text := b.text(b.find("region", "Document")); !strings.Contains(text, "decided once") || !strings.Contains(text, "labelsContain") {
			b.t.Errorf("Document: got %q", text)
		}
		b.do(chromedp.NavigateBack())
		if got := b.text(b.find("status", "Outcome")); got != "Denied" {
			b.t.Errorf("back: Outcome: got %q", got)
		}
		b.click("link", "the object has no labels")
		b.eventually("another outcome", func() bool { return b.text(b.find("status", "Outcome")) == "Allowed" })
	})
}

// What is not a request has its message at the field, and no answer.
func TestAskInvalid(t *testing.T) {
	s := shared(t)
	journey(t, s, "a field that is malformed", func(b *tab) {
		b.open("/page/ask?user=ada&verb=get&resource=pods&labels=%5B")
		labels := b.find("textbox", "Labels")
		if described := apply[string](b, labels, `function() { return document.getElementById(this.getAttribute('aria-describedby')).textContent }`); !strings.Contains(described, "must be YAML or JSON") {
			b.t.Errorf("the field is described by %q", described)
		}
		if got := apply[string](b, labels, `function() { return this.getAttribute('aria-invalid') }`); got != "true" {
			b.t.Errorf("aria-invalid: got %q", got)
		}
		if len(b.all("status", "Outcome")) > 0 {
			b.t.Error("there is an outcome")
		}
	})
}

func TestWhoCan(t *testing.T) {
	s := shared(t)
	journey(t, s, "a cell and its question", func(b *tab) {
		b.open("/page/who-can")
		b.fill("combobox", "Resource", "deploymentconfigs")
		b.fill("combobox", "Namespace", "hammer")
		b.click("button", "Show")
		matrix := b.matrix()
		if text := b.text(matrix); !strings.Contains(text, "Edgar") || !strings.Contains(text, "allowed") || !strings.Contains(text, "depends") {
			b.t.Errorf("Matrix: got %q", text)
		}
		b.fill("textbox", "Search", "EDG")
		b.click("button", "Show")
		b.matrix()
		b.eventually("one row", func() bool { return len(b.all("rowheader", "")) == 1 })
		b.goes(func() {
			apply[bool](b, b.find("table", "Matrix"), `function() { this.querySelector('td a').click(); return true }`)
		})
		if got := b.text(b.find("status", "Outcome")); got != "Allowed" {
			b.t.Errorf("Outcome: got %q", got)
		}
		b.open("/page/who-can?resource=unicorns&search=none-such")
		b.find("heading", "Who can")
		if len(b.all("table", "Matrix")) > 0 {
			b.t.Error("there is a matrix of nothing")
		}
	})
}

// matrix returns the matrix. A busy server takes longer than a view may take, and says so.
func (b *tab) matrix() *accessibility.Node {
	b.t.Helper()
	var found []*accessibility.Node
	b.eventually("there is a matrix", func() bool {
		if found = b.all("table", "Matrix"); len(found) > 0 {
			return true
		}
		if len(b.all("heading", "Busy"))+len(b.all("heading", "Too slow")) > 0 {
			b.do(chromedp.Reload())
		}
		return false
	})
	return found[0]
}

func TestDocumentsAndLog(t *testing.T) {
	s := shared(t)
	journey(t, s, "counts and decisions", func(b *tab) {
		b.open("/page/documents")
		if text := b.text(b.find("table", "Rules by how often they decided")); !strings.Contains(text, "fatFingeredEditor") {
			b.t.Errorf("Rules: got %q", text)
		}
		b.push("checkbox", "Only those that never decided")
		b.click("button", "Filter")
		b.eventually("the rule is left out", func() bool {
			rules := b.all("table", "Rules by how often they decided")
			return strings.Contains(b.path(), "never=1") && len(rules) > 0 && !strings.Contains(b.text(rules[0]), "fatFingeredEditor")
		})
		b.find("navigation", "Files")
		b.click("link", "project.yaml")
		b.find("region", "Document")

		b.click("link", "Log")
		b.find("heading", "Decision log")
		b.fill("textbox", "User", "Edgar")
		b.click("button", "Filter")
		if text := b.text(b.find("table", "Decisions")); !strings.Contains(text, "Edgar") || !strings.Contains(text, "Denied") {
			b.t.Errorf("Decisions: got %q", text)
		}
		b.click("link", "Ask again")
		if got := b.text(b.find("status", "Outcome")); got != "Denied" {
			b.t.Errorf("Ask again: got %q", got)
		}
		b.open("/page/log?user=none-such")
		b.find("heading", "Decision log")
		if !strings.Contains(b.text(b.find("main", "")), "Nothing fits this filter") {
			b.t.Error("an empty log does not say that nothing fits")
		}
	})
}

// With scripts off every form has its button, and every view its answer.
func TestWithoutScripts(t *testing.T) {
	s := shared(t)
	l := desktop
	l.noScripts = true
	b := newTab(t, s.base, l)
	b.eventually("the page is there", func() bool {
		b.open("/page/ask") // a busy Chromium without scripts has lost a first navigation
		return len(b.all("combobox", "User")) > 0
	})
	b.fill("combobox", "User", "Edgar")
	b.fill("combobox", "Verb", "get")
	b.fill("combobox", "Resource", "deploymentconfigs")
	b.fill("combobox", "Namespace", "hammer")
	b.click("button", "Ask")
	b.find("status", "Outcome")
	if got := b.path(); got != "/page/ask?namespace=hammer&resource=deploymentconfigs&user=Edgar&verb=get#answer" {
		t.Errorf("the address is %s", got)
	}
	for _, button := range []string{"Light or dark", "Keyboard", "Copy curl"} {
		if len(b.all("button", button)) > 0 {
			t.Errorf("button %q does nothing without scripts", button)
		}
	}
}

func TestKeyboard(t *testing.T) {
	s := shared(t)
	journey(t, s, "without a mouse", func(b *tab) {
		b.open("/page/")
		b.press(kb.Tab)
		if got := get(b, chromedp.Evaluate[string](`document.activeElement.textContent`)); got != "Skip to content" {
			b.t.Errorf("the first stop is %q", got)
		}
		b.press(kb.Enter)
		b.goes(func() { b.press("g", "a") })
		b.find("heading", "Ask")
		b.eventually("the first field has the focus", func() bool {
			b.press("/") // the script may still be loading
			return get(b, chromedp.Evaluate[string](`document.activeElement.name ?? ''`)) == "user"
		})
		b.write("Edgar?g")
		if len(b.all("dialog", "Keyboard")) > 0 {
			b.t.Error("typing opens the dialog")
		}
		b.press(kb.Tab, kb.Tab)
		b.write("get")
		b.press(kb.Tab)
		b.write("pods")
		b.goes(func() { b.press(kb.Enter) })
		b.find("status", "Outcome")
		b.eventually("the dialog is open", func() bool {
			b.press("?")
			return len(b.all("dialog", "Keyboard")) > 0
		})
		b.press(kb.Escape)
		b.eventually("the dialog is closed", func() bool { return len(b.all("dialog", "Keyboard")) == 0 })
		for _, view := range [][2]string{{"o", "Overview"}, {"a", "Ask"}, {"w", "Who can"}, {"r", "Risks"}, {"p", "Reach"}, {"d", "Documents"}, {"i", "Inheritance"}, {"s", "Assertions"}, {"c", "Changes"}, {"l", "Decision log"}} {
			b.goes(func() { b.press("g", view[0]) })
			b.find("heading", view[1])
		}
		for _, modifier := range []string{"ctrlKey", "altKey", "metaKey"} {
			if name := get(b, chromedp.Evaluate[string](`document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true, `+modifier+`: true})), document.activeElement.name ?? ''`)); name != "" {
				b.t.Errorf("/ with %s moves the focus to %s", modifier, name)
			}
		}
	})
}

func TestTheme(t *testing.T) {
	s := shared(t)
	b := newTab(t, s.base, desktop)
	b.open("/page/ask")
	background := func() string {
		return get(b, chromedp.Evaluate[string](`getComputedStyle(document.documentElement).backgroundColor`))
	}
	light := background()
	b.push("button", "Light or dark")
	b.eventually("the theme changes", func() bool { return background() != light })
	dark := background()
	b.open("/page/log")
	if got := background(); got != dark {
		t.Errorf("the next view has background %s, want %s", got, dark)
	}
	b.do(chromedp.Reload())
	if got := background(); got != dark {
		t.Errorf("after a reload: background %s, want %s", got, dark)
	}
}

// A new revision comes into the view, or is offered while the focus is in it.
func TestLive(t *testing.T) {
	s := newSite(t, nil)
	b := newTab(t, s.base, desktop)
	b.open("/page/")
	b.find("status", "State")
	served := func() string { return b.text(b.find("region", "Served")) }
	before := served()
	s.edit("hammer/protected.yaml", "[Edgar]", "[Edgar, Eve]")
	b.eventually("the new revision is shown", func() bool { return served() != before })
	s.edit("hammer/protected.yaml", "userNames:", "userNam:")
	b.eventually("the refusal is shown", func() bool { return b.text(b.find("status", "State")) != "Serving the newest documents" })
	if text := b.text(b.find("region", "Diagnostics")); !strings.Contains(text, "hammer/protected.yaml") {
		t.Errorf("Diagnostics: got %q", text)
	}

	b.open(deniedView)
	b.fill("combobox", "User", "Ed")
	s.edit("hammer/protected.yaml", "userNam:", "userNames:")
	b.eventually("a button offers the new state", func() bool {
		return get(b, chromedp.Evaluate[bool](`document.getElementById('news') !== null`))
	})
	if got := get(b, chromedp.Evaluate[string](`document.activeElement.value`)); got != "Ed" {
		t.Errorf("what was typed is %q", got)
	}
	before = b.path()
	s.edit("hammer/protected.yaml", "[Edgar, Eve]", "[Eve]")
	var offer *accessibility.Node
	b.eventually("a button offers the revision", func() bool {
		for _, n := range b.all("button", "") {
			if strings.HasPrefix(b.text(n), "Show revision ") {
				offer = n
				return true
			}
		}
		return false
	})
	if got := b.text(b.find("status", "Outcome")); got != "Denied" {
		t.Errorf("before it is shown: Outcome: got %q", got)
	}
	b.push("button", b.text(offer))
	b.eventually("the new revision is shown", func() bool {
		found := b.all("status", "Outcome")
		return len(found) > 0 && b.text(found[0]) == "Allowed"
	})
	if got := b.path(); got != before {
		t.Errorf("showing a revision leads to %s", got)
	}
}

func TestSignIn(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("s3cret,ada,1,\"security\"\nplain,edgar,2,\"dev\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *server.Config) { c.Callers.Tokens, c.Callers.Auditors = tokens, []string{"security"} })
	journey(t, s, "a session", func(b *tab) {
		b.open("/page/log?user=Edgar")
		b.fill("textbox", "Token", "wrong")
		b.click("button", "Sign in")
		b.find("alert", "")
		b.fill("textbox", "Token", "s3cret")
		b.click("button", "Sign in")
		b.find("heading", "Decision log")
		if got := b.path(); got != "/page/log?user=Edgar" {
			b.t.Errorf("after signing in: %s", got)
		}
		b.click("button", "Sign out")
		b.find("button", "Sign in")
		b.fill("textbox", "Token", "plain")
		b.click("button", "Sign in")
		b.find("heading", "Overview")
		b.click("link", "Log")
		b.find("heading", "Not permitted")
	})
}

func TestInheritance(t *testing.T) {
	s := shared(t)
	journey(t, s, "the way of a policy", func(b *tab) {
		b.open("/page/inheritance?kind=RateLimitPolicy")
		b.find("region", "Paths")
		for _, name := range []string{"Gateway net/edge", "Listener http", "HTTPRoute shop/books", "Rule read"} {
			b.find("link", name)
		}
		b.goes(func() {
			apply[bool](b, b.find("link", "Rule write"), `function() { this.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true, view: window})); return true }`)
		})
		b.eventually("the rule is chosen", func() bool { return strings.Contains(b.path(), "target=") })
		if text := b.text(b.find("table", "Effective rules")); !strings.Contains(text, "overridden by net/edge") {
			b.t.Errorf("Effective rules: got %q", text)
		}
	})
}

// A dangerous grant is found by its kind and its subject, and asked for.
func TestRisks(t *testing.T) {
	s := shared(t)
	journey(t, s, "a dangerous grant", func(b *tab) {
		b.open("/page/")
		b.click("link", "Risks")
		b.find("heading", "Risks")
		b.find("table", "Can do everything")
		if found := b.all("table", "Can issue tokens of service accounts"); len(found) > 0 {
			b.t.Error("the risks that matter least are not folded")
		}
		b.fill("combobox", "Subject", "shop-dev")
		b.click("button", "Filter")
		least := apply[string](b, b.find("list", "Risks by severity"), `function() { return [...this.querySelectorAll('a')].pop().textContent }`)
		b.click("link", least)
		if got := b.path(); got != "/page/risks?severity=low" {
			b.t.Errorf("%s leads to %s", least, got)
		}
		b.open("/page/risks?code=risk-account-token")
		if text := b.text(b.find("table", "Can issue tokens of service accounts")); !strings.Contains(text, "shop/rbac.yaml:3") {
			b.t.Errorf("the table has %q", text)
		}
		b.click("link", "Ask for group shop-developers")
		if got := b.text(b.find("status", "Outcome")); got != "Allowed" {
			b.t.Errorf("Outcome: got %q", got)
		}
	})
}

// Two revisions are compared, and the witness of a difference is asked.
func TestChanges(t *testing.T) {
	s := newSite(t, nil)
	b := newTab(t, s.base, desktop)
	b.open("/page/changes")
	if disabled := apply[bool](b, b.find("button", "Compare"), `function() { return this.disabled }`); !disabled {
		t.Error("one revision can be compared")
	}
	s.edit("hammer/protected.yaml", "[Edgar]", "[Edgar, Eve]")
	b.eventually("there are two revisions", func() bool {
		b.open("/page/changes")
		return len(b.all("radio", "")) == 4
	})
	b.find("image", "Timeline")
	b.click("button", "Compare")
	text := b.text(b.find("table", "Decisions that differ"))
	if !strings.Contains(text, "Eve") || !strings.Contains(text, "hammer/protected.yaml") {
		t.Errorf("Decisions that differ: got %q", text)
	}
	b.click("link", "Ask for an example")
	b.find("status", "Outcome")
}

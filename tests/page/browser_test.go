package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var (
	everything = flag.Bool("everything", false, "require Chromium, and run every size and theme")
	install    = "apt-get install -y --no-install-recommends chromium"
)

// browser is the one of all tests; nil without Chromium.
var browser context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path, err := exec.LookPath("chromium")
	if err != nil {
		if *everything {
			fmt.Println("Chromium is missing. Install it: " + install)
			return 1
		}
		return m.Run() // tests are skipped
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("headless", "new"), chromedp.Flag("disable-gpu", true), chromedp.Flag("force-color-profile", "srgb"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Println("Chromium does not start:", err)
		return 1
	}
	browser = ctx
	defer stopShared()
	return m.Run()
}

// patience is how long a busy machine may take for anything.
const patience = time.Minute

// look is how a view is looked at.
type look struct {
	width, height int64
	dark          bool
	noScripts     bool
}

func (l look) String() string {
	theme := "light"
	if l.dark {
		theme = "dark"
	}
	return fmt.Sprintf("%d pixels, %s", l.width, theme)
}

var desktop = look{width: 1280, height: 800}

// looks are those of `make page`, and the first one that of `make test`.
func looks() []look {
	if !*everything {
		return []look{desktop}
	}
	return []look{desktop, {width: 1280, height: 800, dark: true}, {width: 320, height: 640}, {width: 320, height: 640, dark: true}}
}

// tab is one tab of the browser. What a view must not do is reported when the test ends.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu     sync.Mutex
	faults []string
}

// requireBrowser skips a test without Chromium.
func requireBrowser(t *testing.T) {
	t.Helper()
	if browser == nil {
		t.Skip("Chromium is missing: " + install)
	}
}

// newTab opens a tab on a server.
func newTab(t *testing.T, base string, l look) *tab {
	t.Helper()
	requireBrowser(t)
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	b := &tab{t: t, ctx: ctx, base: base}
	t.Cleanup(func() {
		closeTab()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, fault := range b.faults {
			t.Error(fault)
		}
	})
	if err := chromedp.Do(ctx); err != nil { // opens the tab, which lives as long as this context
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.observe); err != nil {
		t.Fatal(err)
	}
	theme := "light"
	if l.dark {
		theme = "dark"
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, cdplog.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	call(b, accessibility.Enable, cdp.Empty{})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: 1})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.noScripts})
	return b
}

// observe records errors of the console, content that was refused, and requests to others.
func (b *tab) observe(event any) {
	var fault string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = "an exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			fault = "the console has an error"
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError && !isExpected(e.Entry) {
			fault = fmt.Sprintf("the log of the browser: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "data" && !strings.HasPrefix(e.Request.URL, b.base) {
			fault = "a request to elsewhere: " + e.Request.URL
		}
	}
	if fault != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.faults = append(b.faults, fault)
	}
}

// forgive forgets faults that contain a text, which a test provokes.
func (b *tab) forgive(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = slices.DeleteFunc(b.faults, func(fault string) bool { return strings.Contains(fault, text) })
}

// isExpected reports whether the browser logs the status of a view that is not 200.
func isExpected(e *cdplog.Entry) bool {
	return e.Source == cdplog.EntrySourceNetwork && strings.Contains(e.URL, "/page/")
}

// do runs actions, and ends the test if one fails.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// get runs an action and returns its value.
func get[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// call runs a command of the browser.
func call[P, R any](b *tab, command cdp.Command[P, R], parameters P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, parameters)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// open opens a view of the server.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

// path is the path and the query of the view.
func (b *tab) path() string {
	b.t.Helper()
	return strings.TrimPrefix(get(b, chromedp.Location()), b.base)
}

// all returns the elements with a role and a name; an empty name means any.
func (b *tab) all(role, name string) []*accessibility.Node {
	b.t.Helper()
	// A query of a document that is being replaced may never be answered, and another one
	// takes seconds on a busy machine.
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	root, err := chromedp.Call(ctx, dom.GetDocument, dom.GetDocumentParams{})
	if err != nil {
		return nil // the document is being replaced
	}
	found, err := chromedp.Call(ctx, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{BackendNodeID: root.Root.BackendNodeID, Role: role, AccessibleName: name})
	if err != nil {
		return nil // as before
	}
	return slices.DeleteFunc(found.Nodes, func(n *accessibility.Node) bool { return n.Ignored })
}

// find returns the first element with a role and a name, and waits for it.
func (b *tab) find(role, name string) *accessibility.Node {
	b.t.Helper()
	var found []*accessibility.Node
	b.eventually(fmt.Sprintf("there is a %s %q", role, name), func() bool {
		found = b.all(role, name)
		return len(found) > 0
	})
	return found[0]
}

// eventually waits until a condition holds.
func (b *tab) eventually(what string, holds func() bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s: not so: %s; the view has %.500q", b.path(), what, get(b, chromedp.Evaluate[string](`document.body.innerText`)))
		}
	}
}

// text is the text of an element, hidden parts included.
func (b *tab) text(n *accessibility.Node) string {
	b.t.Helper()
	return apply[string](b, n, `function() { return this.textContent }`)
}

// apply calls a function of an element.
func apply[T any](b *tab, n *accessibility.Node, function string) T {
	b.t.Helper()
	object := call(b, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: n.BackendDOMNodeID})
	return get(b, chromedp.CallFunctionOn[T](function, func(p *runtime.CallFunctionOnParams) { p.ObjectID = object.Object.ObjectID }))
}

// click clicks on what leads to another document, and waits for it.
func (b *tab) click(role, name string) {
	b.t.Helper()
	b.goes(func() { b.push(role, name) })
}

// goes does what leads to another document, and waits until that is loaded. A query of the
// accessibility tree while a document is replaced may never be answered.
func (b *tab) goes(action func()) {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](`window.isOld = true`))
	action()
	b.eventually("another document is loaded", func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
		defer cancel()
		isNew, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!window.isOld && document.readyState === 'complete'`))
		return err == nil && isNew
	})
}

// push clicks in the middle of an element, as a person does.
func (b *tab) push(role, name string) {
	b.t.Helper()
	id := b.find(role, name).BackendDOMNodeID
	call(b, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: id})
	quads := call(b, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: id}).Quads
	if len(quads) == 0 {
		b.t.Fatalf("%s: %s %q cannot be seen", b.path(), role, name)
	}
	q := quads[0]
	// A click that leads to another document may never be answered.
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.MouseClickXY((q[0]+q[4])/2, (q[1]+q[5])/2)); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		b.t.Fatal(err)
	}
}

// fill replaces the value of a field.
func (b *tab) fill(role, name, value string) {
	b.t.Helper()
	n := b.find(role, name)
	call(b, dom.Focus, dom.FocusParams{BackendNodeID: n.BackendDOMNodeID})
	apply[bool](b, n, `function() { this.select(); return true }`)
	if value == "" {
		b.press(kb.Delete)
		return
	}
	b.write(value)
}

// press presses keys, one after the other.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// write types a text where the focus is.
func (b *tab) write(text string) {
	b.t.Helper()
	call(b, input.InsertText, input.InsertTextParams{Text: text})
}

package page

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// body is the content of a view, which shows itself.
type body interface{ html() h.Node }

// frame is what is around the content of each view.
type frame struct {
	Title string
	// Lead is the sentence below the heading.
	Lead string
	// Bare leaves out navigation and revision: what is shown must name no document.
	Bare bool
	// Plain leaves out style and scripts, which a host that is not answered for does not get.
	Plain bool
	// Live is what the content follows: revision, figures (and the revision) or decisions
	// (and the revision); empty for nothing.
	Live string
	// Again is after how many seconds the view asks again; zero for never.
	Again  int
	Views  []piece.Tab
	Served *console.Status
	// Age is for how long the revision is served.
	Age     time.Duration
	Caller  console.Caller
	Session bool
	// IsFailure is true if the content is a failure, which says itself what is wrong, and
	// Unready why no revision is served; empty if one is or the content says so.
	IsFailure bool
	Unready   string
	// Status is that of the response; zero means 200.
	Status  int
	Content body
}

// html is the document: the frame and the content of the view.
func (f *frame) html(assets map[string]string) h.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(h.Meta(h.Charset("utf-8")), h.Meta(h.Name("viewport"), h.Content("width=device-width,initial-scale=1")), h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.TitleEl(h.Text(f.Title+" · writ")),
			h.If(!f.Plain, h.Group{
				h.Link(h.Rel("icon"), h.Href(assets["icon.svg"])), h.Link(h.Rel("stylesheet"), h.Href(assets["page.css"])),
				h.Script(h.Src(assets["theme.js"])), h.Script(h.Type("module"), h.Src(assets["page.js"])),
			})),
		h.Body(h.If(f.Bare, h.Class("bare")),
			h.A(h.Class("skip"), h.Href("#content"), h.Text("Skip to content")),
			h.If(!f.Bare, f.side(assets["icon.svg"])),
			h.Main(h.ID("content"), h.Class("page"), h.TabIndex("-1"), h.If(f.Caller.SeesAll, h.Flag("data-events")), f.follows(),
				h.Iff(!f.Bare, f.top),
				h.If(f.Unready != "", warning("State", h.Text("Not ready"), piece.Note("then", " · "+f.Unready))),
				f.Content.html()),
			h.P(h.ID("messages"), h.Class("toast"), h.Role("status"), h.Aria("label", "Messages")),
			h.If(!f.Bare, f.keyboard()))))
}

// warning is a banner with a name.
func warning(label string, text ...h.Node) h.Node {
	return h.Div(h.Class("banner warn"), h.Role("status"), h.Aria("label", label), piece.Icon("warning"), h.Span(h.Group(text)))
}

// follows are the attributes by which the script knows what a view follows.
func (f *frame) follows() h.Node {
	return h.Group{
		h.If(f.Live != "", h.Flag("data-live")), h.If(f.Live == "figures", h.Flag("data-figures")), h.If(f.Live == "decisions", h.Flag("data-decisions")),
		h.If(f.Again > 0, h.Group{h.Data("again", strconv.Itoa(f.Again)), busy}),
	}
}

var busy = h.Aria("busy", "true")

// side is the navigation, and what is about the reader.
func (f *frame) side(icon string) h.Node {
	button := func(id string, text ...h.Node) h.Node {
		return h.Button(h.Type("button"), h.Class("quiet scripted"), h.ID(id), h.Group(text))
	}
	return h.Header(h.Class("side"), h.Div(
		h.A(h.Class("brand"), h.Href("/page/"), h.Img(h.Src(icon), h.Width("24"), h.Height("24"), h.Alt("")), h.Text("writ")),
		h.Nav(h.Aria("label", "Views"), h.Ul(piece.Each(f.Views, func(v *piece.Tab) h.Node {
			return h.Li(h.A(h.Href(v.Href), h.Data("key", v.Key), piece.Current(v.Current), piece.Icon(v.Icon), h.Text(v.Name)))
		}))),
		piece.Div("foot",
			button("theme", piece.Icon("theme"), h.Text("Light or dark")), button("keys", h.Kbd(h.Aria("hidden", "true"), h.Text("?")), h.Text(" Keyboard")),
			h.If(f.Session, h.Form(h.Method("post"), h.Action("/page/sign-out"), h.Button(h.Class("quiet"), h.Text("Sign out")))),
			h.If(f.Caller.User != "", piece.P("small muted", h.Text(f.Caller.User))))))
}

// top is the heading, and the revision that is served.
func (f *frame) top() h.Node {
	s := f.Served
	dot := "dot"
	if s.Degraded || !s.Ready {
		dot += " degraded"
	}
	served := h.Span(h.Text("no revision"))
	if s.Revision != "" {
		served = h.Group{
			h.Span(h.If(s.Degraded, piece.Note("hidden", "degraded, ")), h.Text("revision "), h.Code(h.Text(piece.Short(s.Revision)))),
			h.If(s.Sequence != 0, h.Span(h.Title("sequence"), h.Textf("#%d", s.Sequence))), h.Span(h.Title("age"), h.Text(age(f.Age))),
		}
	}
	return piece.Div("top", h.Div(h.H1(h.Text(f.Title)), h.If(f.Lead != "", h.P(h.Text(f.Lead)))),
		h.Div(h.Class("served"), h.Data("revision", s.Revision), h.Span(h.Class(dot)), served))
}

// keyboard lists the keys that the script knows.
func (f *frame) keyboard() h.Node {
	key := func(name string) h.Node { return h.Kbd(h.Text(name)) }
	row := func(what string, keys ...h.Node) h.Node { return h.Tr(piece.RowHead(keys...), h.Td(h.Text(what))) }
	return h.Dialog(h.ID("keyboard"), piece.LabelledBy("keyboard-title"),
		piece.H2("keyboard-title", h.Text("Keyboard")),
		h.Table(piece.LabelledBy("keyboard-title"), h.TBody(
			piece.Each(f.Views, func(v *piece.Tab) h.Node { return row(v.Name, key("g"), h.Text(" "), key(v.Key)) }),
			row("the first field of the view", key("/")), row("ask, show, compare or filter", key("Enter")), row("this list", key("?")), row("close", key("Esc")))),
		h.Form(h.Method("dialog"), h.Button(h.Text("Close"))))
}

// write renders a view. It is rendered whole before its first byte is sent.
func (p *page) write(w http.ResponseWriter, r *http.Request, status int, f frame) {
	var text bytes.Buffer
	if err := f.html(p.assets.paths).Render(&text); err != nil {
		panic(err) // a buffer has no errors
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r) {
		w.WriteHeader(status)
		w.Write(text.Bytes()) //nolint:errcheck // the client is gone
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	zipped := writers.Get().(*gzip.Writer) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer writers.Put(zipped)
	zipped.Reset(w)
	zipped.Write(text.Bytes()) //nolint:errcheck // the client is gone
	zipped.Close()             //nolint:errcheck // the client is gone
}

var writers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

// frame fills in what all views of a caller have.
func (p *page) frame(r *http.Request, s *console.Status, caller console.Caller, f frame) frame {
	f.Bare = false
	f.Served, f.Caller = s, caller
	if !s.Since.IsZero() {
		f.Age = p.Now().Sub(s.Since)
	}
	if !f.IsFailure && f.Live != "figures" {
		f.Unready = notReady(s)
	}
	_, err := r.Cookie(p.cookieName())
	f.Session = err == nil && caller.User != ""
	for _, v := range views {
		v.Current = v.Href == r.URL.Path || v.Href != "/page/" && strings.HasPrefix(r.URL.Path, v.Href)
		if v.Href == whoCanPath && !caller.SeesAll {
			v.Href = whatCanPath // the one that is about the caller
		}
		f.Views = append(f.Views, v)
	}
	return f
}

package page

import (
	"bytes"
	"compress/gzip"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/console"
)

//go:embed templates
var templateFiles embed.FS

// templates maps the file of a view to its template, with the frame and the pieces.
type templates map[string]*template.Template

// parseTemplates parses each view with the frame and the pieces.
func parseTemplates(a assets) templates {
	functions := template.FuncMap{
		"asset": func(name string) string { return a.paths[name] },
		"icon":  func(name string) string { return icons[name] },
	}
	for name, f := range formats {
		functions[name] = f
	}
	base := template.Must(template.New("").Funcs(functions).ParseFS(templateFiles, "templates/frame.html", "templates/pieces.html"))
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is constant
	}
	all := make(templates)
	for _, file := range files {
		if name := path.Base(file); name != "frame.html" && name != "pieces.html" {
			all[name] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, file))
		}
	}
	return all
}

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
	Views  []tab
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
	Content any
}

// tab is a link to a view or to a part of it.
type tab struct {
	Name, Href, Icon, Key string
	Current               bool
}

// write renders a view. It is rendered whole before its first byte is sent.
func (t templates) write(w http.ResponseWriter, r *http.Request, status int, file string, f frame) {
	var text bytes.Buffer
	if err := t[file].ExecuteTemplate(&text, "frame", f); err != nil {
		panic(err) // a template does not fit its data
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

package page

import (
	"context"
	"math"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
	"github.com/writ-policy/writ/translator/tables"
)

// documentsContent is the start of the documents: rules by how often they decided.
type documentsContent struct {
	Tree   []node
	Search string
	Never  bool
	Rules  []ruleRow
	Total  int
	pager
}

// pager is the links to the first and to the next page of a list.
type pager struct{ First, Next string }

// pages sets the links on the page of a question, of which next is what follows, "" on the last.
func (p *pager) pages(q *question, path, next string) {
	if q.value("after") != "" {
		p.First = withValue(path, q.query, "after", "")
	}
	if next != "" {
		p.Next = withValue(path, q.query, "after", next)
	}
}

func (p *pager) links() h.Node { return piece.Div("pages", piece.Pages(p.First, "", p.Next)) }

// ruleRow is a rule with a bar on a scale of logarithms.
type ruleRow struct {
	console.Rule
	Width string
}

// node is a folder or file of the tree.
type node struct {
	Name, Href string
	Open       bool
	Current    bool
	Hidden     int // entries of a folder that is opened on demand
	Folder     bool
	Mistakes   int
	// Class is deny if one of the mistakes is an error.
	Class string
	Nodes []node
}

func (c *documentsContent) html() h.Node {
	empty := "No documents are served. Files with policies stand here."
	if c.Search != "" {
		empty = "No file has “" + c.Search + "” in its name."
	}
	return piece.Div("grid docs",
		h.Nav(h.Class("card"), h.Aria("label", "Files"),
			piece.Ask("/page/documents", "line", "Search files",
				words("search", "Search files", c.Search), h.Button(h.Text("Search"))),
			h.Ul(h.Class("tree"), tree(c.Tree)), h.If(len(c.Tree) == 0, piece.P("muted", h.Text(empty)))),
		piece.Card("Rules", piece.H2("rules", piece.Heading("Rules by how often they decided", piece.Plural(c.Total, "rule"))),
			piece.Ask("/page/documents", "line", "Filter",
				piece.Check("never", "Only those that never decided", c.Never), h.Button(h.Text("Filter"))),
			c.rules(), c.links()))
}

// words is a field of a filter.
func words(key, label, value string) h.Node {
	return (&piece.Input{Key: key, Label: label, Value: value}).HTML()
}

func (c *documentsContent) rules() h.Node {
	if len(c.Rules) > 0 {
		return h.Table(h.Class("stacked counted"), h.Aria("label", "Rules by how often they decided"),
			piece.Head(piece.Columns("Rule", "Where"), piece.NumberColumn("Decided"), piece.HiddenColumn("Share")), h.TBody(piece.Each(c.Rules, (*ruleRow).html)))
	}
	if c.Never {
		return piece.P("empty", h.Text("Every rule decided at least once."))
	}
	return piece.P("empty", h.Text("No rules. Roles and deny policies would stand here."))
}

func (r *ruleRow) html() h.Node {
	name := h.Text(tables.Title(r.Kind, r.Namespace, r.Name))
	if r.Family != "" {
		name = piece.A(roleHref(r.Family, r.Namespace, r.Name), name)
	}
	index := ruleIndex(r.Rule.Rule)
	return h.Tr(
		piece.RowHead(name, h.If(index != "", h.Text(", "+index))),
		piece.Td("where", piece.Place(r.Source)),
		piece.Td("num", decided(r.Decided)),
		piece.Td("share", h.SVG(h.Attrs("class", "meter", "viewBox", "0 0 100 8", "preserveAspectRatio", "none", "aria-hidden", "true"),
			h.El("rect", h.Attrs("width", r.Width, "height", "8", "class", "fill-accent")))))
}

// decided is how often a rule decided.
func decided(times uint64) h.Node {
	if times == 0 {
		return piece.Note("pill", "never")
	}
	return h.Group{h.Text(piece.Number(times)), piece.Note("narrow", " × decided")}
}

// tree is the entries of a folder.
func tree(nodes []node) h.Node { return piece.Each(nodes, (*node).html) }

func (n *node) html() h.Node {
	switch {
	case n.Folder && n.Open:
		return h.Li(piece.Note("folder", n.Name), h.Ul(tree(n.Nodes)))
	case n.Folder:
		return h.Li(piece.A(n.Href, h.Span(h.Text(n.Name+"/ "), piece.Note("muted", piece.Number(n.Hidden)+" entries"))))
	}
	return h.Li(h.A(h.Href(n.Href), piece.Current(n.Current), h.Span(h.Text(n.Name)),
		h.If(n.Mistakes > 0, piece.Span("pill "+n.Class, h.Text(strconv.Itoa(n.Mistakes)), piece.Note("hidden", " diagnostics")))))
}

// documents is the view of all files.
func documents(_ context.Context, q *question) (frame, error) {
	files, err := q.Files(q.caller)
	if err != nil {
		return frame{}, err
	}
	c := documentsContent{Search: q.value("search"), Never: q.value("never") != ""}
	found := slices.DeleteFunc(slices.Clone(files.Files), func(f console.File) bool {
		return !strings.Contains(strings.ToLower(f.File), strings.ToLower(c.Search))
	})
	c.Tree = treeOf(found, "", q.query["open"])
	rules, err := q.Rules(q.caller, console.RulesQuery{Never: c.Never, After: q.value("after")})
	if err != nil {
		return frame{}, err
	}
	c.Total = rules.Total
	var most uint64
	for _, r := range rules.Rules {
		most = max(most, r.Decided)
	}
	for _, r := range rules.Rules {
		width := 0.0
		if most > 0 {
			width = 100 * math.Log1p(float64(r.Decided)) / math.Log1p(float64(most))
		}
		c.Rules = append(c.Rules, ruleRow{r, decimal(width)})
	}
	c.pages(q, "/page/documents", rules.After)
	return frame{Title: "Documents", Lead: "What is served, as it is written, and which of it decides.", Content: &c}, nil
}

// wideFolder is how many entries a folder shows without being opened, openFolder how many
// an open one shows, and manyFiles how many files are shown without opening any folder.
const (
	wideFolder = 200
	openFolder = 250
	manyFiles  = 1000
)

// treeOf arranges files by folder.
func treeOf(files []console.File, current string, open []string) []node {
	var top node
	for i := range files {
		f := &files[i]
		at := &top
		parts := strings.Split(f.File, "/")
		for _, folder := range parts[:len(parts)-1] {
			at = at.folder(folder)
		}
		class := "warn"
		if f.Errors > 0 {
			class = "deny"
		}
		at.Nodes = append(at.Nodes, node{Name: parts[len(parts)-1], Href: piece.DocumentHref(f.File), Current: f.File == current, Mistakes: f.Diagnostics, Class: class})
	}
	wide := wideFolder
	if len(files) > manyFiles {
		wide = 0
	}
	for i := range top.Nodes {
		top.Nodes[i].fold("", current, open, wide)
	}
	top.crop(current)
	return top.Nodes
}

// folder is the folder with a name, or a new one. Files are sorted, so it is the last node if
// it is there.
func (n *node) folder(name string) *node {
	last := len(n.Nodes) - 1
	if last < 0 || !n.Nodes[last].Folder || n.Nodes[last].Name != name {
		n.Nodes, last = append(n.Nodes, node{Name: name, Folder: true}), last+1
	}
	return &n.Nodes[last]
}

// crop leaves out the entries of a folder that are far from the current one. What is left
// out begins with a link to its nearest entry.
func (n *node) crop(current string) {
	if len(n.Nodes) <= openFolder {
		return
	}
	at := slices.IndexFunc(n.Nodes, func(entry node) bool { return entry.Current || entry.leadsTo(current) })
	from := min(max(0, at-openFolder/2), len(n.Nodes)-openFolder)
	to := from + openFolder
	shown := slices.Clone(n.Nodes[from:to])
	if from > 0 {
		shown = slices.Insert(shown, 0, node{Name: piece.Number(from) + " entries before", Href: n.Nodes[from-1].Href})
	}
	if to < len(n.Nodes) {
		shown = append(shown, node{Name: piece.Number(len(n.Nodes)-to) + " entries after", Href: n.Nodes[to].Href})
	}
	n.Nodes = shown
}

// leadsTo reports whether an entry is the folder of a file.
func (n *node) leadsTo(file string) bool {
	return n.Folder && file != "" && slices.ContainsFunc(n.Nodes, func(entry node) bool { return entry.Current || entry.leadsTo(file) })
}

// fold leaves out the entries of folders with more than a number, unless they are open.
func (n *node) fold(above, current string, open []string, wide int) {
	if !n.Folder {
		return
	}
	full := path.Join(above, n.Name)
	isOpen := slices.Contains(open, full) || strings.HasPrefix(current, full+"/")
	if len(n.Nodes) > wide && !isOpen {
		n.Hidden = len(n.Nodes)
		n.Href = "/page/documents?open=" + url.QueryEscape(full)
		n.Nodes = nil
		return
	}
	n.Open = true
	for i := range n.Nodes {
		n.Nodes[i].fold(full, current, open, wide)
	}
	n.crop(current)
}

// documentContent is one file.
type documentContent struct {
	Tree []node
	File string
	// Note is why the text is missing.
	Note          string
	Lines         []piece.Line
	Objects       []console.Object
	From, To      int
	Total         int
	Earlier, Next string
	Diagnostics   []piece.Diagnostic
	More          int // diagnostics that stand at their lines alone, if above zero
}

func (c *documentContent) html() h.Node {
	link := func(href, name string) h.Node { return h.If(href != "", h.P(piece.A(href, h.Text(name)))) }
	return piece.Div("grid docs",
		h.Nav(h.Class("card"), h.Aria("label", "Files"), h.Ul(h.Class("tree"), h.Li(piece.A("/page/documents", h.Text("All rules"))), tree(c.Tree))),
		piece.Div("stack",
			h.If(len(c.Diagnostics) > 0, piece.Titled("diagnostics", h.Text("Diagnostics"), h.Ul(h.Class("said"), piece.Each(c.Diagnostics, atLine)),
				h.If(c.More > 0, piece.P("muted", h.Text(piece.Plural(c.More, "diagnostic")+" more at their lines."))))),
			h.If(c.Note != "", piece.P("card muted", h.Text(c.Note))),
			link(c.Earlier, "Earlier lines"),
			h.If(len(c.Lines) > 0, h.Section(h.Class("source"), h.Aria("label", "Document"), h.Div(piece.Region("code document", "Text of "+c.File), piece.Lines(c.Lines)))),
			link(c.Next, "Later lines")))
}

// atLine is a mistake with the line of the file that is shown.
func atLine(d *piece.Diagnostic) h.Node {
	at := h.Text(d.Place)
	if d.Href != "" {
		at = h.A(h.Class("place"), h.Href(d.Href), h.Textf("line %d", d.Line))
	}
	return h.Li(piece.Note("pill "+d.Class, d.Severity), h.Text(" "), at, h.Text(": "+d.Message+" "),
		piece.Span("muted small", h.Text("("), h.Code(h.Text(d.Code)), h.Text(")"), h.If(d.Hint != "", h.Text(" "+sentence(d.Hint)))))
}

// document is the view of one file.
func document(_ context.Context, q *question) (frame, error) {
	line, err := strconv.Atoi(q.value("line"))
	if q.value("line") != "" && (err != nil || line < 1) {
		return frame{}, console.Errorf(console.Invalid, "line must be the number of a line")
	}
	d, err := q.Document(q.caller, q.path, line)
	if isReason(err, console.NotFound) {
		return frame{}, console.Errorf(console.NotFound, "No such document: %s is not a file of the served documents", q.path)
	}
	if err != nil {
		return frame{}, err
	}
	files, err := q.Files(q.caller)
	if err != nil {
		return frame{}, err
	}
	c := documentContent{
		Tree: treeOf(files.Files, d.File, q.query["open"]), File: d.File, Note: d.Note, Objects: d.Documents,
		From: d.From, To: d.From + len(d.Lines) - 1, Total: d.Total,
	}
	for i := range d.Diagnostics {
		c.Diagnostics = append(c.Diagnostics, piece.DiagnosticOf(&d.Diagnostics[i]))
	}
	c.Lines = linesOf(d, c.Diagnostics, line)
	from, to := window(c.Lines, line-d.From)
	c.Lines, c.From, c.To = c.Lines[from:to], c.From+from, c.From+to-1
	if c.From > 1 && len(c.Lines) > 0 {
		c.Earlier = hrefAt(d.File, max(1, c.From-1))
	}
	if c.To < c.Total && len(c.Lines) > 0 {
		c.Next = hrefAt(d.File, c.To+1)
	}
	if c.More = len(c.Diagnostics) - fewDiagnostics; c.More > 0 {
		c.Diagnostics = c.Diagnostics[:fewDiagnostics]
	}
	return frame{Title: path.Base(d.File), Lead: d.File, Content: &c}, nil
}

// maxElements bounds the elements of a text: a browser lays out more only slowly.
const maxElements = 3500

// window is the lines around the one at an index that have at most maxElements elements.
func window(lines []piece.Line, at int) (from, to int) {
	if at < 0 || at >= len(lines) {
		at = 0
	}
	from, to = at, at
	for left := maxElements; left > 0 && (from > 0 || to < len(lines)); {
		if to < len(lines) {
			left -= lines[to].Elements()
			to++
		}
		if from > 0 && left > 0 {
			from--
			left -= lines[from].Elements()
		}
	}
	return from, to
}

func hrefAt(file string, line int) string { return piece.LineHref(file + ":" + strconv.Itoa(line)) }

// linesOf is the text with counts at rules and diagnostics at their lines.
func linesOf(d *console.Document, diagnostics []piece.Diagnostic, marked int) []piece.Line {
	gutters := make(map[int]console.RuleLine)
	holders := make(map[int]piece.Tab)
	for _, o := range d.Documents {
		if o.Family != "" {
			holders[o.Line] = piece.Tab{Name: "who holds it", Href: roleHref(o.Family, o.Namespace, o.Name)}
		}
		if b := o.Binds; b != nil {
			holders[o.Line] = piece.Tab{
				Name: "binds " + tables.Title(b.Kind, b.Namespace, b.Name),
				Href: roleHref(b.Family, b.Namespace, b.Name),
			}
		}
		for _, r := range o.Rules {
			sum := gutters[r.Line]
			sum.Decided += r.Decided
			gutters[r.Line] = sum
		}
	}
	said := make(map[int][]piece.Diagnostic)
	for _, found := range diagnostics {
		said[found.Line] = append(said[found.Line], found)
	}
	lines := make([]piece.Line, 0, len(d.Lines))
	for i, text := range d.Lines {
		n := d.From + i
		l := piece.Line{
			Number:      n,
			ID:          "L" + strconv.Itoa(n),
			Href:        hrefAt(d.File, n),
			Parts:       piece.PartsOf(text, piece.TokensAt(d.Tokens, i)),
			Diagnostics: said[n],
			Holders:     holders[n],
		}
		if n == marked {
			l.Class, l.Current = "hit", true
		}
		if counted, isRule := gutters[n]; isRule {
			l.Gutter = gutterOf(counted.Decided)
		}
		lines = append(lines, l)
	}
	return lines
}

// gutterOf says how often a rule decided.
func gutterOf(decided uint64) string {
	switch decided {
	case 0:
		return "never decided"
	case 1:
		return "decided once"
	}
	return "decided " + piece.Number(decided) + " times"
}

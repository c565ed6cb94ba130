package page

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/console"
)

// documentsContent is the start of the documents: rules by how often they decided.
type documentsContent struct {
	Tree        []node
	Search      string
	Never       bool
	Rules       []ruleRow
	Total       int
	Next, First string
}

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
	if rules.After != "" {
		c.Next = withValue("/page/documents", q.query, "after", rules.After)
	}
	if q.value("after") != "" {
		c.First = withValue("/page/documents", q.query, "after", "")
	}
	return frame{Title: "Documents", Lead: "What is served, as it is written, and which of it decides.", Content: c}, nil
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
		at.Nodes = append(at.Nodes, node{Name: parts[len(parts)-1], Href: documentHref(f.File), Current: f.File == current, Mistakes: f.Diagnostics, Class: class})
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

// folder is the last folder with a name, or a new one. Files are sorted, so it is the last
// node if it is there.
func (n *node) folder(name string) *node {
	for i := len(n.Nodes) - 1; i >= 0; i-- {
		if n.Nodes[i].Folder && n.Nodes[i].Name == name {
			return &n.Nodes[i]
		}
	}
	n.Nodes = append(n.Nodes, node{Name: name, Folder: true})
	return &n.Nodes[len(n.Nodes)-1]
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
		shown = slices.Insert(shown, 0, node{Name: number(from) + " entries before", Href: n.Nodes[from-1].Href})
	}
	if to < len(n.Nodes) {
		shown = append(shown, node{Name: number(len(n.Nodes)-to) + " entries after", Href: n.Nodes[to].Href})
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
	Lines         []codeLine
	Objects       []console.Object
	From, To      int
	Total         int
	Earlier, Next string
	Diagnostics   []diagnostic
	More          int // diagnostics that stand at their lines alone, if above zero
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
		c.Diagnostics = append(c.Diagnostics, diagnosticOf(&d.Diagnostics[i]))
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
	return frame{Title: path.Base(d.File), Lead: d.File, Content: c}, nil
}

// maxElements bounds the elements of a text: a browser lays out more only slowly.
const maxElements = 3500

// window is the lines around the one at an index that have at most maxElements elements.
func window(lines []codeLine, at int) (from, to int) {
	if at < 0 || at >= len(lines) {
		at = 0
	}
	from, to = at, at
	for left := maxElements; left > 0 && (from > 0 || to < len(lines)); {
		if to < len(lines) {
			left -= lines[to].elements()
			to++
		}
		if from > 0 && left > 0 {
			from--
			left -= lines[from].elements()
		}
	}
	return from, to
}

func hrefAt(file string, line int) string { return lineHref(file + ":" + strconv.Itoa(line)) }

// linesOf is the text with counts at rules and diagnostics at their lines.
func linesOf(d *console.Document, diagnostics []diagnostic, marked int) []codeLine {
	gutters := make(map[int]console.RuleLine)
	holders := make(map[int]tab)
	for _, o := range d.Documents {
		if o.Family != "" {
			holders[o.Line] = tab{Name: "who holds it", Href: roleHref(o.Family, o.Namespace, o.Name)}
		}
		if b := o.Binds; b != nil {
			holders[o.Line] = tab{Name: "binds " + named(b.Kind, b.Namespace, b.Name), Href: roleHref(b.Family, b.Namespace, b.Name)}
		}
		for _, r := range o.Rules {
			sum := gutters[r.Line]
			sum.Decided += r.Decided
			gutters[r.Line] = sum
		}
	}
	said := make(map[int][]diagnostic)
	for _, found := range diagnostics {
		said[found.Line] = append(said[found.Line], found)
	}
	lines := make([]codeLine, 0, len(d.Lines))
	for i, text := range d.Lines {
		n := d.From + i
		l := codeLine{Number: n, ID: "L" + strconv.Itoa(n), Href: hrefAt(d.File, n), Parts: partsOf(text, tokensAt(d.Tokens, i)), Diagnostics: said[n], Holders: holders[n]}
		if n == marked {
			l.Class, l.Current = "hit", true
		}
		if counted, isRule := gutters[n]; isRule {
			l.Gutter, l.Never = gutterOf(counted.Decided)
		}
		lines = append(lines, l)
	}
	return lines
}

// gutterOf says how often a rule decided.
func gutterOf(decided uint64) (text string, never bool) {
	switch decided {
	case 0:
		return "never decided", true
	case 1:
		return "decided once", false
	}
	return fmt.Sprintf("decided %s times", number(decided)), false
}

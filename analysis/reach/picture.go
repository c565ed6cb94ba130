package reach

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/diag"
)

// vertex is an identity of a picture.
type vertex struct {
	id    string
	label string
	shape string // subject, account or target
	layer int    // the most hops of a path up to it
	row   int    // in its layer
}

// arrow is a hop of a picture.
type arrow struct {
	from, to *vertex
	label    string
	class    Class
	path     int    // the first one that has it
	hop      int    // of that path
	denied   string // what denies it
	beside   int    // how many arrows between the same vertices are above it
}

// picture is the identities of some paths, in layers of hops.
type picture struct {
	vertices []*vertex
	arrows   []*arrow
	layers   []int // how many vertices each has
}

// draw lays out the paths of a report.
func (r *Report) draw() *picture {
	p := &picture{}
	for i := range r.Paths {
		path := &r.Paths[i]
		if len(path.Hops) == 0 {
			continue
		}
		at := p.vertex("subject "+path.Subject, strings.Replace(path.Subject, ":", " ", 1), "subject", 0)
		state := ""
		for n := range path.Hops {
			h := &path.Hops[n]
			who := h.As
			if h.Becomes != nil {
				who = h.Becomes
			}
			for _, d := range append(slices.Clone(h.Adds), h.Removes...) {
				state += " with " + documentTitle(d)
			}
			label, shape := who.text()+state, "subject"
			if _, isAccount := accountOf(who.User); isAccount {
				shape = "account"
			}
			id := who.key() + state
			if n == len(path.Hops)-1 {
				label, shape, id = label+" = "+path.To, "target", id+" = "+path.To
			}
			next := p.vertex(id, label, shape, n+1)
			p.arrow(at, next, h, i, n)
			at = next
		}
	}
	for _, v := range p.vertices {
		for len(p.layers) <= v.layer {
			p.layers = append(p.layers, 0)
		}
		v.row = p.layers[v.layer]
		p.layers[v.layer]++
	}
	return p
}

// documentTitle names a document that a hop writes or removes.
func documentTitle(d map[string]any) string {
	kind, _ := d["kind"].(string)
	meta, _ := d["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if namespace, ok := meta["namespace"].(string); ok {
		name = namespace + "/" + name
	}
	return kind + " " + name
}

func (p *picture) vertex(id, label, shape string, layer int) *vertex {
	for _, v := range p.vertices {
		if v.id == id {
			v.layer = max(v.layer, layer)
			return v
		}
	}
	v := &vertex{id: id, label: diag.Line(label), shape: shape, layer: layer}
	p.vertices = append(p.vertices, v)
	return v
}

func (p *picture) arrow(from, to *vertex, h *Hop, path, hop int) {
	what, _, _ := strings.Cut(h.Text, ": ")
	what = diag.Line(what)
	for _, a := range p.arrows {
		if a.from == from && a.to == to && a.label == what {
			return
		}
	}
	a := &arrow{from: from, to: to, label: what, class: h.Class, path: path, hop: hop}
	for _, other := range p.arrows {
		if other.from == from && other.to == to {
			a.beside++
		}
	}
	if len(h.Denies) > 0 {
		a.denied = h.Denies[0].Kind + " " + h.Denies[0].Name
	}
	p.arrows = append(p.arrows, a)
}

// DOT writes the paths as a graph for Graphviz: subjects are round, accounts are boxes and
// targets have two lines.
func (r *Report) DOT() string {
	p := r.draw()
	var out strings.Builder
	out.WriteString("digraph reach {\n  rankdir=LR;\n")
	shapes := map[string]string{"subject": "shape=ellipse", "account": "shape=box", "target": "shape=box, peripheries=2"}
	styles := map[Class]string{Certain: "solid", Assumed: "dashed", Possible: "dotted"}
	name := make(map[*vertex]string)
	for i, v := range p.vertices {
		name[v] = "n" + strconv.Itoa(i)
		fmt.Fprintf(&out, "  %s [label=%s, %s];\n", name[v], quoted(v.label), shapes[v.shape])
	}
	for _, a := range p.arrows {
		fmt.Fprintf(&out, "  %s -> %s [label=%s, style=%s];\n", name[a.from], name[a.to], quoted(a.label), styles[a.class])
	}
	out.WriteString("}\n")
	return out.String()
}

// quoted writes a text as DOT does.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// Sizes of the SVG.
const (
	boxWidth, boxHeight = 230, 40
	columnGap, rowGap   = 190, 30
	margin              = 12
	boxText, arrowText  = 34, 30 // letters of a line
	bow                 = 56     // how much lower an arrow is bent than the one above it
)

func (v *vertex) x() int { return margin + v.layer*(boxWidth+columnGap) }
func (v *vertex) y() int { return margin + v.row*(boxHeight+rowGap) }

// SVG draws the paths: subjects are round, accounts are boxes and targets have two lines; an
// arrow is dashed if it is assumed, and dotted if it is possible.
func (r *Report) SVG() string { return r.Linked(nil) }

// Linked is SVG with arrows that lead somewhere: link returns the address of a hop by its path
// and its number, both from 0. An arrow that a denial cuts is crossed out.
func (r *Report) Linked(link func(path, hop int) string) string {
	p := r.draw()
	rows := 1
	for _, n := range p.layers {
		rows = max(rows, n)
	}
	width, height := 2*margin+max(1, len(p.layers))*(boxWidth+columnGap)-columnGap, 2*margin+rows*(boxHeight+rowGap)-rowGap
	lowest := 0
	for _, a := range p.arrows {
		lowest = max(lowest, (a.from.y()+a.to.y()+boxHeight)/2+a.bent()+boxHeight)
	}
	height = max(height, lowest)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString(fmt.Sprintf("%s from subject to target", diag.Counted(len(r.Paths), "path"))))
	out.WriteString(`<defs><marker id="reach-head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor"/></marker></defs>` + "\n")
	out.WriteString(`<g fill="none" stroke="currentColor" font-family="sans-serif" font-size="12">` + "\n")
	for _, a := range p.arrows {
		if link == nil {
			a.svg(&out)
			continue
		}
		fmt.Fprintf(&out, `<a href="%s" aria-label="%s">`, html.EscapeString(link(a.path, a.hop)), html.EscapeString(a.label))
		a.svg(&out)
		out.WriteString("</a>\n")
	}
	for _, v := range p.vertices {
		v.svg(&out)
	}
	out.WriteString("</g>\n</svg>\n")
	return out.String()
}

// bent is how far the middle of an arrow is below a straight one.
func (a *arrow) bent() int { return a.beside * bow * 3 / 4 }

func (a *arrow) svg(out *strings.Builder) {
	x1, y1 := a.from.x()+boxWidth, a.from.y()+boxHeight/2
	x2, y2 := a.to.x(), a.to.y()+boxHeight/2
	dash := map[Class]string{Assumed: ` stroke-dasharray="7 4"`, Possible: ` stroke-dasharray="2 4"`}[a.class]
	name, title, label := "hop "+a.class.String(), fmt.Sprintf("%s (%s)", a.label, a.class), shortened(a.label, arrowText)
	if a.denied != "" {
		name, title = "hop denied", a.label+", denied by "+a.denied
	}
	fmt.Fprintf(out, `<g class="%s"><title>%s</title><path d="M%d %dC%d %d %d %d %d %d" marker-end="url(#reach-head)"%s/>`,
		name, html.EscapeString(title), x1, y1, x1+columnGap/2, y1+a.beside*bow, x2-columnGap/2, y2+a.beside*bow, x2, y2, dash)
	x, y := (x1+x2)/2, (y1+y2)/2+a.bent()
	above := 5
	if a.denied != "" {
		above = 12
		fmt.Fprintf(out, `<path d="M%d %dl12 12m0 -12l-12 12" stroke-width="2.5"/>`, x-6, y-6)
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle" stroke="none" fill="currentColor" font-size="11">%s</text>`, x, y+20, html.EscapeString(shortened(a.denied, arrowText)))
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle" stroke="none" fill="currentColor" font-size="11">%s</text></g>`+"\n", x, y-above, html.EscapeString(label))
}

func (v *vertex) svg(out *strings.Builder) {
	x, y, round := v.x(), v.y(), 3
	if v.shape == "subject" {
		round = boxHeight / 2
	}
	fmt.Fprintf(out, `<g class="%s"><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, v.shape, html.EscapeString(v.label), x, y, boxWidth, boxHeight, round)
	if v.shape == "target" {
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, x+3, y+3, boxWidth-6, boxHeight-6, round)
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle" stroke="none" fill="currentColor">%s</text></g>`+"\n", x+boxWidth/2, y+boxHeight/2+4, html.EscapeString(shortened(v.label, boxText)))
}

// shortened returns a text of at most some letters.
func shortened(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return string(runes[:most-1]) + "…"
}

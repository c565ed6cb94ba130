package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// graph is the picture of paths from gateways to rules: boxes in four columns.
type graph struct {
	Height string
	Heads  []head
	Edges  []edge
	Boxes  []box
}

// head is the title of a column.
type head struct {
	X    int
	Name string
}

// edge is a curve between two boxes.
type edge struct {
	Path string
	On   bool
}

// box is a node, or routes that are alike.
type box struct {
	console.Node
	Label, Href       string
	On, Chosen        bool
	X, Y, W, H, Right int
	Short, ShortShows string
	Chips             []chip
	middle            int
}

// chip is a policy on what it targets.
type chip struct {
	Class, Text, Full, Href string
	Said                    string // which blocks, below the name
	X, Y, W, H              int
	Struck                  bool
}

func (p *graph) html() h.Node {
	return h.SVG(h.Attrs("class", "graph paths", "viewBox", "0 0 980 "+p.Height, "role", "group", "aria-label", "Paths from gateway to rule"),
		piece.Each(p.Heads, func(t *head) h.Node {
			return h.El("text", h.Attrs("class", "colt", "x", strconv.Itoa(t.X), "y", "14"), h.Text(t.Name))
		}),
		piece.Each(p.Edges, func(e *edge) h.Node { return h.El("path", h.Attrs("class", strong("edge", e.On), "d", e.Path)) }),
		piece.Each(p.Boxes, (*box).html))
}

// strong is a class for what is on the way to the chosen node, or not.
func strong(class string, on bool) string {
	if on {
		class += " on"
	}
	return class
}

func (b *box) html() h.Node {
	x, y := strconv.Itoa(b.X), strconv.Itoa(b.Y)
	line := func(class, dy string, text ...h.Node) h.Node {
		return h.El("text", h.Attrs("class", class, "x", x, "y", y, "dx", "12", "dy", dy), h.Group(text))
	}
	return h.Group{
		h.A(h.Href(b.Href), h.Aria("label", b.Label), h.If(b.Chosen, h.Aria("current", "true")),
			h.El("g", h.Class(strong("node", b.On)), h.El("rect", h.Attrs("x", x, "y", y, "width", strconv.Itoa(b.W), "height", strconv.Itoa(b.H), "rx", "9"))),
			line("kindt", "18", h.Text(b.Kind)), h.Text(" "), line("namet", "36", h.Text(b.Short))),
		h.If(b.ShortShows != "", line("kindt", "53", h.Text(b.ShortShows), h.TitleEl(h.Text(b.Shows)))),
		piece.Each(b.Chips, (*chip).html),
	}
}

func (c *chip) html() h.Node {
	x, y, class := strconv.Itoa(c.X), strconv.Itoa(c.Y), "chip "+c.Class
	if c.Struck {
		class += " struck"
	}
	return h.A(h.Href(c.Href), h.TitleEl(h.Text(c.Full)), h.El("g", h.Class(class),
		h.El("rect", h.Attrs("x", x, "y", y, "width", strconv.Itoa(c.W), "height", strconv.Itoa(c.H))),
		h.El("text", h.Attrs("x", x, "y", y, "dx", "8", "dy", "16"), h.Text(c.Text)),
		h.If(c.Said != "", h.El("text", h.Attrs("class", "saidt", "x", x, "y", y, "dx", "8", "dy", "32"), h.Text(c.Said)))))
}

// Sizes of the picture.
const (
	boxHeight  = 64
	chipGap    = 3
	chipHeight = 40 // of a name and of its blocks
	boxGap     = 26
	graphTop   = 34
	charWidth  = 8 // of a letter of names, at most
	chipLetter = 7 // the width of a letter in a chip
	// smallLetter is the width of a letter of what a node shows.
	smallLetter = 6
)

// columns are the left edges and widths of the columns.
var columns = [...]struct {
	name     string
	x, width int
}{{"Gateway", 2, 236}, {"Listener", 278, 172}, {"Route", 492, 226}, {"Rule", 758, 220}}

// drawGraph draws nodes that lead to each other. The way to the chosen one is strong.
func drawGraph(nodes []console.Node, edges [][2]string, chosen string, href func(target string) string) *graph {
	p := &graph{}
	for _, c := range columns {
		p.Heads = append(p.Heads, head{c.x, c.name})
	}
	on := wayTo(edges, chosen)
	at := make(map[string]int)
	for _, n := range nodes {
		if n.Column < 0 || n.Column >= len(columns) {
			continue
		}
		at[n.ID] = len(p.Boxes)
		p.Boxes = append(p.Boxes, newBox(n, on[n.ID], n.ID == chosen, href(n.ID)))
	}
	bottom := p.place(edges, at)
	for _, e := range edges {
		from, okFrom := at[e[0]]
		to, okTo := at[e[1]]
		if okFrom && okTo {
			p.Edges = append(p.Edges, curve(&p.Boxes[from], &p.Boxes[to]))
		}
	}
	p.Height = strconv.Itoa(bottom + 10)
	return p
}

func newBox(n console.Node, on, chosen bool, href string) box {
	c := columns[n.Column]
	b := box{Node: n, On: on, Chosen: chosen, Href: href, X: c.x, W: c.width, Right: c.x + c.width, H: boxHeight + (chipHeight+chipGap)*len(n.Policies), Label: strings.TrimSpace(n.Kind + " " + n.Name)}
	if len(n.Policies) > 0 {
		b.H += 4
	}
	b.Short, b.ShortShows = shorten(n.Name, c.width-24), shorten(n.Shows, (c.width-24)*charWidth/smallLetter)
	return b
}

// shorten cuts a text that is wider than a number of pixels.
func shorten(text string, pixels int) string {
	most := max(1, pixels/charWidth)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// wayTo is the chosen node with what leads to it and what it leads to.
func wayTo(edges [][2]string, chosen string) map[string]bool {
	on := map[string]bool{chosen: true}
	for _, end := range []struct{ from, to int }{{0, 1}, {1, 0}} {
		next := []string{chosen}
		seen := map[string]bool{chosen: true}
		for len(next) > 0 {
			id := next[0]
			next = next[1:]
			for _, e := range edges {
				if e[end.from] == id && !seen[e[end.to]] {
					seen[e[end.to]], on[e[end.to]] = true, true
					next = append(next, e[end.to])
				}
			}
		}
	}
	return on
}

// place puts the boxes of each column below each other, beside the middle of what they
// lead to, and returns the bottom of the picture.
func (p *graph) place(edges [][2]string, at map[string]int) (bottom int) {
	for column := len(columns) - 1; column >= 0; column-- {
		var boxes []*box
		for i := range p.Boxes {
			if p.Boxes[i].Column == column {
				p.Boxes[i].middle = p.middleOf(&p.Boxes[i], edges, at)
				boxes = append(boxes, &p.Boxes[i])
			}
		}
		slices.SortStableFunc(boxes, func(a, b *box) int { return a.middle - b.middle })
		y := graphTop
		for _, b := range boxes {
			b.Y = max(y, b.middle-b.H/2)
			y = b.Y + b.H + boxGap
			bottom = max(bottom, b.Y+b.H)
		}
	}
	for i := range p.Boxes {
		p.Boxes[i].addChips()
	}
	return bottom
}

// middleOf is the middle of the boxes that a box leads to; zero without any.
func (p *graph) middleOf(b *box, edges [][2]string, at map[string]int) int {
	low, high := 0, 0
	for _, e := range edges {
		to, ok := at[e[1]]
		if e[0] != b.ID || !ok {
			continue
		}
		middle := p.Boxes[to].Y + p.Boxes[to].H/2
		if low == 0 || middle < low {
			low = middle
		}
		high = max(high, middle)
	}
	return (low + high) / 2
}

// policyClasses are the classes and short names of kinds of policies.
var policyClasses = map[string][2]string{"AuthPolicy": {"auth", "Auth"}, "RateLimitPolicy": {"rate", "Rate"}, "TokenRateLimitPolicy": {"rate", "Tokens"}}

func (b *box) addChips() {
	y := b.Y + boxHeight
	for i := range b.Policies {
		p := &b.Policies[i]
		look := policyClasses[p.Kind]
		said := strings.Join(blocksOf(p), ", ")
		full := p.Kind + " " + p.Namespace + "/" + p.Name
		if said != "" {
			full += ": " + said
		}
		c := chip{
			Class: look[0], Text: shorten(look[1]+" "+p.Name, (b.W-26)*charWidth/chipLetter), Said: shorten(said, (b.W-26)*charWidth/smallLetter), Full: full,
			Href: piece.LineHref(p.Source), X: b.X + 9, Y: y, W: b.W - 18, H: chipHeight, Struck: !p.Enforced,
		}
		b.Chips = append(b.Chips, c)
		y += chipHeight + chipGap
	}
}

// blocksOf are the blocks of a policy, defaults, overrides or both, with their strategy: an
// atomic one replaces all rules, and one that merges single ones.
func blocksOf(p *console.NodePolicy) []string {
	var blocks []string
	for _, form := range p.Forms {
		block, strategy, _ := strings.Cut(form, ", ")
		if block == "bare" { // rules without a block are defaults
			block = "implicit defaults"
		}
		blocks = append(blocks, strings.TrimSpace(block+" "+strategy))
	}
	return blocks
}

func curve(from, to *box) edge {
	x1, y1, x2, y2 := from.X+from.W, from.Y+from.H/2, to.X, to.Y+to.H/2
	middle := (x1 + x2) / 2
	return edge{fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, middle, y1, middle, y2, x2, y2), from.On && to.On}
}

package page

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// chart is a curve in a box of 240 by 40: the points of its line and of its area, and the
// value of its upper edge, zero without any value.
type chart struct {
	Line, Area string
	Top        float64
}

// html is the curve with its name.
func (c *chart) html(label string) h.Node {
	return h.SVG(h.Attrs("class", "chart", "viewBox", "0 0 240 40", "preserveAspectRatio", "none", "role", "img", "aria-label", label),
		h.El("polygon", h.Attrs("class", "area", "points", c.Area)), h.El("polyline", h.Attrs("class", "spark", "points", c.Line)))
}

// scale says what the upper edge stands for.
func (c *chart) scale(unit string) h.Node {
	if c.Top == 0 {
		return piece.Note("scale", "nothing was measured")
	}
	return piece.Note("scale", "0 to "+piece.Number(c.Top)+" "+unit)
}

// Sizes of charts.
const (
	chartWidth  = 240
	chartHeight = 40
	chartMargin = 3
	chartPoints = 180 // 15 minutes
)

// chartOf draws a value of each point. The scale begins at zero; top is the value of the
// upper edge, zero for the largest value.
func chartOf(points []console.RatePoint, top float64, value func(*console.RatePoint) float64) chart {
	for i := range points {
		top = max(top, value(&points[i]))
	}
	scale := top
	top = cmp.Or(top, 1)
	var line strings.Builder
	// The right edge is now, and the left one chartPoints earlier.
	from := max(0, chartPoints-len(points))
	for i := range points {
		if i > 0 {
			line.WriteByte(' ')
		}
		x := chartWidth * float64(from+i) / float64(from+len(points)-1)
		line.WriteString(decimal(x) + "," + decimal(chartHeight-chartMargin-(chartHeight-2*chartMargin)*value(&points[i])/top))
	}
	base := decimal(chartHeight)
	left := decimal(chartWidth * float64(from) / float64(max(chartPoints, len(points))-1))
	return chart{Top: scale, Line: line.String(), Area: left + "," + base + " " + line.String() + " " + decimal(chartWidth) + "," + base}
}

// decimal writes a number with at most one decimal.
func decimal(x float64) string {
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}

// bar is a rectangle of a bar that shows shares.
type bar struct {
	X, Width string
	Class    string
	Word     string
	Share    float64
	Count    float64
}

// barsOf divides a width among the counts of the classes.
func barsOf(width float64, bars []bar) []bar {
	var total, x float64
	for _, b := range bars {
		total += b.Count
	}
	for i := range bars {
		if total > 0 {
			bars[i].Share = bars[i].Count / total
		}
		bars[i].X, bars[i].Width = decimal(x), decimal(width*bars[i].Share)
		x += width * bars[i].Share
	}
	return bars
}

// figures are the rates of the last 15 minutes.
type figures struct {
	PerSecond, Hits, P99 float64
	Total                float64
	Decisions, Latency   chart
	Cache                chart
	Outcomes             []bar
}

// html is the rates of the last 15 minutes.
func (f *figures) html() h.Node {
	const unknown = "–"
	hits, p99 := unknown, unknown
	if f.PerSecond > 0 {
		hits = percent(f.Hits)
	}
	if f.P99 > 0 {
		p99 = piece.Number(f.P99)
	}
	figure := func(label string, children ...h.Node) h.Node {
		return piece.Div("card figure", piece.Span("label", h.Text(label+" "), h.Span(h.Text("15 min"))), h.Group(children))
	}
	rate := func(name, text string) h.Group { return h.Group{h.Data("rate", name), h.Text(text)} }
	small := func(unit string) h.Node { return h.Group{h.Text(" "), h.Small(h.Text(unit))} }
	return h.Section(h.Class("grid four"), h.Aria("label", "Decisions"),
		figure("Decisions per second", piece.Span("big", rate("perSecond", piece.Number(f.PerSecond))), f.Decisions.html("Decisions per second, last 15 minutes"), f.Decisions.scale("a second")),
		figure("Outcomes", piece.Note("big", piece.Number(f.Total)), f.outcomes()),
		figure("From the cache", piece.Span("big", h.Span(rate("cacheHitRatio", hits)), small("%")), f.Cache.html("Cache hits, last 15 minutes"), piece.Note("scale", "0 to 100 %")),
		figure("Time to decide, p99", piece.Span("big", h.Span(rate("p99", p99)), small("µs")), f.Latency.html("Latency, last 15 minutes"), f.Latency.scale("µs")))
}

// outcomes are the shares of outcomes.
func (f *figures) outcomes() h.Node {
	var labels []string
	for i, b := range f.Outcomes {
		if i > 0 {
			b.Word = strings.ToLower(b.Word)
		}
		labels = append(labels, b.Word+" "+piece.Number(b.Count))
	}
	return h.Group{
		h.SVG(h.Attrs("class", "chart short", "viewBox", "0 0 240 24", "preserveAspectRatio", "none", "role", "img", "aria-label", strings.Join(labels, ", ")),
			h.El("rect", h.Attrs("y", "6", "width", "240", "height", "12", "class", "fill-sunk")),
			piece.Each(f.Outcomes, func(b *bar) h.Node {
				return h.El("rect", h.Attrs("x", b.X, "y", "6", "width", b.Width, "height", "12", "class", "fill-"+b.Class))
			})),
		h.Ul(h.Class("key"), piece.Each(f.Outcomes, func(b *bar) h.Node { return h.Li(piece.Key(b.Class, "3"), h.Text(b.Word+" "+percent(b.Share)+" %")) })),
	}
}

func newFigures(r *console.Rates) *figures {
	f := &figures{
		Decisions: chartOf(r.Points, 0, (*console.RatePoint).PerSecond),
		Latency:   chartOf(r.Points, 0, func(p *console.RatePoint) float64 { return p.P99 }),
		Cache:     chartOf(r.Points, 1, func(p *console.RatePoint) float64 { return p.Hits }),
	}
	var allow, none, deny, failed float64
	for i := range r.Points {
		p, step := &r.Points[i], float64(r.Step)
		allow, none, deny, failed = allow+p.Allow*step, none+p.None*step, deny+p.Deny*step, failed+p.Error*step
	}
	f.Total = allow + none + deny + failed
	f.Outcomes = barsOf(chartWidth, []bar{
		{Class: "allow", Word: "Allowed", Count: allow}, {Class: "none", Word: "Not allowed", Count: none},
		{Class: "deny", Word: "Denied", Count: deny}, {Class: "warn", Word: "Error", Count: failed},
	})
	if n := len(r.Points); n > 0 {
		last := &r.Points[n-1]
		f.PerSecond, f.Hits, f.P99 = last.PerSecond(), last.Hits, last.P99
	}
	return f
}

// score is the score of a pod among the thresholds of a policy.
type score struct {
	console.Score
	Badge piece.Mark
	// Label describes the picture, and Legend the thresholds.
	Label, Legend string
	Bands         []band
	// At is where the score stands in the picture.
	At string
	// Anchor is where its number stands: start, middle or end.
	Anchor string
}

// html is the pod's risk factors, and where their sum stands among the thresholds.
func (s *score) html() h.Node {
	factors := piece.Each(s.Factors, func(f *console.Factor) h.Node {
		return h.Tr(piece.RowHead(h.Text(f.Factor)), piece.Td("num", h.Text(strconv.Itoa(f.Points))))
	})
	if len(s.Factors) == 0 {
		factors = h.Group{h.Tr(h.Td(h.ColSpan("2"), h.Class("muted"), h.Text("No risk factor")))}
	}
	total := strconv.Itoa(s.Score.Score)
	return piece.Card("Pod security", h.H2(piece.Heading("Pod security", s.Policy)), piece.Div("grid score",
		h.Table(h.Aria("label", "Score"), piece.Head(piece.Columns("Risk factor"), piece.NumberColumn("Points")), h.TBody(factors),
			h.TFoot(h.Tr(piece.RowHead(h.Text("Total")), piece.Td("num", h.Text(total))))),
		h.Div(
			h.SVG(h.Class("graph"), h.Attrs("viewBox", "-4 0 428 62", "role", "img", "aria-label", s.Label),
				h.El("text", h.Attrs("x", s.At, "y", "12", "text-anchor", s.Anchor), h.Class("namet"), h.Text(total)), piece.Each(s.Bands, (*band).html),
				h.El("path", h.Attrs("d", "M"+s.At+" 17v27", "stroke", "currentColor", "stroke-width", "3"))),
			piece.P("small muted", h.Text(s.Legend+" · "), s.Badge.Pill()),
			piece.Each(s.Overrides, func(text *string) h.Node { return piece.P("small", h.Text(*text)) }))))
}

// band is the scores up to a threshold.
type band struct {
	X, Width, End string
	Class         string
	Max           int
	Last          bool
}

func (b *band) html() h.Node {
	return h.Group{h.El("rect", h.Attrs("x", b.X, "y", "26", "width", b.Width, "height", "14", "class", "fill-"+b.Class)),
		h.If(!b.Last, h.El("text", h.Attrs("x", b.End, "y", "56", "text-anchor", "middle"), h.Text(strconv.Itoa(b.Max))))}
}

// scoreWidth is the width of the picture.
const scoreWidth = 420

func actionMark(action string) piece.Mark {
	switch action {
	case "allow":
		return piece.Mark{Class: "allow", Icon: "check", Word: "allow"}
	case "warn":
		return piece.Mark{Class: "warn", Icon: "warning", Word: "warn"}
	}
	return piece.Mark{Class: "deny", Icon: "cross", Word: action}
}

func scoreOf(s *console.Score) score {
	shown := score{Score: *s, Badge: actionMark(s.Action)}
	largest := s.Score
	for _, t := range s.Thresholds {
		largest = max(largest, t.MaxScore)
	}
	scale := scoreWidth / (1.08 * float64(max(1, largest)))
	x, action := 0.0, "deny"
	var words []string
	for _, t := range s.Thresholds {
		end := max(x, float64(t.MaxScore)*scale)
		shown.Bands = append(shown.Bands, band{decimal(x), decimal(end - x), decimal(end), actionMark(t.Action).Class, t.MaxScore, false})
		words = append(words, fmt.Sprintf("up to %d %s", t.MaxScore, t.Action))
		x = end
	}
	shown.Bands = append(shown.Bands, band{X: decimal(x), Width: decimal(scoreWidth - x), Class: actionMark(action).Class, Last: true})
	words = append(words, "above: "+action)
	shown.Legend = strings.Join(words, ", ")
	shown.Label = fmt.Sprintf("Score %d: %s. Thresholds: %s", s.Score, s.Action, shown.Legend)
	at := float64(s.Score) * scale
	shown.At, shown.Anchor = decimal(at), "middle"
	if at < 20 {
		shown.Anchor = "start"
	} else if at > scoreWidth-20 {
		shown.Anchor = "end"
	}
	return shown
}

// percent writes a share as a percentage with one decimal.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

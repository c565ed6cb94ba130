package page

import (
	"math"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/view"
)

// chart is a curve in a box of 240 by 40: the points of its line and of its area, and the
// value of its upper edge, zero without any value.
type chart struct {
	Line, Area string
	Top        float64
}

// Sizes of charts.
const (
	chartWidth  = 240
	chartHeight = 40
	chartMargin = 3
)

// chartOf draws a value of each point. The scale begins at zero; top is the value of the
// upper edge, zero for the largest value.
func chartOf(points []view.RatePoint, top float64, value func(*view.RatePoint) float64) chart {
	for i := range points {
		top = max(top, value(&points[i]))
	}
	scale := top
	if top == 0 {
		top = 1
	}
	var line strings.Builder
	for i := range points {
		if i > 0 {
			line.WriteByte(' ')
		}
		x := chartWidth * float64(i) / float64(max(1, len(points)-1))
		line.WriteString(decimal(x) + "," + decimal(chartHeight-chartMargin-(chartHeight-2*chartMargin)*value(&points[i])/top))
	}
	base := decimal(chartHeight)
	return chart{Top: scale, Line: line.String(), Area: "0," + base + " " + line.String() + " " + decimal(chartWidth) + "," + base}
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

func newFigures(r *view.Rates) *figures {
	f := &figures{
		Decisions: chartOf(r.Points, 0, (*view.RatePoint).PerSecond),
		Latency:   chartOf(r.Points, 0, func(p *view.RatePoint) float64 { return p.P99 }),
		Cache:     chartOf(r.Points, 1, func(p *view.RatePoint) float64 { return p.Hits }),
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

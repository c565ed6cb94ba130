package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/console"
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
	chartPoints = 180 // 15 minutes
)

// chartOf draws a value of each point. The scale begins at zero; top is the value of the
// upper edge, zero for the largest value.
func chartOf(points []console.RatePoint, top float64, value func(*console.RatePoint) float64) chart {
	for i := range points {
		top = max(top, value(&points[i]))
	}
	scale := top
	if top == 0 {
		top = 1
	}
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
	Badge mark
	// Label describes the picture, and Legend the thresholds.
	Label, Legend string
	Bands         []band
	// At is where the score stands in the picture.
	At string
	// Anchor is where its number stands: start, middle or end.
	Anchor string
}

// band is the scores up to a threshold.
type band struct {
	X, Width, End string
	Class         string
	Max           int
	Last          bool
}

// scoreWidth is the width of the picture.
const scoreWidth = 420

func actionMark(action string) mark {
	switch action {
	case "allow":
		return mark{"allow", "check", "allow"}
	case "warn":
		return mark{"warn", "warning", "warn"}
	}
	return mark{"deny", "cross", action}
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

package page

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// changesContent is what changed, and what two revisions decide differently.
type changesContent struct {
	Tabs       []piece.Tab
	Timeline   *timeline
	Revisions  []revisionRow
	Comparable bool
	From, To   string
	Pending    bool
	Diff       *difference
}

// revisionRow is a revision that can be compared.
type revisionRow struct {
	console.Revision
	IsFrom, IsTo bool
}

func (c *changesContent) html() h.Node {
	heading := h.Group{h.Text("Difference")}
	if c.From != "" {
		heading = append(heading, h.Text(" "), piece.Span("small muted", h.Code(h.Text(piece.Short(c.From))), h.Text(" to "), h.Code(h.Text(piece.Short(c.To)))))
	}
	return h.Group{
		piece.Tabs("Changes", c.Tabs),
		piece.Div("stack",
			piece.Card("Revisions by time", h.Div(piece.Region("scroll times", "Timeline, scrolls"), c.Timeline.html()),
				h.Ul(h.Class("key"), h.Li(piece.Key("allow", "2"), h.Text("classes of requests that gain or relax")), h.Li(piece.Key("deny", "2"), h.Text("that lose or tighten")),
					h.Li(h.SVG(h.Attrs("viewBox", "0 0 10 10", "aria-hidden", "true"), h.El("path", h.Attrs("d", "M5 0l5 10H0z", "class", "fill-warn"))), h.Text("refused, nothing changed")))),
			piece.Div("grid two",
				piece.Card("Difference", h.If(c.Pending, busy), piece.H2("difference", heading), c.compared()),
				piece.Titled("revisions", h.Text("Revisions"), h.Form(h.Method("get"), h.Action(changesPath), h.Aria("label", "Compare"),
					h.Table(h.Class("revisions"), piece.LabelledBy("revisions"), piece.Head(piece.Columns("From", "To", "Revision")), h.TBody(piece.Each(c.Revisions, (*revisionRow).html))),
					h.P(h.Button(h.Class("main"), h.If(!c.Comparable, h.Disabled()), h.Text("Compare"))))))),
	}
}

// compared is the difference, or why none is shown.
func (c *changesContent) compared() h.Node {
	again := changesPath + "?" + url.Values{"from": {c.From}, "to": {c.To}}.Encode()
	switch {
	case c.Pending:
		return h.Group{
			h.P(h.Role("status"), h.Text("The revisions are being compared. The view asks again.")),
			piece.P("line", piece.Button(again, "Ask again"), h.A(h.Class("button"), h.Role("button"), h.Href(changesPath), h.Text("Stop"))),
		}
	case c.Diff != nil:
		return c.Diff.html()
	case c.Comparable:
		return piece.P("empty", h.Text("Choose two revisions and press Compare."))
	case len(c.Revisions) == 0:
		return piece.P("empty", h.Text("No revision is served yet. Revisions stand here once documents are served."))
	}
	return piece.P("empty", h.Text("There is one revision. Its changes stand here when the documents change."))
}

func (r *revisionRow) html() h.Node {
	short := piece.Short(r.Revision.Revision)
	choice := func(name, label string, isChosen bool) h.Node {
		return h.Td(h.Input(h.Type("radio"), h.Name(name), h.Value(short), h.Aria("label", label+" "+short), h.If(isChosen, h.Checked())))
	}
	var commits h.Node = piece.Each(r.Commits, commitLines)
	if len(r.Commits) == 0 && r.Commit != "" {
		commits = h.Group{h.Br(), piece.Span("small muted", h.Text("commit "), h.Code(h.Text(piece.Short(r.Commit))))}
	}
	return h.Tr(choice("from", "From", r.IsFrom), choice("to", "To", r.IsTo), h.Td(h.Code(h.Class("nowrap"), h.Text(short)),
		h.If(r.Sequence != 0, h.Group{h.Text(" "), piece.Note("muted", "#"+strconv.FormatInt(r.Sequence, 10))}), h.If(r.Active, h.Group{h.Text(" "), piece.Note("pill allow", "served")}),
		commits, h.Br(), piece.Span("small muted nowrap", piece.Time(r.Since, "2 Jan 15:04:05", false))))
}

func commitLines(c *console.Commit) h.Node {
	return h.Group{h.Br(), h.Text(c.Message), h.Br(), piece.Span("small muted", h.Text(c.Author+", commit "), h.Code(h.Class("nowrap"), h.Text(piece.Short(c.Commit))), h.If(c.Source != "", h.Text(" of "+c.Source)))}
}

const changesPath = "/page/changes"

// changes is the view of revisions and of what two of them decide differently.
func changes(ctx context.Context, q *question) (frame, error) {
	revisions, err := q.Revisions(q.caller)
	if err != nil {
		return frame{}, err
	}
	c := changesContent{Tabs: changesTabs(changesPath), From: q.value("from"), To: q.value("to"), Comparable: len(revisions.Revisions) > 1, Timeline: timelineOf(revisions)}
	shown := frame{Title: "Changes", Lead: "Which decisions a change of the documents changes."}
	isAsked := c.From != "" && c.To != ""
	if !isAsked {
		shown.Live = "revision"
	}
	if !isAsked && c.Comparable { // the last change
		c.From, c.To, isAsked = piece.Short(revisions.Revisions[1].Revision), piece.Short(revisions.Revisions[0].Revision), true
	}
	if isAsked {
		diff, err := q.Diff(ctx, q.caller, c.From, c.To)
		var refused *console.Error
		switch {
		case isReason(err, console.Pending) || errors.Is(err, context.DeadlineExceeded):
			wait := time.Second
			if errors.As(err, &refused) && refused.Wait > 0 {
				wait = refused.Wait
			}
			c.Pending, shown.Again = true, max(1, int(wait.Seconds()))
			if shown.Live == "" {
				shown.Status = http.StatusAccepted
			}
		case err != nil:
			return frame{}, err
		default:
			c.Diff = differenceOf(diff)
		}
	}
	if revisions.Comparing && shown.Again == 0 {
		shown.Again = 2
	}
	for i, r := range revisions.Revisions {
		row := revisionRow{Revision: r, IsTo: i == 0, IsFrom: i == 1}
		if isAsked {
			row.IsFrom, row.IsTo = strings.HasPrefix(r.Revision, c.From), strings.HasPrefix(r.Revision, c.To)
		}
		c.Revisions = append(c.Revisions, row)
	}
	shown.Content = &c
	return shown, nil
}

// timeline is the picture of revisions, oldest left.
type timeline struct {
	Label string
	// Least is the least width, at which times do not overlap.
	Least string
	Bars  []timelineBar
	Marks []timelineMark
}

// timelineBar is what changed with a revision.
type timelineBar struct {
	X, Up, UpHeight, DownHeight string
	Title                       string
	At                          time.Time
}

// timelineMark is a refusal.
type timelineMark struct{ X, Title string }

// Sizes of the timeline.
const (
	timelineStep   = 64
	timelineBase   = 40
	timelineUp     = 34.0
	timelineDown   = 26.0
	timelineWidest = 24 // revisions and refusals
)

func (t *timeline) html() h.Node {
	return h.Group{
		h.SVG(h.Attrs("class", "least", "width", t.Least, "height", "1", "aria-hidden", "true")),
		h.SVG(h.Attrs("class", "timeline", "height", "100", "role", "img", "aria-label", "Timeline"), h.TitleEl(h.Text(t.Label)),
			h.El("rect", h.Attrs("class", "edge", "y", "39.5", "width", "100%", "height", "1")),
			piece.Each(t.Bars, (*timelineBar).html),
			piece.Each(t.Marks, func(m *timelineMark) h.Node {
				return moment(m.X, m.Title, h.El("path", h.Attrs("d", "M0 30l9 16h-18z", "class", "fill-warn")))
			})),
	}
}

// moment is what stands at a time of the picture.
func moment(x, title string, children ...h.Node) h.Node {
	return h.SVG(h.Attrs("class", "moment", "x", x), h.TitleEl(h.Text(title)), h.Group(children))
}

func (b *timelineBar) html() h.Node {
	return moment(b.X, b.Title,
		h.El("rect", h.Attrs("x", "-9", "y", b.Up, "width", "18", "height", b.UpHeight, "rx", "2", "class", "fill-allow")),
		h.El("rect", h.Attrs("x", "-9", "y", "41", "width", "18", "height", b.DownHeight, "rx", "2", "class", "fill-deny")),
		h.El("circle", h.Attrs("cy", "40", "r", "3", "class", "fill-none")),
		h.El("text", h.Attrs("y", "82"), h.Text(b.At.UTC().Format("2 Jan"))), h.El("text", h.Attrs("y", "95"), h.Text(b.At.UTC().Format("15:04"))))
}

// timelineOf draws revisions and refusals by their time.
func timelineOf(r *console.Revisions) *timeline {
	type moment struct {
		at      time.Time
		summary map[string]int
		name    string
		refused string
	}
	var moments []moment
	most := 1
	for i := range r.Revisions {
		v := &r.Revisions[i]
		moments = append(moments, moment{at: v.Since, summary: v.Summary, name: piece.Short(v.Revision)})
		most = max(most, v.Summary["gain"]+v.Summary["relax"], v.Summary["loss"]+v.Summary["tighten"])
	}
	for _, refused := range r.Refused {
		moments = append(moments, moment{at: refused.Time, refused: piece.Plural(refused.Errors, "error")})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return a.at.Compare(b.at) })
	moments = moments[max(0, len(moments)-timelineWidest):]
	t := &timeline{
		Label: piece.Plural(len(r.Revisions), "revision") + ", newest right: above the line how many classes of requests gain or relax, below it how many lose or tighten; " + piece.Plural(len(r.Refused), "refusal"),
		Least: decimal(float64(max(1, len(moments)) * timelineStep)),
	}
	for i, m := range moments {
		x := decimal(100*(float64(i)+0.5)/float64(len(moments))) + "%"
		if m.refused != "" {
			t.Marks = append(t.Marks, timelineMark{x, "refused: " + m.refused})
			continue
		}
		wider, narrower := m.summary["gain"]+m.summary["relax"], m.summary["loss"]+m.summary["tighten"]
		up := height(wider, most, timelineUp)
		t.Bars = append(t.Bars, timelineBar{
			X: x, At: m.at, Up: decimal(timelineBase - 1 - up), UpHeight: decimal(up), DownHeight: decimal(height(narrower, most, timelineDown)),
			Title: "revision " + m.name + ": " + piece.Plural(wider, "class") + " wider, " + piece.Plural(narrower, "class") + " narrower",
		})
	}
	return t
}

// height is the height of a bar: at least two pixels for something.
func height(n, most int, full float64) float64 {
	if n == 0 {
		return 0
	}
	return max(2, full*math.Sqrt(float64(n)/float64(most)))
}

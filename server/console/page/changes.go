package page

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// changesContent is what changed, and what two revisions decide differently.
type changesContent struct {
	Tabs       []tab
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

// difference is a comparison in words.
type difference struct {
	Same bool
	// Until is when Same ends to be known, empty without such a time.
	Until  string
	Claim  []string
	Counts []bar
	Rows   []differenceRow
	More   int
	Notes  []string
	Texts  []console.TextDiff
	// Folded are the rows after the first ones.
	Folded []differenceRow
	// MoreLines is how many lines of Texts are left out.
	MoreLines int
}

// differenceRow is a group of decisions that differ in the same way.
type differenceRow struct {
	// Summary is the change in one sentence.
	Summary string
	// Title lists what the sentence counts, shown on demand; empty if it counts nothing.
	Title         string
	Before, After mark
	Causes        []cause
	// Href is the address of a request that is decided differently.
	Href string
	// Subjects lead to some of the subjects that are affected, and More is how many others are.
	Subjects []tab
	More     int
	// From is the time from which the decisions differ, if that is later.
	From string
	// Possible marks what may happen, but was not found.
	Possible bool
	Accepted bool
}

// cause is a document that is responsible.
type cause struct {
	Name, What, Source string
	// Plain is true if the place is not one of the served documents.
	Plain bool
}

const changesPath = "/page/changes"

// maxDifferences bounds the rows of a view, and maxTextLines its lines of documents.
const (
	maxDifferences   = 100
	firstDifferences = 8
	maxTextLines     = 1000
	fewAffected      = 3
)

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
		c.From, c.To, isAsked = short(revisions.Revisions[1].Revision), short(revisions.Revisions[0].Revision), true
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
	shown.Content = c
	return shown, nil
}

// kindWords are the kinds of changes, most dangerous first, with their classes and words.
var kindWords = []struct{ kind, class, word string }{
	{"gain", "allow", "gained"}, {"relax", "allow", "relaxed"}, {"loss", "deny", "lost"}, {"tighten", "deny", "tightened"}, {"other", "warn", "other"},
}

// afterTime returns a title without the time from which it holds, which a row shows apart.
func afterTime(title string) string {
	_, rest, _ := strings.Cut(title, "Z: ")
	return rest
}

func differenceOf(d *console.Diff) *difference {
	out := &difference{Claim: strings.Split(strings.TrimSpace(d.Claim()), "\n"), Notes: d.Notes}
	out.showTexts(d.Texts)
	for _, k := range kindWords {
		if n := d.Summary[k.kind]; n > 0 {
			out.Counts = append(out.Counts, bar{Class: k.class, Word: k.word, Count: float64(n)})
		}
	}
	groups := d.Groups
	if len(groups) > maxDifferences {
		out.More = len(groups) - maxDifferences
		groups = groups[:maxDifferences]
	}
	out.Same = len(groups) == 0
	if t := d.Coverage.Until; t != nil {
		out.Until = t.Format(time.RFC3339)
	}
	for _, g := range groups {
		row := differenceRow{Summary: strings.TrimSuffix(g.Summary, " (possible)"), Title: g.Title, Possible: true}
		affected := make(map[string]bool)
		for _, class := range d.Classes {
			if !slices.Contains(g.Classes, class.ID) {
				continue
			}
			row.Accepted = row.Accepted || class.Accepted
			if class.ID == g.Classes[0] && class.At != nil && class.At.After(d.Now) {
				row.From = class.At.Format(time.RFC3339)
				row.Summary, row.Title = afterTime(row.Summary), afterTime(row.Title)
			}
			for _, t := range class.Transitions {
				for _, p := range t.Affected.Principals {
					affected[p] = affected[p] || t.Change == g.Change
				}
				if row.Possible || t.Change == g.Change && row.Href == "" {
					row.Before, row.After, row.Possible = badge(t.From), badge(t.To), false
					row.Href = askHref(class.Point, encode(t.Witness.Request))
				}
			}
		}
		for _, p := range slices.Sorted(maps.Keys(affected)) {
			if len(row.Subjects) == fewAffected {
				row.More = len(affected) - fewAffected
				break
			}
			row.Subjects = append(row.Subjects, tab{Name: principalWords(p), Href: subjectHref(p)})
		}
		for _, found := range g.Causes {
			row.Causes = append(row.Causes, cause{named(found.Kind, found.Namespace, found.Name), found.What, found.Source, false})
		}
		out.Rows = append(out.Rows, row)
	}
	if len(out.Rows) > firstDifferences {
		out.Rows, out.Folded = out.Rows[:firstDifferences], out.Rows[firstDifferences:]
	}
	return out
}

// showTexts adds the lines of documents that differ, as far as they fit.
func (d *difference) showTexts(texts []console.TextDiff) {
	left := maxTextLines
	for _, t := range texts {
		shown := min(left, len(t.Lines))
		d.MoreLines += len(t.Lines) - shown
		if left -= shown; shown > 0 {
			t.Lines = t.Lines[:shown]
			d.Texts = append(d.Texts, t)
		}
	}
}

// Sizes of the timeline.
const (
	timelineStep   = 64
	timelineBase   = 40
	timelineUp     = 34.0
	timelineDown   = 26.0
	timelineWidest = 24 // revisions and refusals
)

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
		moments = append(moments, moment{at: v.Since, summary: v.Summary, name: short(v.Revision)})
		most = max(most, v.Summary["gain"]+v.Summary["relax"], v.Summary["loss"]+v.Summary["tighten"])
	}
	for _, refused := range r.Refused {
		moments = append(moments, moment{at: refused.Time, refused: plural(refused.Errors, "error")})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return a.at.Compare(b.at) })
	moments = moments[max(0, len(moments)-timelineWidest):]
	t := &timeline{
		Label: plural(len(r.Revisions), "revision") + ", newest right: above the line how many classes of requests gain or relax, below it how many lose or tighten; " + plural(len(r.Refused), "refusal"),
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
			Title: "revision " + m.name + ": " + plural(wider, "class") + " wider, " + plural(narrower, "class") + " narrower",
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

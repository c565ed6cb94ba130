package page

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
	"github.com/writ-policy/writ/translator/tables"
)

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
	Before, After piece.Mark
	Causes        []cause
	// Href is the address of a request that is decided differently.
	Href string
	// Subjects lead to some of the subjects that are affected, and More is how many others are.
	Subjects []piece.Tab
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

// maxDifferences bounds the rows of a view, and maxTextLines its lines of documents.
const (
	maxDifferences   = 100
	firstDifferences = 8
	maxTextLines     = 1000
	fewAffected      = 3
)

func (d *difference) html() h.Node {
	return h.Group{
		d.counted(),
		piece.Each(d.Claim, func(text *string) h.Node { return piece.P("small muted", h.Text(*text)) }),
		piece.Each(d.Notes, func(text *string) h.Node { return piece.P("small", h.Text(*text)) }),
		h.If(d.MoreLines > 0, piece.P("muted", h.Text(piece.Plural(d.MoreLines, "line")+" of documents that differ are left out here."))),
		h.If(len(d.Texts) > 0, h.Details(h.Summary(h.Text("Documents that differ")), piece.Div("stack", piece.Each(d.Texts, textThatDiffers)))),
	}
}

// counted is the decisions that differ.
func (d *difference) counted() h.Node {
	if d.Same {
		text := "No decision differs"
		if d.Until != "" {
			text += " until " + d.Until
		}
		return h.P(h.Role("status"), h.Text(text+"."))
	}
	return h.Group{
		h.P(h.Role("status"), piece.Each(d.Counts, func(b *bar) h.Node {
			return h.Group{piece.Note("pill "+b.Class, piece.Number(b.Count)+" "+b.Word), h.Text(" ")}
		})),
		h.If(len(d.Rows) > 0, differences("Decisions that differ", d.Rows)),
		h.If(len(d.Folded) > 0, h.Details(h.Summary(h.Text(piece.Plural(len(d.Folded), "more change"))), differences("More decisions that differ", d.Folded))),
		h.If(d.More > 0, piece.P("muted", h.Text(piece.Plural(d.More, "group")+" of decisions are left out here; writ diff lists all."))),
	}
}

func differences(label string, rows []differenceRow) h.Node {
	return h.Table(h.Class("stacked differences"), h.Aria("label", label), piece.Head(piece.Columns("What differs", "Decision")), h.TBody(piece.Each(rows, (*differenceRow).html)))
}

func (r *differenceRow) html() h.Node {
	note := func(class, text string) h.Node { return h.Group{h.Text(" "), piece.Note(class, text)} }
	return h.Tr(h.Th(h.Scope("row"), h.Class("what"), h.Strong(h.Text(r.Summary)),
		h.If(r.From != "", note("pill warn", "from "+r.From)), h.If(r.Possible, note("pill warn", "possible, not found")), h.If(r.Accepted, note("pill", "expected")),
		piece.Each(r.Causes, (*cause).html),
		piece.P("small", h.If(r.Href != "", piece.A(r.Href, h.Text("Ask for an example"))),
			piece.Each(r.Subjects, func(t *piece.Tab) h.Node { return h.Group{h.Text(" · "), t.Link()} }),
			h.If(r.More > 0, note("muted", "and "+piece.Number(r.More)+" more"))),
		h.If(r.Title != "", h.Details(h.Summary(h.Class("small"), h.Text("verbs and resources")), piece.Note("small", r.Title)))),
		h.Td(h.If(r.Before.Word != "", r.Before.Pill()), h.If(r.After.Word != "", h.Group{note("muted", "then"), h.Text(" "), r.After.Pill()})))
}

func (c *cause) html() h.Node {
	at := h.Text(c.Source)
	if !c.Plain {
		at = piece.Place(c.Source)
	}
	return piece.P("small muted", h.Text(c.Name+" "+c.What+" "), at)
}

func textThatDiffers(t *console.TextDiff) h.Node {
	return h.Figure(h.Class("source"), h.Aria("label", "Difference of "+t.File), h.FigCaption(h.Text(t.File)), h.Div(piece.Region("code", "Lines of "+t.File),
		h.Ol(piece.Each(t.Lines, func(line *string) h.Node {
			text := *line
			if text == "@" {
				text = "⋯"
			}
			return h.Li(h.Class(diffClass(*line)), piece.Note("t", text))
		}))))
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
					row.Before, row.After, row.Possible = piece.Badge(t.From), piece.Badge(t.To), false
					row.Href = askHref(class.Point, jsontext.Encode(t.Witness.Request))
				}
			}
		}
		for _, p := range slices.Sorted(maps.Keys(affected)) {
			if len(row.Subjects) == fewAffected {
				row.More = len(affected) - fewAffected
				break
			}
			row.Subjects = append(row.Subjects, piece.Tab{Name: principalWords(p), Href: subjectHref(p)})
		}
		for _, found := range g.Causes {
			row.Causes = append(row.Causes, cause{tables.Title(found.Kind, found.Namespace, found.Name), found.What, found.Source, false})
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

// diffClass is the class of a line of a difference.
func diffClass(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "hit allow"
	case strings.HasPrefix(line, "-"):
		return "hit deny"
	case line == "@":
		return "muted"
	}
	return "same"
}

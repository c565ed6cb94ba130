package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
)

// Reach is which subjects become others in one revision only, or in another class.
type Reach struct {
	Opened  []ReachChange `json:"opened"`
	Closed  []ReachChange `json:"closed"`
	Changed []ReachChange `json:"changed"`
}

// ReachPair is a subject and a target.
type ReachPair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// ReachChange is a pair whose best path differs.
type ReachChange struct {
	From any    `json:"from"` // the identity of the subject
	To   string `json:"to"`
	// Class is that of a path which is opened or closed; Was and Is are those of one that changes.
	Class string `json:"class,omitempty"`
	Was   string `json:"was,omitempty"`
	Is    string `json:"is,omitempty"`
	// Hops are those of the path in B, or in A if it is closed.
	Hops   any     `json:"hops"`
	Causes []Cause `json:"causes"`
	// Accepted, Reason and Expired are those of a Class.
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
	Expired  bool   `json:"expired,omitempty"`

	Pair ReachPair `json:"-"`
	// Change is gain for a path that is opened or gets a better class, and loss for others.
	Change string `json:"-"`
	// Text is the change in a sentence, and Lines are its hops for people.
	Text  string   `json:"-"`
	Lines []string `json:"-"`

	namespaces int // whose administrator is reached by the same hops
}

// ReachGain and ReachLoss are the changes of a ReachChange.
const (
	ReachGain = changeGain
	ReachLoss = changeLoss
)

// Differing returns the documents of the points access and visibility that differ between
// two revisions.
func Differing(a, b *statement.World) []Cause {
	c := &comparison{a: &Side{World: a}, b: &Side{World: b}}
	c.routed = func() (_, _ map[Cause]string) { return nil, nil }
	return elements.Map(c.differences(), func(d difference) Cause { return d.Cause })
}

// SetReach adds the paths that differ to the report.
func (r *Report) SetReach(reach *Reach) { r.Reach = reach }

// paths returns all paths that differ, gains first.
func (r *Report) paths() (out []*ReachChange) {
	if r.Reach == nil {
		return nil
	}
	for _, list := range [][]ReachChange{r.Reach.Opened, r.Reach.Changed, r.Reach.Closed} {
		for i := range list {
			out = append(out, &list[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *ReachChange) int { return strings.Compare(a.Change, b.Change) })
	return out
}

// shown returns the paths for people: of one to the administrator of the cluster, those to
// administrators of namespaces by the same hops are counted in its place.
func (r *Report) shown() (out []*ReachChange) {
	paths := r.paths()
	isWhole := func(p *ReachChange) bool { return !strings.Contains(p.Pair.To, ":") }
	for _, p := range paths {
		same := func(o *ReachChange) bool {
			return o.Pair.From == p.Pair.From && o.Change == p.Change && o.Accepted == p.Accepted && slices.Equal(o.Lines, p.Lines)
		}
		if !isWhole(p) {
			if !slices.ContainsFunc(paths, func(o *ReachChange) bool { return isWhole(o) && same(o) }) {
				out = append(out, p)
			}
			continue
		}
		whole := *p
		for _, o := range paths {
			if !isWhole(o) && same(o) {
				whole.namespaces++
			}
		}
		out = append(out, &whole)
	}
	return out
}

// fitsPath reports whether an entry is about a path.
func (e *ExpectedChange) fitsPath(p *ReachChange) bool {
	return e.Reach != nil && *e.Reach == p.Pair && e.Change == p.Change
}

// acceptPaths marks the paths that are expected.
func (r *Report) acceptPaths(expected []ExpectedChange) {
	for _, p := range r.paths() {
		p.Accepted, p.Expired, p.Reason = false, false, ""
		for i := range expected {
			switch e := &expected[i]; {
			case !e.fitsPath(p):
			case e.isExpired(r.Now):
				p.Expired = true
			case !p.Accepted:
				p.Accepted, p.Reason = true, e.remark()
			}
		}
		p.Expired = p.Expired && !p.Accepted
	}
}

// expectedPaths returns the entries that accept every path that differs.
func (r *Report) expectedPaths(earlier []ExpectedChange) (out []ExpectedChange) {
	for _, p := range r.paths() {
		pair := p.Pair
		e := ExpectedChange{Reach: &pair, Change: p.Change, Text: p.Text}
		at := slices.IndexFunc(earlier, func(e ExpectedChange) bool { return e.fitsPath(p) && !e.isExpired(r.Now) })
		if at >= 0 {
			e.Until, e.Reason = earlier[at].Until, earlier[at].Reason
		}
		out = append(out, e)
	}
	return out
}

// pathsFail reports whether a path that differs counts.
func (r *Report) pathsFail(on string) bool {
	return slices.ContainsFunc(r.paths(), func(p *ReachChange) bool {
		return p.Expired && on != "none" || !p.Accepted && Counts(on, p.Change)
	})
}

// sentence counts the paths that differ.
func (r *Reach) sentence() string {
	if len(r.Opened)+len(r.Closed)+len(r.Changed) == 0 {
		return "No path to an administrator is opened or closed"
	}
	return fmt.Sprintf("Paths to administrators: %d opened, %d closed, %d in another class", len(r.Opened), len(r.Closed), len(r.Changed))
}

// line states a path that differs and why.
func (p *ReachChange) line() string {
	text := p.Text
	if p.namespaces > 0 {
		text += ", and by it " + diag.Counted(p.namespaces, "namespace")
	}
	if p.Accepted {
		text += " (expected"
		if p.Reason != "" {
			text += ": " + p.Reason
		}
		text += ")"
	}
	return text
}

func (p *ReachChange) documents() []string {
	out := make([]string, 0, len(p.Causes))
	for _, c := range p.Causes {
		text := c.Document() + " " + c.What
		if c.Source != "" {
			text += " (" + c.In + ": " + c.Source + ")"
		}
		out = append(out, text)
	}
	return out
}

// columns is the width of a terminal.
const columns = 80

// writeReach writes the paths that differ for people, at most limit of them.
func (r *Report) writeReach(out *diag.Lines, limit int) {
	if r.Reach == nil {
		return
	}
	out.Addf("%s.", r.Reach.sentence())
	paths := r.shown()
	for i, p := range paths {
		if i == limit {
			out.Addf("and %s more; --limit %d shows all", diag.Counted(len(paths)-limit, "path"), len(paths))
			break
		}
		sign := map[string]string{changeGain: "+", changeLoss: "-"}[p.Change]
		wrap := func(before, text string) {
			for _, line := range diag.Wrap(columns, before, diag.Line(text)) {
				out.Addf("%s", line)
			}
		}
		wrap(sign+" ", p.line())
		if causes := p.documents(); len(causes) > 0 {
			wrap("    ", "because of "+strings.Join(causes, ", "))
		}
		for _, line := range p.Lines {
			text := strings.TrimLeft(line, " ")
			wrap("  "+line[:len(line)-len(text)], text)
		}
	}
}

// mostPaths bounds the paths that a comment lists.
const mostPaths = 20

func (r *Report) markdownReach(out *diag.Lines) {
	if r.Reach == nil {
		return
	}
	out.Addf("### %s", r.Reach.sentence())
	out.Addf("")
	paths := r.shown()
	for _, p := range paths[:min(len(paths), mostPaths)] {
		out.Addf("<details><summary><b>%s</b>: %s</summary>", p.Change, elementEscapes.Replace(diag.Line(p.line())))
		out.Addf("")
		for _, text := range p.documents() {
			out.Addf("- because of %s", EscapeMarkdown(text))
		}
		out.Addf("")
		out.Addf("```text")
		for _, line := range p.Lines {
			out.Addf("%s", strings.ReplaceAll(diag.Line(line), "```", ""))
		}
		out.Addf("```")
		out.Addf("")
		out.Addf("</details>")
		out.Addf("")
	}
	if more := len(paths) - mostPaths; more > 0 {
		out.Addf("and %s more, -o json lists them.", diag.Counted(more, "path"))
		out.Addf("")
	}
}

// sarifReach returns the paths that differ for code scanning; first is the index of their
// first rule.
func (r *Report) sarifReach(first int) (rules, results []any) {
	if r.Reach == nil {
		return nil, nil
	}
	for _, one := range [][2]string{{changeGain, "A subject can become an administrator that it could not become, or more certainly"},
		{changeLoss, "A subject cannot become an administrator any more, or less certainly"}} {
		text := map[string]any{"text": one[1]}
		rules = append(rules, map[string]any{"id": "reach-" + one[0], "shortDescription": text, "fullDescription": text, "help": text})
	}
	for _, p := range r.paths() {
		rule, level := 0, "warning"
		if p.Change == changeLoss {
			rule, level = 1, "note"
		}
		result := map[string]any{
			"ruleId": "reach-" + p.Change, "ruleIndex": first + rule, "level": level, "message": map[string]any{"text": p.Text},
			"partialFingerprints": map[string]any{"writ": statement.JSONText(p.Pair)},
		}
		if i := slices.IndexFunc(p.Causes, func(c Cause) bool { return c.Source != "" }); i >= 0 {
			result["locations"] = []any{SARIFLocation(p.Causes[i].Source)}
		}
		if p.Accepted {
			result["suppressions"] = []any{map[string]any{"kind": "external", "justification": strings.TrimSuffix("listed as an expected change: "+p.Reason, ": ")}}
		}
		results = append(results, result)
	}
	return rules, results
}

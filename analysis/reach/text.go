package reach

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/translator/diag"
)

// Text writes the paths for people.
func (r *Report) Text() string {
	var out strings.Builder
	for i := range r.Paths {
		r.Paths[i].text(&out)
	}
	if len(r.Cuts) > 0 {
		var cuts []string
		for _, c := range r.Cuts {
			what := diag.Counted(c.Paths, "path")
			if c.Paths == 0 {
				what = "with the next"
			}
			cuts = append(cuts, fmt.Sprintf("%s (%s)", diag.Line(c.Source), what))
		}
		addLine(&out, width, "", "cut it at: "+strings.Join(cuts, ", "))
	}
	for _, note := range r.Notes {
		addLine(&out, width, "", "note: "+diag.Line(note))
	}
	if n := len(r.Excepted); n > 0 {
		fmt.Fprintf(&out, "%s excepted.\n", diag.Counted(n, "path"))
	}
	for line := range strings.SplitSeq(r.total(), "\n") {
		addLine(&out, width, "", line)
	}
	for _, what := range r.notTried {
		addLine(&out, width, "", "Not tried: "+what+".")
	}
	out.WriteString("Not covered: operators, clouds, persistent volumes, webhooks; -o json lists all.\n")
	return out.String()
}

// lines returns the hops of a path for people, a fact a line: what shows them wraps them.
func (p *Path) lines() []string {
	var out strings.Builder
	p.addHops(&out, math.MaxInt)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func (p *Path) text(out *strings.Builder) {
	who := fmt.Sprintf("%s  reaches  %s", diag.Line(p.Subject), diag.Line(p.To))
	how := fmt.Sprintf("  in %s, %s", diag.Counted(len(p.Hops), "hop"), p.Class)
	if len(who)+len(how) > width {
		who += "\n"
	}
	fmt.Fprintln(out, who+how)
	p.addHops(out, width)
}

func (p *Path) addHops(out *strings.Builder, limit int) {
	wide := 0 // of the requests that have their result on the same line
	for n := range p.Hops {
		if what, result := p.Hops[n].parts(); len(hopIndent)+len(what)+3+len(result) <= width {
			wide = max(wide, len(what))
		}
	}
	for n := range p.Hops {
		h := &p.Hops[n]
		what, result := h.parts()
		if line := fmt.Sprintf("  %d  %-*s   %s", n+1, wide, what, result); len(line) <= width {
			fmt.Fprintln(out, line)
		} else {
			addLine(out, limit, fmt.Sprintf("  %d  ", n+1), what)
			addLine(out, limit, hopIndent, result)
		}
		for i := range h.Grants {
			if i == 0 || h.Grants[i] != h.Grants[i-1] {
				addLine(out, limit, hopIndent, "allowed by "+diag.Line(h.Grants[i].String()))
			}
		}
		if len(h.Assumes) > 0 {
			addLine(out, limit, hopIndent, "assumes: "+diag.Line(strings.Join(h.Assumes, ", ")))
		}
		if len(h.Why) > 0 {
			addLine(out, limit, hopIndent, "possible, it depends on: "+diag.Line(strings.Join(h.Why, ", "))+diag.Line(factsText(h.Facts)))
		}
	}
	if len(p.Why) > 0 {
		addLine(out, limit, hopIndent, "whether it has all of "+diag.Line(p.To)+" depends on: "+diag.Line(strings.Join(p.Why, ", ")))
	}
}

// parts returns what a hop asks for, and what that makes of who asks.
func (h *Hop) parts() (what, result string) {
	what, result, _ = strings.Cut(h.Text, ": ")
	return diag.Line(what), diag.Line(result)
}

// width is that of a terminal, and hopIndent precedes the lines of a hop.
const (
	width     = 80
	hopIndent = "     "
)

// addLine writes a text after what precedes it, in lines up to the limit.
func addLine(out *strings.Builder, limit int, before, text string) {
	for _, line := range diag.Wrap(limit, before, text) {
		fmt.Fprintln(out, line)
	}
}

// String names what grants a request, and where.
func (g *Grant) String() string {
	name := strings.TrimPrefix(g.Namespace+"/"+g.Name, "/")
	if g.role != "" {
		return fmt.Sprintf("%s %s (%s, rule %d; %s)", g.Kind, name, g.role, g.Rule, g.Source)
	}
	return fmt.Sprintf("%s %s, rule %d (%s)", g.Kind, name, g.Rule, g.Source)
}

// factsText states values of facts with which a hop is allowed.
func factsText(facts map[string]any) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(facts)) {
		if text, ok := facts[key].(string); ok && text != "" {
			out = append(out, key+" "+text)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (allowed with " + strings.Join(out, ", ") + ")"
}

// total counts the subjects that reach each target.
func (r *Report) total() string {
	type count struct {
		subjects map[string]bool
		classes  [never]int
		why      map[string]bool
	}
	counts, seen := make(map[string]*count), make(map[pair]bool)
	var order []string
	for i := range r.Paths {
		p := &r.Paths[i]
		c := counts[p.To]
		if c == nil {
			c = &count{make(map[string]bool), [never]int{}, make(map[string]bool)}
			counts[p.To], order = c, append(order, p.To)
		}
		if seen[pairOf(p)] {
			continue
		}
		seen[pairOf(p)] = true
		c.subjects[p.Subject] = true
		c.classes[p.Class]++
		for _, why := range p.Why {
			c.why[why] = true
		}
		for _, h := range p.Hops {
			for _, why := range h.Why {
				c.why[why] = true
			}
		}
	}
	if len(order) == 0 {
		return "No path."
	}
	var out []string
	for _, to := range order {
		c := counts[to]
		verb := " reach "
		if len(c.subjects) == 1 {
			verb = " reaches "
		}
		why := ""
		if len(c.why) > 0 {
			why = " (" + strings.Join(slices.Sorted(maps.Keys(c.why)), ", ") + ")"
		}
		out = append(out, diag.Line(fmt.Sprintf("%s%s%s: %d certain, %d assumed, %d possible%s.", diag.Counted(len(c.subjects), "subject"), verb, to, c.classes[Certain], c.classes[Assumed], c.classes[Possible], why)))
	}
	return strings.Join(out, "\n")
}

// SARIF returns the report in the Static Analysis Results Interchange Format, with a result
// for each path at the line that grants its first hop.
func (r *Report) SARIF(version string) ([]byte, error) {
	var rules []any
	levels := [...]string{Certain: "error", Assumed: "warning", Possible: "note"}
	about := [...]string{Certain: "A subject can become another one by its requests alone", Assumed: "A subject can become another one if something exists or runs",
		Possible: "A subject may become another one, depending on what documents cannot know"}
	for class := range never {
		text := map[string]any{"text": about[class]}
		rules = append(rules, map[string]any{"id": "reach-" + class.String(), "shortDescription": text, "fullDescription": text, "help": text})
	}
	results := []any{}
	for i := range r.Paths {
		p := &r.Paths[i]
		if len(p.Hops) == 0 {
			continue
		}
		id := sha256.Sum256([]byte(p.Subject + "\x00" + p.To))
		result := map[string]any{
			"ruleId": "reach-" + p.Class.String(), "ruleIndex": int(p.Class), "level": levels[p.Class],
			"message":             map[string]any{"text": p.Sentence()},
			"partialFingerprints": map[string]any{"writ": hex.EncodeToString(id[:8])},
		}
		var locations []any
		for _, h := range p.Hops {
			for j := range h.Grants {
				if source := h.Grants[j].Source; source != madeByHop && len(locations) == 0 {
					locations = append(locations, diff.SARIFLocation(source))
				}
			}
		}
		if locations != nil {
			result["locations"] = locations
		}
		results = append(results, result)
	}
	return diff.EncodeSARIF(version, rules, results)
}

// Sentence states a path in one line.
func (p *Path) Sentence() string {
	open := ""
	if len(p.Why) > 0 {
		open = ", depending on " + strings.Join(p.Why, ", ")
	}
	if len(p.Hops) == 0 {
		return p.Subject + " is " + p.To + " by what it holds" + open
	}
	var hops []string
	for i := range p.Hops {
		hops = append(hops, p.Hops[i].Text)
	}
	return p.Subject + " reaches " + p.To + ", " + p.Class.String() + ": " + strings.Join(hops, "; then ") + open
}

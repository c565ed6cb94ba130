package reach

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
		fmt.Fprintf(&out, "cut it at: %s\n", strings.Join(cuts, ", "))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&out, "note: %s\n", diag.Line(note))
	}
	if n := len(r.Excepted); n > 0 {
		fmt.Fprintf(&out, "%s excepted.\n", diag.Counted(n, "path"))
	}
	fmt.Fprintf(&out, "%s\nNot covered: operators, clouds, persistent volumes, webhooks; -o json lists all.\n", r.total())
	return out.String()
}

// lines returns the hops of a path for people.
func (p *Path) lines() []string {
	var out strings.Builder
	p.text(&out)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")[1:]
}

func (p *Path) text(out *strings.Builder) {
	fmt.Fprintf(out, "%s  reaches  %s  in %s, %s\n", diag.Line(p.Subject), diag.Line(p.To), diag.Counted(len(p.Hops), "hop"), p.Class)
	for n := range p.Hops {
		h := &p.Hops[n]
		what, result, _ := strings.Cut(h.Text, ": ")
		fmt.Fprintf(out, "  %d  %s\n     %s\n", n+1, diag.Line(what), diag.Line(result))
		for i := range h.Grants {
			if i == 0 || h.Grants[i] != h.Grants[i-1] {
				fmt.Fprintf(out, "     allowed by %s\n", diag.Line(h.Grants[i].String()))
			}
		}
		if len(h.Assumes) > 0 {
			fmt.Fprintf(out, "     assumes: %s\n", diag.Line(strings.Join(h.Assumes, ", ")))
		}
		if len(h.Why) > 0 {
			fmt.Fprintf(out, "     possible, it depends on: %s%s\n", diag.Line(strings.Join(h.Why, ", ")), diag.Line(factsText(h.Facts)))
		}
	}
}

// String names what grants a request, and where.
func (g *Grant) String() string {
	name := g.Name
	if g.Namespace != "" {
		name = g.Namespace + "/" + name
	}
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

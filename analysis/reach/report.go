package reach

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/diag"
)

// Report is the answer to who can become whom.
type Report struct {
	Revision   string         `json:"revision"`
	Now        string         `json:"now"`
	Paths      []Path         `json:"paths"`
	Summary    map[string]int `json:"summary"`
	Cuts       []Cut          `json:"cuts"`
	Excepted   []Path         `json:"excepted"`
	NotCovered []string       `json:"notCovered"`
}

// Path leads from a subject to a target.
type Path struct {
	From  *Identity `json:"from"`
	To    string    `json:"to"`
	Class Class     `json:"class"`
	Hops  []Hop     `json:"hops"`

	// Subject is the subject as it was asked for.
	Subject string `json:"-"`
}

// Hop is one step of a path.
type Hop struct {
	Edge     string           `json:"edge"`
	Class    Class            `json:"class"`
	As       *Identity        `json:"as"`
	Requests []map[string]any `json:"requests"`
	Assumes  []string         `json:"assumes"`
	Why      []string         `json:"why"`
	Facts    map[string]any   `json:"facts"`
	Becomes  *Identity        `json:"becomes,omitempty"`
	Adds     []map[string]any `json:"adds"`
	Removes  []map[string]any `json:"removes"`
	// Grants are what allows each of the requests.
	Grants []Grant `json:"grants"`
	Text   string  `json:"text"`
}

// Grant is the rule that allows a request.
type Grant struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      int    `json:"rule"`
	Source    string `json:"source"`
}

// Cut is a grant without which some paths are gone.
type Cut struct {
	Grant
	Paths int `json:"paths"`
}

// DisagreementError is the error of a hop that the engine decides in another way: a defect.
type DisagreementError struct{ Request map[string]any }

func (e *DisagreementError) Error() string {
	return "disagreement: the engine does not allow a request of a hop: " + string(statement.Encode(e.Request))
}

// path returns the path of some arcs, each of whose requests the engine has allowed.
func (g *graph) path(ctx context.Context, s start, to string, arcs []arc) (*Path, error) {
	p := &Path{From: s.identity, To: to, Hops: []Hop{}, Subject: s.name}
	as, w := s.identity, s.world
	for n, a := range arcs {
		if a.hop == nil {
			continue
		}
		end := a.to
		for _, next := range arcs[n+1:] {
			if end.identity != nil {
				break
			}
			end = next.to
		}
		h := a.hop.report(as, end.identity)
		if err := g.check(ctx, w, as, &h); err != nil {
			return nil, err
		}
		p.Hops = append(p.Hops, h)
		if a.hop.change == nil {
			as = end.identity
			if as.Acting != nil { // the node is that of all who act as it
				same := *as
				same.Acting = &Acting{By: h.As, Mode: as.Acting.Mode}
				as = &same
				p.Hops[len(p.Hops)-1].Becomes = as
			}
		}
		w = end.world
	}
	return p, nil
}

// report returns the hop as an identity takes it.
func (h *hop) report(as, to *Identity) Hop {
	out := Hop{Edge: h.edge, Class: h.class, As: as, Requests: []map[string]any{}, Facts: h.facts, Grants: []Grant{},
		Assumes: append([]string{}, h.assumes...), Why: append([]string{}, h.why...), Adds: []map[string]any{}, Removes: []map[string]any{}}
	if out.Facts == nil || h.class < Possible {
		out.Facts = map[string]any{}
	}
	for _, t := range h.requests {
		out.Requests = append(out.Requests, t.object())
	}
	switch {
	case h.change == nil:
		out.Becomes = to
	case h.change.document == nil:
		out.Removes = append(out.Removes, h.change.written())
	default:
		out.Adds = append(out.Adds, h.change.written())
	}
	out.Text = h.text(to)
	return out
}

// text states what a hop does.
func (h *hop) text(to *Identity) string {
	var parts []string
	for _, t := range h.requests {
		resource := t.resource
		if t.sub != "" {
			resource += "/" + t.sub
		}
		text := t.verb + " " + resource
		if t.name != "" && t.name != standIn {
			text += " " + t.name
		}
		if t.namespace != "" {
			text += " in " + t.namespace
		}
		parts = append(parts, text)
	}
	result := "becomes "
	switch {
	case h.change == nil:
		result += to.text()
	case h.change.document == nil:
		result = "removes " + h.change.title()
	default:
		result = "writes " + h.change.title()
	}
	return strings.Join(parts, ", ") + ": " + result
}

func (c *change) title() string {
	name := c.name
	if c.namespace != "" {
		name = c.namespace + "/" + name
	}
	return c.kind + " " + name
}

// check decides each request of a hop by the documents, and sets what grants it.
func (g *graph) check(ctx context.Context, w *world, as *Identity, h *Hop) error {
	judge, err := w.documents(ctx)
	if err != nil {
		return fmt.Errorf("documents as earlier hops leave them: %w", err)
	}
	for _, object := range h.Requests {
		for n, r := range as.checked(merged(object, merged(g.o.Stated, h.Facts))) {
			v, err := judge(ctx, statement.PointAccess, statement.Encode(r))
			if err != nil {
				return err
			}
			if v.Outcome != statement.OutcomeAllow {
				if h.Class == Possible && !slices.Contains(h.Why, statement.WhyPod) && slices.ContainsFunc(h.Why, func(why string) bool { return why == statement.WhyCEL || statement.IsExtension(why) }) {
					continue // no value was found with which it is allowed
				}
				return &DisagreementError{r}
			}
			var decision struct {
				Matched []Grant `json:"matched"`
			}
			if err := json.Unmarshal(v.Decision, &decision); err != nil {
				return fmt.Errorf("read the decision: %w", err)
			}
			switch s, exact := w.decisive(r, principalsOf(r)); {
			case n > 0:
			case exact && s != nil: // its lines are those of the documents before they were changed
				d := s.Documents[0]
				h.Grants = append(h.Grants, Grant{d.Kind, d.Namespace, d.Name, d.Rule, d.Source})
			case len(decision.Matched) > 0:
				h.Grants = append(h.Grants, decision.Matched[0])
			}
		}
	}
	return nil
}

// sum counts the pairs by class.
func (r *Report) sum() {
	r.Summary = map[string]int{Certain.String(): 0, Assumed.String(): 0, Possible.String(): 0}
	for _, p := range r.Paths {
		r.Summary[p.Class.String()]++
	}
}

// Text writes the paths for people.
func (r *Report) Text() string {
	var out strings.Builder
	for _, p := range r.Paths {
		fmt.Fprintf(&out, "%s  reaches  %s  in %s, %s\n", diag.Line(p.Subject), diag.Line(p.To), diag.Counted(len(p.Hops), "hop"), p.Class)
		for n, h := range p.Hops {
			what, result, _ := strings.Cut(h.Text, ": ")
			fmt.Fprintf(&out, "  %d  %s\n     %s\n", n+1, diag.Line(what), diag.Line(result))
			for i, grant := range h.Grants {
				name := grant.Name
				if grant.Namespace != "" {
					name = grant.Namespace + "/" + name
				}
				if i == 0 || grant != h.Grants[i-1] {
					fmt.Fprintf(&out, "     allowed by %s %s, rule %d (%s)\n", grant.Kind, diag.Line(name), grant.Rule, diag.Line(grant.Source))
				}
			}
			if len(h.Assumes) > 0 {
				fmt.Fprintf(&out, "     assumes: %s\n", strings.Join(h.Assumes, ", "))
			}
			if len(h.Why) > 0 {
				fmt.Fprintf(&out, "     possible, it depends on: %s\n", strings.Join(h.Why, ", "))
			}
		}
	}
	fmt.Fprintf(&out, "%s: %d certain, %d assumed, %d possible.\nNot covered: %s.\n",
		diag.Counted(len(r.Paths), "path"), r.Summary["certain"], r.Summary["assumed"], r.Summary["possible"], strings.Join(r.NotCovered, ";\n  "))
	return out.String()
}

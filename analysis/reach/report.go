package reach

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
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
	// Notes are exceptions that fit nothing.
	Notes []string `json:"notes,omitempty"`

	notTried []string // those of NotCovered that a bound leaves out
}

// Path leads from a subject to a target.
type Path struct {
	From  *Identity `json:"from"`
	To    string    `json:"to"`
	Class Class     `json:"class"`
	Hops  []Hop     `json:"hops"`
	// Why is on what it depends whether who the last hop leads to has all of a role.
	Why []string `json:"why,omitempty"`

	// Subject is the subject as it was asked for.
	Subject string `json:"-"`
	// Held is what allows an administrator everything, nil for another target or a group that may
	// do everything by itself.
	Held *Grant `json:"-"`
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

	// Denies are what denies its requests, for a path of Denied.
	Denies []Grant `json:"-"`

	change *change  // nil if documents stay as they are
	lent   *lending // nil unless it takes a session
}

// Made returns the requests of a hop as its identity makes them.
func (h *Hop) Made() []map[string]any {
	return elements.Map(h.Requests, func(r map[string]any) map[string]any { return h.As.request(merged(r, h.Facts)) })
}

// Grant is the rule that allows a request.
type Grant struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      int    `json:"rule"`
	Source    string `json:"source"`

	role    string // KIND NAME of the role; empty for a rule without one
	key     string // of the role
	family  string
	binding string // the line of the binding
}

// grantOf returns the grant of a rule that is bound.
func (w *world) grantOf(d *statement.Document) Grant {
	role := w.role(d.Role)
	out := Grant{d.Kind, d.Namespace, d.Name, d.Rule, d.Source, "", d.Role, role.Family, d.Binding.Source}
	if role.Name != "" {
		out.role = statement.DocumentName(statement.Document{Kind: cmp.Or(role.Kind, kindRole), Namespace: role.Namespace, Name: role.Name})
	}
	return out
}

// DisagreementError is the error of a hop that the engine decides in another way: a defect.
type DisagreementError struct{ Request map[string]any }

func (e *DisagreementError) Error() string {
	return "disagreement: the engine does not allow a request of a hop: " + string(statement.Encode(e.Request))
}

// path returns the path of some arcs, each of whose requests the engine has allowed.
func (g *graph) path(ctx context.Context, s start, to *goal, arcs []arc) (*Path, error) {
	p := &Path{From: s.identity, To: to.name, Hops: []Hop{}, Subject: s.name}
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
		made := *a.hop
		if made.change != nil {
			made.change = w.apart(made.change)
		}
		h := made.report(as, end.identity)
		if err := g.check(ctx, w, as, &h); err != nil {
			return nil, err
		}
		p.Hops = append(p.Hops, h)
		if made.change != nil {
			w = g.after(w, *made.change)
		} else {
			as = end.identity
			if as.Acting != nil { // the node is that of all who act as it
				same := *as
				same.Acting = &Acting{By: h.As, Mode: as.Acting.Mode}
				as = &same
				p.Hops[len(p.Hops)-1].Becomes = as
			}
		}
	}
	if to.role != "" {
		_, p.Why = w.holdsRole(as, to.role)
	}
	if r := to.request(); r != nil && !as.sink {
		if found, _ := w.decisive(as.request(r), as.Principals()); found != nil && found.Effect == statement.OutcomeAllow {
			held := w.grantOf(&found.Documents[0])
			p.Held = &held
		}
	}
	return p, nil
}

// apart returns a change under a name of its own: a hop before it may have made a binding of
// the same name for another user.
func (w *world) apart(c *change) *change {
	out := *c
	for n := 2; c.isNew && slices.ContainsFunc(w.changes, func(o change) bool {
		return o.apiVersion == c.apiVersion && o.kind == c.kind && o.namespace == c.namespace && o.name == out.name
	}); n++ {
		out.name = fmt.Sprintf("%s-%d", c.name, n)
	}
	return &out
}

// report returns the hop as an identity takes it.
func (h *hop) report(as, to *Identity) Hop {
	out := Hop{change: h.change, lent: h.lent, Edge: h.edge, Class: h.class, As: as, Requests: []map[string]any{}, Facts: h.facts, Grants: []Grant{},
		Assumes: append([]string{}, h.assumes...), Why: append([]string{}, h.why...), Adds: []map[string]any{}, Removes: []map[string]any{}}
	if out.Facts == nil || h.class < Possible {
		out.Facts = map[string]any{}
	}
	out.Requests = append(out.Requests, elements.Map(h.requests, target.object)...)
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
	if h.asks != "" {
		parts = append(parts, h.asks)
	}
	for _, t := range h.requests {
		resource := t.resource
		if t.sub != "" {
			resource += "/" + t.sub
		}
		text := t.verb + " " + resource
		if t.name != "" && t.name != cmp.Or(h.standIn, standIn) {
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
	return c.kind + " " + strings.TrimPrefix(c.namespace+"/"+c.name, "/")
}

// check decides each request of a hop by the documents, and sets what grants it.
func (g *graph) check(ctx context.Context, w *world, as *Identity, h *Hop) error {
	for _, object := range h.Requests {
		for n, r := range as.checked(merged(object, merged(g.o.Stated, h.Facts))) {
			s, exact := w.decisive(r, principalsOf(r))
			exact = exact && s != nil && !w.sealed
			if n == 0 && exact { // its lines are those of the documents before they were changed
				h.Grants = append(h.Grants, w.grantOf(&s.Documents[0]))
			}
			if exact && g.o.unchecked {
				continue
			}
			grant, err := g.decide(ctx, w, r, h)
			if err != nil {
				return err
			}
			if n == 0 && !exact && grant != nil {
				h.Grants = append(h.Grants, *grant)
			}
		}
	}
	return nil
}

// decide returns what allows a request of a hop by the documents, nil if nothing has to.
func (g *graph) decide(ctx context.Context, w *world, r map[string]any, h *Hop) (*Grant, error) {
	judge, err := w.documents(ctx)
	if err != nil {
		return nil, fmt.Errorf("documents as earlier hops leave them: %w", err)
	}
	if judge == nil {
		return nil, nil
	}
	v, err := judge(ctx, statement.PointAccess, statement.Encode(r))
	if err != nil {
		return nil, err
	}
	if v.Outcome != statement.OutcomeAllow {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		isCode := func(why string) bool { return why == statement.WhyCEL || statement.IsExtension(why) }
		if h.Class == Possible && !slices.Contains(h.Why, statement.WhyPod) && slices.ContainsFunc(h.Why, isCode) {
			return nil, nil // no value was found with which it is allowed
		}
		return nil, &DisagreementError{r}
	}
	d, err := w.matched(&v)
	if d == nil || err != nil {
		return nil, err
	}
	grant := w.grantOf(d)
	return &grant, nil
}

// matched returns the document that a decision names first, nil for one without documents.
func (w *world) matched(v *statement.Verdict) (*statement.Document, error) {
	var decision struct{ Matched []statement.Document }
	if err := json.Unmarshal(v.Decision, &decision); err != nil {
		return nil, fmt.Errorf("read the decision: %w", err)
	}
	if len(decision.Matched) == 0 {
		return nil, nil
	}
	d := &decision.Matched[0]
	for _, family := range []string{tables.FamilyKubernetes, tables.FamilyOrigin} {
		if b := w.Access.Bindings.At(tables.BindingKey(family, d.Namespace, d.Name)); b.Kind == d.Kind {
			d.Role = cmp.Or(d.Role, b.Role)
		}
	}
	return d, nil
}

// sum counts the pairs by the class of their best path.
func (r *Report) sum() {
	r.Summary = map[string]int{Certain.String(): 0, Assumed.String(): 0, Possible.String(): 0}
	counted := make(map[pair]bool)
	for i := range r.Paths {
		if p := pairOf(&r.Paths[i]); !counted[p] {
			counted[p] = true
			r.Summary[r.Paths[i].Class.String()]++
		}
	}
}

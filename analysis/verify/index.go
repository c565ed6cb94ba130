package verify

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// index finds the statements of a world that reach a class.
type index struct {
	world *statement.World
	point string
	deny  []*statement.Statement // of deny policies, for everybody
	// rules are the statements of bindings and sessions, by their conditions, which bindings share.
	rules []rule
	named map[string]bool
	// ordered are the named principals, sorted.
	ordered    []string
	vocabulary *vocabularyOf
	at         map[statement.Condition]int // the place in rules
	// bySubject has the statements of sessions and visibility policies of each principal.
	bySubject map[string][]*statement.Statement
	reached   map[reachKey]*reach
	// ids and listed are the statements with their IDs, nil until a certificate needs them.
	ids    map[*statement.Statement]int
	listed []statement.JSON
}

// rule is the statements of one condition: those of bindings are made where they are needed.
type rule struct {
	condition  statement.Condition
	bound      []statement.Bound
	statements []*statement.Statement
	mayDeny    bool // by a statement of it, or by an error of its evaluation
}

// reachKey is a class, and whether only statements that may deny are looked for.
type reachKey struct {
	class    *assertion.Class
	onlyDeny bool
}

// newIndex returns the index of the point access.
func newIndex(w *statement.World) *index {
	named := w.Whole().Named()
	x := emptyIndex(&index{world: w, point: statement.PointAccess, deny: w.Deny, named: named, ordered: slices.Sorted(maps.Keys(named))})
	w.EachRule(func(b statement.Bound, c statement.Condition, mayDeny bool) {
		r := x.ruleOf(c)
		r.bound = append(r.bound, b)
		r.mayDeny = r.mayDeny || mayDeny
	})
	lent := make(map[*statement.Statement]bool)
	for _, user := range w.Sessions().Users() {
		for _, s := range w.Sessions().Holding(user, "") {
			if !lent[s] { // a DebugSession may have several users
				lent[s] = true
				x.add(s)
			}
		}
	}
	return x
}

// emptyIndex returns an index without statements.
func emptyIndex(x *index) *index {
	x.at, x.bySubject, x.reached = make(map[statement.Condition]int), make(map[string][]*statement.Statement), make(map[reachKey]*reach)
	return x
}

// add adds a statement of a session or a visibility policy.
func (x *index) add(s *statement.Statement) {
	x.ruleOf(s.Condition).add(s)
	for _, p := range s.Subjects {
		x.bySubject[p] = append(x.bySubject[p], s)
	}
}

// ruleOf returns the rule of a condition, which it adds if it is new.
func (x *index) ruleOf(c statement.Condition) *rule {
	i, known := x.at[c]
	if !known {
		i = len(x.rules)
		x.at[c] = i
		x.rules = append(x.rules, rule{condition: c})
	}
	return &x.rules[i]
}

// each calls visit with the statements of a rule, those of bindings that are wanted where they
// hold.
func (x *index) each(r *rule, wants func(namespace string) bool, visit func(*statement.Statement)) {
	for _, b := range r.bound {
		if wants(b.Namespace) {
			visit(x.world.StatementOf(b))
		}
	}
	for _, s := range r.statements {
		if wants(s.Namespace) {
			visit(s)
		}
	}
}

// holdsIn reports whether a rule holds in a namespace that is wanted.
func (r *rule) holdsIn(wants func(namespace string) bool) bool {
	return slices.ContainsFunc(r.bound, func(b statement.Bound) bool { return wants(b.Namespace) }) ||
		slices.ContainsFunc(r.statements, func(s *statement.Statement) bool { return wants(s.Namespace) })
}

func (r *rule) add(s *statement.Statement) {
	r.statements = append(r.statements, s)
	r.mayDeny = r.mayDeny || mayDeny(s)
}

// mayDeny reports whether a statement denies, or does if its evaluation fails.
func mayDeny(s *statement.Statement) bool {
	return s.Effect != statement.OutcomeAllow || isEvaluated(s)
}

// reach is the statements that some request of a class fits.
type reach struct {
	by        map[string][]*statement.Statement // of bindings and visibility policies, by effect
	everyone  []*statement.Statement            // of deny policies
	bySubject map[string][]*statement.Statement
	point     string
	isCut     bool
}

// all returns the statements of every effect.
func (r *reach) all() []*statement.Statement {
	return slices.Concat(r.everyone, r.by[statement.OutcomeAllow], r.by[statement.OutcomePartial], r.by[statement.OutcomeDeny])
}

// rulesOf returns the rules that requests of a class may fit as far as their principals
// decide. Users of sessions need not be named, so that any class may have them.
func (x *index) rulesOf(c *assertion.Class) []rule {
	if c.Holds == nil || c.Holds.Only == nil || len(x.world.Sessions().Users()) > 0 {
		return x.rules
	}
	var out []rule
	at := make(map[statement.Condition]int)
	for i, p := range c.Holds.Only {
		for _, s := range x.heldBy(p) {
			if i > 0 && s.Holds(c.Holds.Only[:i]) {
				continue // it is there already
			}
			j, known := at[s.Condition]
			if !known {
				j = len(out)
				at[s.Condition] = j
				out = append(out, rule{condition: s.Condition})
			}
			out[j].add(s)
		}
	}
	return out
}

// reachOf returns the statements that may fit a request of a class, or those of them that may
// deny it: most bindings need not be looked at to see that nothing does.
func (x *index) reachOf(class *statement.Statement, c *assertion.Class, onlyDeny bool) *reach {
	key := reachKey{c, onlyDeny}
	if found := x.reached[key]; found != nil {
		return found
	}
	out := &reach{by: make(map[string][]*statement.Statement), bySubject: make(map[string][]*statement.Statement), point: x.point}
	x.reached[key] = out
	namespace, hasPath := c.Text("namespace"), c.Text("path") != nil
	isThere := func(place string) bool { return place == "" || namespace.Fits(place) && !hasPath }
	rules := x.rulesOf(c)
	for i := range rules {
		r := &rules[i]
		if onlyDeny && !r.mayDeny || !mayMatchVerb(r.condition, c) {
			continue
		}
		if !r.holdsIn(isThere) || !out.meets(class, &statement.Statement{Condition: r.condition}) {
			continue
		}
		x.each(r, isThere, func(s *statement.Statement) {
			if onlyDeny && !mayDeny(s) {
				return
			}
			out.by[s.Effect] = append(out.by[s.Effect], s)
			for _, p := range s.Subjects {
				out.bySubject[p] = append(out.bySubject[p], s)
			}
		})
	}
	out.everyone = append(out.everyone, elements.Filter(x.deny, func(s *statement.Statement) bool { return out.meets(class, s) })...)
	return out
}

// mayMatchVerb reports whether a condition may match a request of a class, as far as verbs decide.
func mayMatchVerb(condition statement.Condition, c *assertion.Class) bool {
	verb := c.Text("verb")
	return !verb.IsLiteral() || slices.ContainsFunc(verb.Texts, func(v string) bool { return statement.MayMatchVerb(condition, v) })
}

func (r *reach) meets(list ...*statement.Statement) bool {
	s := statement.Search{Must: list, Point: r.point, Base: statement.Request{User: unnamed}}
	found := s.Find() != nil
	r.isCut = r.isCut || s.Cut
	return found || s.Cut
}

// heldBy returns the statements that a request of some principals may fit, each once.
func (r *reach) heldBy(principals []string) []*statement.Statement {
	out := slices.Clone(r.everyone)
	for i, p := range principals {
		for _, s := range r.bySubject[p] {
			if i == 0 || !s.Holds(principals[:i]) {
				out = append(out, s)
			}
		}
	}
	return out
}

// of returns the statements of some principals, and those of deny policies.
func (x *index) of(held []string) []*statement.Statement {
	var out []*statement.Statement
	for _, p := range held {
		out = append(out, x.heldBy(p)...)
	}
	return append(out, x.deny...)
}

// heldBy returns the statements of a principal.
func (x *index) heldBy(principal string) []*statement.Statement {
	if x.point == statement.PointAccess {
		return x.world.Held(principal, "")
	}
	return x.bySubject[principal]
}

// places returns the namespaces that documents name, sorted.
func (x *index) places() []string {
	out := x.world.Namespaces()
	for _, role := range x.world.Access.Roles.All() {
		out = append(out, role.Namespace)
	}
	for _, b := range x.world.Access.Bindings.All() {
		out = append(out, b.Namespace)
	}
	return slices.DeleteFunc(tables.Entries(out), func(place string) bool { return place == "" })
}

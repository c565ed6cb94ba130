package verify

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// The actions of the point visibility.
const (
	view        = "view"
	viewMetrics = "viewMetrics"
)

// kind is what requests of the point visibility have in common beside what statements read.
// It is nil at the point access.
type kind struct {
	typ, action string
	isCustom    bool
}

// fits reports whether requests of the kind may be in a class.
func (k *kind) fits(c *assertion.Class) bool {
	return k == nil || c.Texts["type"].Fits(k.typ) && c.Texts["action"].Fits(k.action)
}

// agrees reports whether two kinds have the same value of each of some keys.
func (k *kind) agrees(other *kind, keys []string) bool {
	return k == nil || (!slices.Contains(keys, "type") || k.typ == other.typ) && (!slices.Contains(keys, "action") || k.action == other.action)
}

// inCluster fits requests with a named cluster: no other is in a class.
var inCluster = statement.InClass(&assertion.Class{Texts: map[string]*assertion.Value{"cluster": {Not: []*assertion.Value{{Texts: []string{""}}}}}})

// kinds returns the kinds of requests that are in all of some classes, one nil kind at the
// point access. Of standard types that no class tells apart it returns the first one.
func (p *prover) kinds(classes ...*assertion.Class) []*kind {
	if p.a.Point != assertion.Visibility {
		return []*kind{nil}
	}
	if known, found := p.kindsOf[classes[0]]; found && len(classes) == 1 {
		return known
	}
	var out []*kind
	seen := make(map[string]bool)
	for _, action := range []string{view, viewMetrics} {
		for _, typ := range p.types(classes) {
			k := &kind{typ, action, !slices.Contains(statement.StandardTypes, typ)}
			if !slices.ContainsFunc(classes, func(c *assertion.Class) bool { return c.Texts["type"] != nil }) && k.isCustom ||
				slices.ContainsFunc(classes, func(c *assertion.Class) bool { return !k.fits(c) }) {
				continue
			}
			key := action + typ
			if !k.isCustom && p.a.Word != assertion.Shown && !slices.Contains(p.a.Same, "type") {
				key = action + " " + p.fitting(k)
			}
			if !seen[key] {
				seen[key] = true
				out = append(out, k)
			}
		}
	}
	if len(classes) == 1 {
		p.kindsOf[classes[0]] = out
	}
	return out
}

// fitting returns which classes that are left out the requests of a kind may be in.
func (p *prover) fitting(k *kind) string {
	var out []byte
	add := func(list []*assertion.Class) {
		for _, c := range list {
			out = append(out, statement.Bit(k.fits(c)))
		}
	}
	add(p.a.Unless)
	for _, e := range p.a.Exceptions {
		add(e.Of)
	}
	return string(out)
}

// types returns the types of requests: the words of classes first, then the standard ones,
// those of documents, and one that nothing names.
func (p *prover) types(classes []*assertion.Class) []string {
	var out []string
	for _, c := range classes {
		out = append(out, c.Texts["type"].Words()...)
	}
	out = append(out, statement.StandardTypes...)
	for _, w := range p.worlds() {
		out = append(out, w.customTypes()...)
	}
	for _, c := range classes {
		out = append(out, c.Texts["type"].Samples()...)
	}
	return tables.Once(append(out, assertion.MadeUp))
}

// worlds returns the worlds of the assertion, and the base.
func (p *prover) worlds() []*world {
	out := []*world{p.all}
	return append(out, elements.Filter([]*world{p.other, p.base, p.baseOther}, func(w *world) bool { return w != nil })...)
}

// customTypes returns the custom types that documents name, sorted.
func (w *world) customTypes() []string {
	t := tables.Of[*tables.Visibility](w.index.world.Revision.Tables)
	if t == nil {
		return nil
	}
	names := slices.Collect(maps.Keys(t.Types))
	for _, s := range w.index.world.MonitorStatements() {
		names = append(names, slices.Collect(maps.Keys(s.VisibilityRule().Entries))...)
	}
	return slices.DeleteFunc(tables.Entries(names), func(name string) bool { return slices.Contains(statement.StandardTypes, name) })
}

// The views of a world that are not those of an action.
const viewOfCluster = "cluster"

// view returns the statements that decide one question, as a world: an action about standard
// types, whether the cluster is visible at all, or a kind of custom types. The effect of a
// statement is what it decides.
func (w *world) view(name string, effect func(*statement.Statement) string) *world {
	if found := w.views[name]; found != nil {
		return found
	}
	x := emptyIndex(&index{world: w.index.world, point: statement.PointVisibility, named: w.index.named, ordered: w.index.ordered})
	for _, s := range w.index.world.VisibilityStatements(w.at) {
		decided := *s
		if decided.Effect = effect(s); decided.Effect != "" {
			x.add(&decided)
		}
	}
	out := &world{name: w.name, judge: w.judge, at: w.at, index: x}
	w.views[name] = out
	return out
}

// action returns the view of an action about standard types.
func (w *world) action(action string) *world {
	return w.view(action, func(s *statement.Statement) string { return s.EffectOf(action) })
}

// cluster returns the view of whether a cluster is visible.
func (w *world) cluster() *world {
	return w.view(viewOfCluster, func(s *statement.Statement) string {
		if s.EffectOf(view) == statement.OutcomeDeny {
			return statement.OutcomeDeny
		}
		return statement.OutcomeAllow
	})
}

// custom returns the view of a kind of custom types: the rules that have an entry for the
// type. A policy that denies, denies the cluster.
func (w *world) custom(k *kind) *world {
	return w.view(k.action+" "+k.typ, func(s *statement.Statement) string {
		rule := s.VisibilityRule()
		e := rule.Entries[k.typ]
		switch {
		case s.Effect == statement.OutcomeDeny, e == nil, e.Visibility == "none":
			return ""
		case !slices.Contains(rule.Permissions, k.action):
			return statement.OutcomeDeny
		case e.Restricts():
			return statement.OutcomePartial
		}
		return statement.OutcomeAllow
	})
}

// ways returns the ways in which requests of a kind have an outcome in a world: each is what
// a request must show there.
func (p *prover) ways(w *world, outcome string, k *kind, as []string) [][]part {
	switch {
	case k == nil:
		return [][]part{{{w, outcome, as}}}
	case !k.isCustom:
		return [][]part{{{w.action(k.action), outcome, as}}}
	case outcome == statement.OutcomeDeny:
		return [][]part{{{w.cluster(), outcome, as}}, {{w.custom(k), outcome, as}}}
	}
	return [][]part{{{w.cluster(), statement.OutcomeAllow, as}, {w.custom(k), outcome, as}}}
}

// viewsOf returns the views that decide requests of a kind.
func (p *prover) viewsOf(w *world, k *kind) []*world {
	switch {
	case k == nil:
		return []*world{w}
	case k.isCustom:
		return []*world{w.cluster(), w.custom(k)}
	}
	return []*world{w.action(k.action)}
}

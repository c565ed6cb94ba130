package verify

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// again is what a run needs of the one before, to prove only what may have another verdict.
type again struct {
	results    map[string]*Result
	assertions map[string]*assertion.Assertion
	// changed are the statements that one of the revisions lacks, and words what they name, by
	// key of a request.
	changed []*statement.Statement
	words   map[string]map[string]bool
	// renamed are the principals that the documents of one revision alone name.
	renamed map[string]bool
}

// again compares a run with the one before. It returns nil if any assertion may have another
// verdict: where more differs than roles and bindings, or a date is passed.
func (r *run) again() *again {
	if r.Before == nil || r.Before.from == nil || r.Base != nil {
		return nil
	}
	old := r.Before.from
	if old.Base != nil || r.hasPassed(r.Before.Now) {
		return nil
	}
	at := dates.Of(r.Now)
	now, then := r.Side.World.Whole().At(at), old.Side.World.Whole().At(at)
	hasSameViewers, isSame := isSameBut(now, then)
	if !isSame || !hasSameViewers && !maps.Equal(now.Named(), then.Named()) {
		return nil
	}
	x := &again{results: make(map[string]*Result), assertions: make(map[string]*assertion.Assertion), words: make(map[string]map[string]bool)}
	for i := range r.Before.Assertions {
		x.results[r.Before.Assertions[i].ID()] = &r.Before.Assertions[i]
	}
	for i := range old.Assertions {
		x.assertions[old.Assertions[i].ID()] = &old.Assertions[i]
	}
	for _, key := range diff.ChangedBindings(now.Access, then.Access) {
		x.changed = append(x.changed, now.Binding(key)...)
	}
	for _, key := range diff.ChangedBindings(then.Access, now.Access) {
		x.changed = append(x.changed, then.Binding(key)...)
	}
	for _, s := range x.changed {
		x.learn(s)
	}
	x.renamed = make(map[string]bool)
	for _, s := range x.changed {
		for _, q := range s.Subjects {
			if now.Names(q) != then.Names(q) {
				x.renamed[q] = true
			}
		}
	}
	return x
}

// hasPassed reports whether documents begin or end between another time and that of the run.
func (r *run) hasPassed(before time.Time) bool {
	if before.Equal(r.Now) {
		return false
	}
	all := slices.Concat(bounds(assertion.Access, r.Side), bounds(assertion.Visibility, r.Side))
	if before.After(r.Now) {
		return len(all) > 0
	}
	return slices.ContainsFunc(all, func(b diff.Boundary) bool { return b.First.After(before) && !b.First.After(r.Now) })
}

// isSameBut reports whether two revisions differ in what assertions at the point access do not
// depend on, and in roles and bindings, which no session lends. hasSameViewers states that visibility
// policies, which name principals, are the same.
func isSameBut(one, other *statement.World) (hasSameViewers, is bool) {
	x, y := one.Access, other.Access
	if x.Master != y.Master || x.Cluster != y.Cluster || x.ImpliedGroups != y.ImpliedGroups || !maps.Equal(one.Revision.Modules, other.Revision.Modules) {
		return false, false
	}
	if len(one.Sessions().Users())+len(other.Sessions().Users()) > 0 || len(one.Revision.Tables) != len(other.Revision.Tables) {
		return false, false
	}
	hasSameViewers = true
	for i, t := range one.Revision.Tables {
		switch t.(type) {
		case *tables.Access, *tables.Gateway:
			continue
		}
		if reflect.DeepEqual(t, other.Revision.Tables[i]) {
			continue
		}
		if _, isVisibility := t.(*tables.Visibility); !isVisibility {
			return false, false
		}
		hasSameViewers = false
	}
	return hasSameViewers, true
}

func (x *again) learn(s *statement.Statement) {
	add := func(key string, list ...string) {
		if x.words[key] == nil {
			x.words[key] = make(map[string]bool)
		}
		for _, word := range list {
			x.words[key][word] = true
		}
	}
	for key, list := range s.Words() {
		add(key, list...)
	}
	add("namespace", s.Namespace)
}

// kept returns the result of the run before, nil if an assertion must be proven again.
func (r *run) kept(x *again, a *assertion.Assertion) *Result {
	if x == nil {
		return nil
	}
	old, before := x.results[a.ID()], x.assertions[a.ID()]
	if old == nil || before == nil || !x.saysTheSame(old) || !hasSameNotes(old) || !isSameAssertion(a, before) {
		return nil
	}
	// What refers to documents, follows paths, or is about another point, may depend on all of
	// them. An exception ends by itself.
	if a.Path != nil || a.Point != assertion.Access || a.Documents.Value != "" || len(a.Exceptions) > 0 || a.Form == assertion.Covers {
		return nil
	}
	if len(x.renamed) > 0 && a.Form == assertion.Implies {
		return nil
	}
	classes := slices.Concat(a.Of, a.Unless, []*assertion.Class{a.Classes[0], a.Classes[1]})
	for _, c := range classes {
		if c != nil && (x.knows(c) || x.namesOthers(c, a, old)) {
			return nil
		}
	}
	for _, s := range x.changed {
		// Where nothing denies, it matters only what may.
		if old.nothingDenies && !mayDeny(s) {
			continue
		}
		for _, c := range a.Of {
			if mayReach(s, c) {
				return nil
			}
		}
	}
	kept := *old
	kept.Source = a.At.Source()
	return &kept
}

// saysTheSame reports whether a result that is kept has the same text: that of a vacuous one may
// suggest a word.
func (x *again) saysTheSame(r *Result) bool {
	if r.Verdict != Vacuous || r.unknown.word == "" {
		return r.Verdict == Holds
	}
	word, changed := r.unknown.word, slices.Sorted(maps.Keys(x.words[r.unknown.key]))
	switch r.unknown.key {
	case "principal":
		changed = slices.Sorted(maps.Keys(x.renamed))
	case "resource":
		word = statement.ParseResource(word).Word
	}
	return vocabulary.Near(word, changed) == ""
}

// namesOthers reports whether a class with a condition on all principals that documents name may
// have other requests, because they name others.
//
// A principal that they name no more is one like any other. So a request of one is in the class
// if the same request without that principal was, and is decided alike. One that they name now
// has its requests taken out of the class. Neither breaks what held, as long as no pattern
// tells the principal apart.
func (x *again) namesOthers(c *assertion.Class, a *assertion.Assertion, old *Result) bool {
	if len(x.renamed) == 0 || !hasOnly(c.Holds) {
		return false
	}
	hasPattern := slices.ContainsFunc(slices.Concat(a.Of, a.Unless), func(c *assertion.Class) bool { return len(c.Holds.Expressions()) > 0 })
	isSingle := a.Form == assertion.Never || a.Form == assertion.Always || a.Form == assertion.Within || a.Form == assertion.Equals
	return old.Verdict != Holds || c.Holds.Only == nil || !slices.Contains(a.Of, c) || hasPattern || !isSingle || len(a.Apart) > 0
}

// hasSameNotes reports whether the notes of a result depend on what can reach its class alone.
func hasSameNotes(r *Result) bool {
	return !slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Code != noteUnless })
}

// isSameAssertion compares assertions apart from their place.
func isSameAssertion(a, b *assertion.Assertion) bool {
	x, y := *a, *b
	x.At, x.NameAt.At, x.Documents.At = y.At, y.NameAt.At, y.Documents.At
	return reflect.DeepEqual(x, y)
}

func hasOnly(h *assertion.Holds) bool {
	found := false
	h.Each(func(o *assertion.Holds) { found = found || o.Only != nil })
	return found
}

// knows reports whether a class has a word of a statement that changed: then it may have become
// one that nothing knows. The words of Kubernetes are always known.
func (x *again) knows(c *assertion.Class) bool {
	for _, word := range c.Holds.Words() {
		if x.renamed[word] {
			return true
		}
	}
	for _, key := range append(tables.ScopeKeys("namespace"), "verb") {
		for _, word := range c.Texts[key].Words() {
			if word != "" && x.words[key][word] && !(key == "verb" && slices.Contains(vocabulary.AnyVerbs, word)) {
				return true
			}
		}
	}
	for _, word := range c.Text("resource").Words() {
		e := statement.ParseResource(word)
		if x.words["resource"][e.Word] && (c.Text("apiGroup") != nil || !slices.Contains(vocabulary.Resources([]string{e.Group}), e.Word)) {
			return true
		}
	}
	return false
}

// mayReach reports whether some request of a class fits a statement.
func mayReach(s *statement.Statement, c *assertion.Class) bool {
	if s.Namespace != "" && (c.Text("path") != nil || !c.Text("namespace").Fits(s.Namespace)) {
		return false
	}
	if h := c.Holds; h != nil && h.Only != nil && !slices.ContainsFunc(h.Only, func(p string) bool { return slices.Contains(s.Subjects, p) }) {
		return false
	}
	if !mayMatchVerb(s.Condition, c) {
		return false
	}
	search := statement.Search{Must: []*statement.Statement{statement.InClass(c), {Condition: s.Condition}}, Point: statement.PointAccess, Base: statement.Request{User: unnamed}}
	return search.Find() != nil || search.Cut
}

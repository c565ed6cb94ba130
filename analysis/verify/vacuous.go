package verify

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// isEmpty returns why no request is in the class, less some classes, "" if one is.
func (p *prover) isEmpty(out []*assertion.Class) (string, error) {
	if p.a.Form == assertion.Covers {
		if len(p.places()) == 0 {
			return "no namespace that documents name is in the class", nil
		}
		return "", nil
	}
	if p.a.Point == assertion.Gateway {
		return p.emptyGateway(out)
	}
	for i := range 2 {
		var also []*assertion.Class
		if p.a.Form == assertion.Disjoint {
			also = p.a.Classes[i : i+1]
		}
		if !slices.ContainsFunc(p.a.Of, func(c *assertion.Class) bool {
			s := p.searchIn(c, out, also...)
			return slices.ContainsFunc(p.kinds(append(slices.Clone(also), c)...), func(k *kind) bool { return p.hasRequest(s, k, nil) })
		}) && !p.isCut && !p.askers.isCut {
			return "no request is in the class", p.err
		}
	}
	return "", p.err
}

// hasRequest reports whether a request of a search fits a statement, nil for any request.
func (p *prover) hasRequest(s *search, k *kind, t *statement.Statement) bool {
	require, not, soft := s.conditions()
	bases := [][]string{nil}
	if t != nil && t.Subjects != nil {
		bases = nil
		for _, q := range t.Subjects {
			bases = append(bases, []string{q})
		}
	}
	has := false
	try := func(held []string) bool {
		q := s.query(&goal{kind: k}, nil, held)
		if t != nil {
			q.must = append(q.must, t)
		}
		has = has || p.find(q.must, q.not, held, nil, k) != nil
		return !has
	}
	for _, base := range bases {
		if has {
			break
		}
		if p.a.Form == assertion.Implies {
			if p.isComplete(p.a.Subjects[0]) {
				try(p.a.Subjects[0])
			}
			continue
		}
		p.askers.each(base, require, not, soft, try)
	}
	return has
}

// unheardOf returns a word that nothing knows if it is why an assertion says nothing: no statement
// reaches its class. It returns nil if the assertion says something.
func (p *prover) unheardOf() (*unknownWord, error) {
	if p.a.Form == assertion.Implies {
		for _, list := range p.a.Subjects {
			if !slices.ContainsFunc(list, p.askers.isNamed) {
				return &unknownWord{unknownKey{"principal", list[0]}, p.askers.ordered}, nil
			}
		}
	}
	sides := []*assertion.Class{nil}
	if p.a.Form == assertion.Disjoint {
		sides = p.a.Classes[:]
	}
	for _, side := range sides {
		var also []*assertion.Class
		if side != nil {
			also = append(also, side)
		}
		unknown := p.unknownWords(slices.Concat(p.a.Of, also))
		if len(unknown) > 0 && !slices.ContainsFunc(p.a.Of, func(c *assertion.Class) bool { return p.isReached(c, also) }) {
			return unknown[0], p.err
		}
	}
	return nil, p.err
}

// isReached reports whether a statement fits a request that is in all of some classes.
func (p *prover) isReached(c *assertion.Class, also []*assertion.Class) bool {
	s := p.searchIn(c, nil, also...)
	for _, k := range p.kinds(append(slices.Clone(also), c)...) {
		for _, w := range p.worlds() {
			for _, v := range p.viewsOf(w, k) {
				r := s.reachIn(v)
				list := r.all()
				if k != nil && k.isCustom && v == w.cluster() {
					list = r.by[statement.OutcomeDeny]
				}
				if slices.ContainsFunc(list, func(t *statement.Statement) bool { return p.hasRequest(s, k, t) }) {
					return true
				}
			}
		}
	}
	return false
}

// unknownKey is a literal of a class that nothing knows, and its key.
type unknownKey struct{ key, word string }

// unknownWord is one with the words that are known of its key.
type unknownWord struct {
	unknownKey
	known []string
}

func (u *unknownWord) text() string {
	text := fmt.Sprintf("nothing knows the %s %q", u.key, u.word)
	if near := u.near(); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// unknownWords returns the literals of classes that nothing knows.
func (p *prover) unknownWords(classes []*assertion.Class) []*unknownWord {
	var out []*unknownWord
	for _, c := range classes {
		for _, q := range c.Holds.Words() {
			if !p.askers.named[q] {
				out = append(out, &unknownWord{unknownKey{"principal", q}, p.askers.ordered})
			}
		}
		switch p.a.Point {
		case assertion.Visibility:
			out = append(out, p.unknownViewWords(c)...)
		case assertion.Gateway:
			out = append(out, p.unknownGatewayWords(c)...)
		default:
			out = append(out, p.unknownAccessWords(c)...)
		}
	}
	return out
}

func (p *prover) unknownAccessWords(c *assertion.Class) []*unknownWord {
	var all vocabularyOf
	for _, w := range p.worlds() {
		all.join(w.index.knownWords())
	}
	var out []*unknownWord
	for _, key := range append(tables.ScopeKeys("namespace"), "verb") {
		for _, word := range c.Texts[key].Words() {
			if word != "" && !all.knows(key, word) {
				out = append(out, &unknownWord{unknownKey{key, word}, all.words[key]})
			}
		}
	}
	for _, word := range c.Text("resource").Words() {
		e := statement.ParseResource(word)
		groups := []string{e.Group}
		if v := c.Text("apiGroup"); v != nil {
			groups = append(v.Words(), "*")
		}
		if word != "*" && !slices.ContainsFunc(groups, func(g string) bool { return all.hasResource(e.Word, g) }) {
			out = append(out, &unknownWord{unknownKey{"resource", word}, all.resourcesIn(groups)})
		}
	}
	return out
}

// unknownViewWords returns the clusters and types of a class that nothing knows.
func (p *prover) unknownViewWords(c *assertion.Class) []*unknownWord {
	var clusters []string
	types := slices.Clone(statement.StandardTypes)
	var out []*unknownWord
	fits := func(name string) bool { return false }
	for _, w := range p.worlds() {
		types = append(types, w.customTypes()...)
		for _, s := range w.index.world.MonitorStatements() {
			clusters = append(clusters, s.Words()["cluster"]...)
			before := fits
			fits = func(name string) bool { return before(name) || s.NamesCluster(name) }
		}
	}
	for _, word := range c.Texts["cluster"].Words() {
		if word != "" && !fits(word) {
			out = append(out, &unknownWord{unknownKey{"cluster", word}, clusters})
		}
	}
	for _, word := range c.Texts["type"].Words() {
		if !slices.Contains(types, word) {
			out = append(out, &unknownWord{unknownKey{"type", word}, types})
		}
	}
	return out
}

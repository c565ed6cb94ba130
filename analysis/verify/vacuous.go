package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// isEmpty reports whether no request is in the class, less some classes.
func (p *prover) isEmpty(out []*assertion.Class) (bool, error) {
	if p.a.Form == assertion.Covers {
		return len(p.places()) == 0, nil
	}
	for i := range 2 {
		var also []*assertion.Class
		if p.a.Form == assertion.Disjoint {
			also = p.a.Classes[i : i+1]
		}
		if !slices.ContainsFunc(p.a.Of, func(c *assertion.Class) bool { return p.hasRequest(p.searchIn(c, out, also...), nil) }) {
			return !p.isCut && !p.askers.isCut, p.err
		}
	}
	return false, p.err
}

// hasRequest reports whether a request of a search fits a statement, nil for any request.
func (p *prover) hasRequest(s *search, t *statement.Statement) bool {
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
		q := s.query(&goal{}, nil, held)
		if t != nil {
			q.must = append(q.must, t)
		}
		has = has || p.find(q.must, q.not, held, nil) != nil
		return !has
	}
	for _, base := range bases {
		if has {
			break
		}
		if p.a.Form == assertion.Implies {
			try(p.a.Subjects[0])
			continue
		}
		p.askers.each(base, require, not, soft, try)
	}
	return has
}

// unheardOf returns why an assertion that holds says nothing: no statement reaches its
// class, and it has a word that nothing knows. It is empty if the assertion says something.
func (p *prover) unheardOf() (string, error) {
	if p.a.Form == assertion.Implies {
		for _, list := range p.a.Subjects {
			if !slices.ContainsFunc(list, p.askers.isNamed) {
				return unknownWord("principal", list[0], p.askers.ordered), nil
			}
		}
	}
	text := p.unknownWord()
	if text == "" {
		return "", nil
	}
	for _, c := range p.a.Of {
		s := p.searchIn(c, nil)
		worlds := []*world{p.all}
		if p.other != nil {
			worlds = append(worlds, p.other)
		}
		for _, w := range worlds {
			r := s.reachIn(w)
			for _, t := range slices.Concat(r.everyone, r.allow, r.deny) {
				if p.hasRequest(s, t) {
					return "", p.err
				}
			}
		}
	}
	return text, p.err
}

// unknownWord returns a sentence about a literal of the class that nothing knows, "" without
// any.
func (p *prover) unknownWord() string {
	known := p.all.index.knownWords()
	if p.other != nil {
		known = maps.Clone(known)
		for key, v := range p.other.index.knownWords() {
			known[key] = &assertion.Value{Texts: slices.Concat(known[key].Texts, v.Texts)}
		}
	}
	classes := slices.Clone(p.a.Of)
	if p.a.Form == assertion.Disjoint {
		classes = append(classes, p.a.Classes[:]...)
	}
	for _, c := range classes {
		for _, q := range c.Holds.Words() {
			if !p.askers.named[q] {
				return unknownWord("principal", q, p.askers.ordered)
			}
		}
		for _, key := range []string{"namespace", "cluster", "tenant", "session", "escalation", "verb"} {
			for _, word := range c.Texts[key].Words() {
				if word != "" && !known[key].Fits(word) {
					return unknownWord(key, word, known[key].Texts)
				}
			}
		}
		for _, word := range c.Text("resource").Words() {
			e := statement.ParseResource(word)
			resources := append(vocabulary.Resources([]string{e.Group}), known["resource"].Texts...)
			if c.Text("apiGroup") != nil {
				resources = append(resources, vocabulary.Resources([]string{"*"})...)
			}
			if word != "*" && !slices.Contains(resources, e.Word) {
				return unknownWord("resource", e.Word, resources)
			}
		}
	}
	return ""
}

func unknownWord(key, word string, known []string) string {
	text := fmt.Sprintf("no rule reaches the class, and nothing knows the %s %q", key, word)
	if near := vocabulary.Near(word, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// knownWords returns the words of the documents of a world, by key.
func (x *index) knownWords() map[string]*assertion.Value {
	if x.words != nil {
		return x.words
	}
	words := map[string][]string{
		"verb": slices.Concat(vocabulary.AnyVerbs, vocabulary.URLVerbs, []string{"*"}), "namespace": x.places(),
		"cluster": nil, "tenant": nil, "session": nil, "escalation": nil, "resource": nil,
	}
	add := func(s *statement.Statement) {
		for key, list := range s.Words() {
			words[key] = append(words[key], list...)
		}
	}
	for _, r := range x.rules {
		add(&statement.Statement{Condition: r.condition})
	}
	for _, s := range x.world.Deny {
		add(s)
	}
	x.words = make(map[string]*assertion.Value)
	for key, list := range words {
		x.words[key] = &assertion.Value{Texts: tables.Once(list)}
	}
	return x.words
}

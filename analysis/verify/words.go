package verify

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// vocabularyOf is the words of documents, by key of a request.
type vocabularyOf struct {
	words map[string][]string
	// statements are one of each condition: their patterns know words as well.
	statements []*statement.Statement
	// groups are the API groups of each resource; "*" is any group.
	groups map[string][]string
}

// knownWords returns the words of the documents of a world.
func (x *index) knownWords() *vocabularyOf {
	if x.vocabulary != nil {
		return x.vocabulary
	}
	if whole := x.world.Whole(); whole != x.world { // a document that has ended names its words
		x.vocabulary = newIndex(whole).knownWords()
		return x.vocabulary
	}
	out := &vocabularyOf{
		words: map[string][]string{
			"verb": slices.Concat(vocabulary.AnyVerbs, vocabulary.URLVerbs, []string{"*"}), "namespace": x.places(),
		},
		groups: make(map[string][]string),
	}
	x.vocabulary = out
	for _, r := range x.rules {
		out.statements = append(out.statements, &statement.Statement{Condition: r.condition})
	}
	out.statements = append(out.statements, x.deny...)
	for _, s := range out.statements {
		words := s.Words()
		for key, list := range words {
			out.words[key] = append(out.words[key], list...)
		}
		groups := words["apiGroup"]
		if len(groups) == 0 {
			groups = []string{"*"}
		}
		for _, resource := range words["resource"] {
			out.groups[resource] = append(out.groups[resource], groups...)
		}
	}
	for _, words := range []map[string][]string{out.words, out.groups} {
		for key, list := range words {
			words[key] = tables.Once(list)
		}
	}
	return out
}

// join adds the words of other documents.
func (v *vocabularyOf) join(other *vocabularyOf) {
	if v.words == nil {
		*v = *other
		return
	}
	out := vocabularyOf{make(map[string][]string), append(slices.Clone(v.statements), other.statements...), make(map[string][]string)}
	for _, from := range []*vocabularyOf{v, other} {
		for key, list := range from.words {
			out.words[key] = append(out.words[key], list...)
		}
		for key, list := range from.groups {
			out.groups[key] = append(out.groups[key], list...)
		}
	}
	*v = out
}

// knows reports whether a document names a word, or has a pattern that fits it.
func (v *vocabularyOf) knows(key, word string) bool {
	return slices.Contains(v.words[key], word) ||
		slices.ContainsFunc(v.statements, func(s *statement.Statement) bool { return s.HasPatternFor(key, word) })
}

// hasResource reports whether a document names a resource in an API group, or Kubernetes or
// Origin serve it there.
func (v *vocabularyOf) hasResource(resource, group string) bool {
	groups := v.groups[resource]
	return slices.Contains(groups, group) || slices.Contains(groups, "*") || group == "*" && len(groups) > 0 ||
		slices.Contains(vocabulary.Resources([]string{group}), resource)
}

// resourcesIn returns the resources that are known in some API groups.
func (v *vocabularyOf) resourcesIn(groups []string) []string {
	out := vocabulary.Resources(groups)
	for resource, in := range v.groups {
		if slices.Contains(in, "*") || slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(in, g) }) {
			out = append(out, resource)
		}
	}
	return tables.Entries(out)
}

// near returns the word that was probably meant, empty without any.
func (u *unknownWord) near() string {
	if u.key != "resource" {
		return vocabulary.Near(u.word, u.known)
	}
	e := statement.ParseResource(u.word)
	if group, served := vocabulary.GroupOf(e.Word); served && group != e.Group {
		return strings.TrimSuffix(e.Word+"."+group, ".")
	}
	return vocabulary.Near(e.Word, u.known)
}

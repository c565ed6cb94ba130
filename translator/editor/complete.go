package editor

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/schema"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Completion is what can be typed at a place.
type Completion struct {
	// Word is what is typed so far.
	Word string
	// IsKey states that Items are names of fields, which a colon follows.
	IsKey bool
	Items []string
}

// kinds has the schemas of kinds, which are derived when they are needed first.
type kinds struct {
	all     syntax.Kinds
	mu      sync.Mutex
	schemas map[*syntax.Kind]*schema.Schema
}

func newKinds() *kinds {
	return &kinds{all: translator.Kinds(), schemas: make(map[*syntax.Kind]*schema.Schema)}
}

// find returns a kind, nil if it is unknown.
func (k *kinds) find(apiVersion, name string) *syntax.Kind {
	for i := range k.all {
		if k.all[i].APIVersion == apiVersion && k.all[i].Name == name && name != "" {
			return &k.all[i]
		}
	}
	return nil
}

// schema returns the schema of a kind, nil for nil.
func (k *kinds) schema(kind *syntax.Kind) *schema.Schema {
	if kind == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.schemas[kind] == nil {
		k.schemas[kind] = schema.Of(k.all, *kind)
	}
	return k.schemas[kind]
}

// Complete returns what can be typed at a place in a file: the line counts from 1, and
// column is the number of runes before the cursor.
func (w *Workspace) Complete(a *Analysis, text string, line, column int) Completion {
	before, after := document(text, line, column)
	p := placeOf(before, after)
	c := Completion{Word: p.word, IsKey: p.isKey}
	if p.isKey {
		c.Items = w.kinds.fields(p)
	}
	// The first word of an item may be a field or the item itself.
	if isItem := len(p.path) > 0 && p.path[len(p.path)-1] == item; !p.isKey || isItem && len(c.Items) == 0 {
		c.IsKey, c.Items = false, w.kinds.values(p, a)
	}
	c.Items = slices.DeleteFunc(c.Items, func(item string) bool { return !strings.HasPrefix(strings.ToLower(item), strings.ToLower(p.word)) })
	slices.Sort(c.Items)
	c.Items = slices.Compact(c.Items)
	return c
}

// lineEnds makes each end of a line that YAML has a line feed.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// document returns the lines of the document around a place, before and after the cursor.
func document(text string, line, column int) (before, after []string) {
	lines := strings.Split(lineEnds.Replace(text), "\n")
	if line < 1 || line > len(lines) {
		return []string{""}, nil
	}
	current := []rune(lines[line-1])
	before = append(slices.Clone(lines[:line-1]), string(current[:min(column, len(current))]))
	for i := len(before) - 2; i >= 0; i-- {
		if strings.HasPrefix(before[i], "---") {
			before = before[i+1:]
			break
		}
	}
	after = lines[line:]
	for i, l := range after {
		if strings.HasPrefix(l, "---") {
			after = after[:i]
			break
		}
	}
	return before, after
}

// identifying are the fields by which the kind of a document is known.
var identifying = []string{"apiVersion", "kind", "metadata"}

// fields returns the names of the fields that a mapping may have and does not have yet.
func (k *kinds) fields(p place) []string {
	s := k.schema(k.find(p.apiVersion, p.kind))
	if s == nil {
		if len(p.path) == 0 {
			return without(identifying, p)
		}
		return nil
	}
	if s = s.At(p.path); s == nil {
		return nil
	}
	return without(slices.Collect(maps.Keys(s.Properties)), p)
}

// without returns the names that a mapping does not have yet. The name that is being typed is
// not one that it has.
func without(names []string, p place) (out []string) {
	for _, name := range names {
		if _, has := p.siblings[name]; !has || name == p.word {
			out = append(out, name)
		}
	}
	return out
}

// values returns what a value may be: kinds and API versions, the names of documents, or
// the words of the schema.
func (k *kinds) values(p place, a *Analysis) (out []string) {
	field := strings.Join(p.path, ".")
	if field == "apiVersion" || field == "kind" {
		return k.identities(p, field)
	}
	kind := k.find(p.apiVersion, p.kind)
	if kind != nil && kind.Targets != nil {
		typed := syntax.ReferringField{Kind: p.kind, Path: field, Beside: p.siblings, Namespace: p.namespace, Master: a.master}
		for _, r := range kind.Targets(typed) {
			out = append(out, a.named(r)...)
		}
	}
	if p.kind == assertion.Kind && a.words != nil {
		out = append(out, a.words().at(p.path)...)
	}
	if s := k.schema(kind).At(p.path); s != nil {
		out = slices.Concat(out, s.Words.Only, s.Words.Examples)
	}
	return out
}

// identities returns the API versions of a kind, or the kinds of an API version; all if the
// other one is not known.
func (k *kinds) identities(p place, field string) (out []string) {
	for _, kind := range k.all {
		switch {
		case kind.APIVersion == "":
		case field == "kind" && (p.apiVersion == "" || p.apiVersion == kind.APIVersion):
			out = append(out, kind.Name)
		case field == "apiVersion" && (p.kind == "" || p.kind == kind.Name):
			out = append(out, kind.APIVersion)
		}
	}
	return out
}

// words are what documents name, for assertions.
type words struct{ principals, namespaces, resources []string }

// wordsOf returns a function that collects the words of tables when they are needed first.
func wordsOf(list tables.List) func() *words {
	return sync.OnceValue(func() *words {
		w := statement.NewWorld(tables.Revision{Tables: list})
		namespaces, resources := make(map[string]bool), make(map[string]bool)
		for _, s := range slices.AppendSeq(slices.Clone(w.Deny), w.All("")) {
			named := s.Words()
			for _, namespace := range append(named["namespace"], s.Namespace) {
				namespaces[namespace] = true
			}
			for _, resource := range named["resource"] {
				resources[resource] = true
			}
		}
		delete(namespaces, "")
		delete(resources, "*")
		return &words{slices.Sorted(maps.Keys(w.Named())), slices.Sorted(maps.Keys(namespaces)), slices.Sorted(maps.Keys(resources))}
	})
}

// at returns the words of a place in a document of assertions.
func (w *words) at(path []string) []string {
	for _, key := range slices.Backward(path) {
		switch key {
		case item, "not":
		case "holds", "only", "all", "implies", "apart":
			return w.principals
		case "namespace", "namespaces":
			return w.namespaces
		case "resource", "resources":
			return w.resources
		default:
			return nil
		}
	}
	return nil
}

// Describe returns a sentence about the field at a place in a file, as Complete has it: the
// field whose name or value is there; empty if the field is not known.
func (w *Workspace) Describe(text string, line, column int) string {
	before, after := document(text, line, column)
	last := len(before) - 1
	if whole, _ := document(text, line, len(text)); len(whole) > 0 {
		rest := []rune(whole[len(whole)-1])[len([]rune(before[last])):]
		for _, r := range rest {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				break
			}
			before[last] += string(r)
		}
	}
	p := placeOf(before, after)
	all := w.kinds.schema(w.kinds.find(p.apiVersion, p.kind))
	path := p.path
	isItem := len(path) > 0 && path[len(path)-1] == item
	if field := append(slices.Clone(path), p.word); p.isKey && (!isItem || all.At(field) != nil) {
		path = field
	}
	for len(path) > 0 && path[len(path)-1] == item {
		path = path[:len(path)-1]
	}
	if s := all.At(path); s != nil {
		return s.Description
	}
	return ""
}

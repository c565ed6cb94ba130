// Package schema derives JSON Schema from the decoders of documents. The input is the
// kinds of documents; the output is the schema of one of them or of all. The package does
// not know fields of any kind.
//
// # Design
//
// A decoder is asked, not described: a document is grown field by field, and the decoder
// notes which fields it reads at each place and which types of values it rejects. A table
// of fields beside the decoders would have to be kept equal to them. What a decoder
// requires of a value beyond its type, such as a range or a reference, is left to the
// decoder.
package schema

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/syntax"
)

// Schema is a JSON Schema of draft 7. The zero value accepts everything.
type Schema struct {
	Types      []string           // none: any type
	Properties map[string]*Schema // of objects
	Closed     bool               // other properties are errors
	Values     *Schema            // of the properties of an object with any names; may be nil
	Items      *Schema            // of arrays; may be nil
	Const      string             // the only value; empty: any
	Words      syntax.Words       // that a text may be
	// Description is a sentence about the field; empty if it has none of its own.
	Description string
}

// At returns the schema of the value at a path, which has names of fields and "0" for the
// items of a list; nil if it is not known. The nil schema has no values.
func (s *Schema) At(path []string) *Schema {
	for _, name := range path {
		if s == nil {
			return nil
		}
		field, has := s.Properties[name]
		switch {
		case has:
			s = field
		case name == item && s.Items != nil:
			s = s.Items
		default:
			s = s.Values
		}
	}
	return s
}

// MarshalJSON returns the schema with sorted keys.
func (s *Schema) MarshalJSON() ([]byte, error) {
	out := make(map[string]any)
	switch {
	case len(s.Types) == 1:
		out["type"] = s.Types[0]
	case len(s.Types) > 1:
		out["type"] = s.Types
	}
	if len(s.Properties) > 0 {
		out["properties"] = s.Properties
	}
	switch {
	case s.Closed:
		out["additionalProperties"] = false
	case s.Values != nil:
		out["additionalProperties"] = s.Values
	}
	if s.Items != nil {
		out["items"] = s.Items
	}
	if s.Description != "" {
		out["description"] = s.Description
	}
	if s.Const != "" {
		out["const"] = s.Const
	}
	if s.Words.Only != nil {
		out["enum"] = s.enum()
	}
	if s.Words.Examples != nil {
		out["examples"] = s.Words.Examples
	}
	return json.Marshal(out)
}

// enum returns the values of an enumeration; null stands for an absent one.
func (s *Schema) enum() []any {
	values := make([]any, 0, len(s.Words.Only)+1)
	for _, word := range s.Words.Only {
		values = append(values, word)
	}
	if slices.Contains(s.Types, "null") {
		values = append(values, nil)
	}
	return values
}

// deepest bounds the nesting of values: conditions may contain conditions.
const deepest = 14

// nested is how often a mapping is described within itself: conditions contain conditions.
const nested = 2

// Of returns the schema of a kind of documents.
func Of(kinds syntax.Kinds, kind syntax.Kind) *Schema {
	p := &prober{kinds: kinds, kind: kind}
	s := p.mapping(nil, nil)
	s.Types = []string{"object"}
	if s.Properties == nil {
		s.Properties = make(map[string]*Schema)
	}
	for name, value := range map[string]string{"apiVersion": kind.APIVersion, "kind": kind.Name} {
		s.Properties[name] = &Schema{Const: value, Description: p.text([]string{name})}
	}
	return s
}

// prober asks the decoder of a kind.
type prober struct {
	kinds syntax.Kinds
	kind  syntax.Kind
}

// filled is a mapping with a field: some decoders do not read an empty one.
var filled = map[string]any{"x": "x"}

// samples are a value of each type. A null is accepted wherever a field may be absent.
var samples = []struct {
	name  string
	value any
}{
	{"string", "x"}, {"integer", 1}, {"boolean", true}, {"array", []any{}}, {"object", filled},
}

// probe decodes a document that has a value at a path.
func (p *prober) probe(path []string, value any) *syntax.Observer {
	for _, p := range slices.Backward(path) {
		if p == item {
			value = []any{value}
		} else {
			value = map[string]any{p: value}
		}
	}
	document := map[string]any{"metadata": map[string]any{"name": "x", "namespace": "x"}}
	if given, ok := value.(map[string]any); ok {
		maps.Copy(document, given)
	}
	document["apiVersion"], document["kind"] = p.kind.APIVersion, p.kind.Name
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // text, numbers, lists and maps
	}
	observer := new(syntax.Observer)
	p.kinds.Decode("probe.json", text, syntax.Options{Observer: observer})
	return observer
}

// anyName stands for a name of a map that has any names.
const anyName = "x"

// item stands for the first item of a list in a path.
const item = "0"

// value is the schema of the value at a path; above are the fields of the mappings that
// contain it.
func (p *prober) value(path []string, above [][]string) *Schema {
	s := &Schema{}
	for _, sample := range samples {
		observed := p.probe(path, sample.value)
		if observed.IsWrongType(path) {
			continue
		}
		s.Types = append(s.Types, sample.name)
		if sample.name == "string" {
			s.Words = observed.Words(path)
		}
	}
	if len(s.Types) == len(samples) {
		return &Schema{} // the decoder does not look at it
	}
	if slices.Contains(s.Types, "array") && len(path) < deepest {
		s.Items = p.value(append(slices.Clone(path), item), above)
	}
	if slices.Contains(s.Types, "object") && len(path) < deepest {
		inner := p.mapping(path, above)
		s.Properties, s.Closed, s.Values = inner.Properties, inner.Closed, inner.Values
	}
	s.Types = append(s.Types, "null")
	return s
}

// mapping is the schema of the mapping at a path.
func (p *prober) mapping(path []string, above [][]string) *Schema {
	seen := p.probe(path, filled)
	names, closed := seen.Fields(path)
	if !closed {
		return &Schema{Values: p.anyName(path, above)}
	}
	names = p.allFields(path, names)
	repeated := 0
	for _, other := range above {
		if slices.Equal(other, names) {
			repeated++
		}
	}
	if repeated > nested {
		return &Schema{}
	}
	s := &Schema{Properties: make(map[string]*Schema), Closed: !seen.IsOpen(path)}
	for _, name := range names {
		field := append(slices.Clone(path), name)
		s.Properties[name] = p.value(field, append(slices.Clone(above), names))
		s.Properties[name].Description = p.text(field)
	}
	return s
}

// text returns the text of the field at a path.
func (p *prober) text(path []string) string {
	var names []string
	for _, name := range path {
		switch name {
		case item:
		case anyName:
			names = append(names, "*")
		default:
			names = append(names, name)
		}
	}
	return p.kind.Text(names)
}

// allFields adds the fields that are read only beside others, such as those of the form of
// a document that has metadata.
func (p *prober) allFields(path, names []string) []string {
	all := slices.Clone(names)
	for _, name := range append(slices.Clone(names), "metadata") {
		more, _ := p.probe(path, map[string]any{name: filled}).Fields(path)
		all = append(all, more...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// anyName is the schema of the values of a mapping with any names; nil if they are not
// looked at.
func (p *prober) anyName(path []string, above [][]string) *Schema {
	if len(path) == 0 {
		return nil
	}
	field := append(slices.Clone(path), anyName)
	s := p.value(field, above)
	s.Description = p.text(field)
	if len(s.Types) == 0 {
		return nil
	}
	return s
}

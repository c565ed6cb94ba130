package schema

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// row is a line of a list of fields.
type row struct{ path, types, text string }

// WriteText writes the fields of the kinds for a terminal: path and types, and below them
// the text.
func (a Any) WriteText(w io.Writer) error {
	out := &strings.Builder{}
	for i, s := range a {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(out, "%s (%s)\n", s.Properties["kind"].Const, s.Properties["apiVersion"].Const)
		for _, r := range s.rows() {
			fmt.Fprintf(out, "\n%s\t<%s>\n    %s\n", r.path, r.types, r.text)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// WriteMarkdown writes a section with a table of fields for each kind.
func (a Any) WriteMarkdown(w io.Writer) error {
	out := &strings.Builder{}
	for _, s := range a {
		fmt.Fprintf(out, "\n## %s (`%s`)\n\n| field | type | meaning |\n| --- | --- | --- |\n",
			s.Properties["kind"].Const, s.Properties["apiVersion"].Const)
		for _, r := range s.rows() {
			fmt.Fprintf(out, "| `%s` | %s | %s |\n", r.path, r.types, strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(r.text))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// rows returns the fields below an object in the order of their paths. The fields of an
// object that is like an earlier one are not listed again, nor are those of metadata, which
// all kinds share.
func (s *Schema) rows() []row {
	seen := make(map[string]string)
	var out []row
	var walk func(path string, s *Schema)
	add := func(path string, s *Schema) {
		text := s.Description
		inner, end := s, path
		for inner.Items != nil {
			inner, end = inner.Items, end+"[]"
		}
		names := strings.Join(slices.Sorted(maps.Keys(inner.Properties)), ",")
		if first, again := seen[names]; again && len(inner.Properties) > 1 {
			out = append(out, row{path, s.types(), strings.TrimSpace(text + " Its fields are those of `" + first + "`.")})
			return
		}
		seen[names] = end
		out = append(out, row{path, s.types(), text})
		if path != "metadata" && !strings.HasSuffix(text, "Not read.") {
			walk(end, inner)
		}
	}
	walk = func(path string, s *Schema) {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			add(strings.TrimPrefix(path+"."+name, "."), s.Properties[name])
		}
		if s.Values != nil && s.Values.Description != "" {
			add(path+".*", s.Values)
		}
	}
	walk("", s)
	return out
}

// types returns the types of a value in words. A null stands for an absent value.
func (s *Schema) types() string {
	if s.Const != "" {
		return "string"
	}
	types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	if len(types) == 0 {
		return "any"
	}
	return strings.Join(types, ", ")
}

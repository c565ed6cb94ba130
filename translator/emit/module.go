// Package emit writes Rego text: quoted strings, file names, modules with helper
// rules. The families write their files with it, and all text of documents reaches
// Rego source through [Quote]. It must not know any family or table.
package emit

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/regotext"
)

// Options say what is emitted. The zero value emits what decides and no tests.
type Options struct {
	// Tests adds generated tests, one file a role, for the first TestedRoles
	// roles that are bound.
	Tests bool
}

// Words that no document is expected to know: what is decided by them is decided
// by a wildcard.
const (
	StrangeVerb     = "writ-other-verb"
	StrangeResource = "writ-other-resources"
	StrangeGroup    = "writ-other.group"
	StrangePath     = "/writ-other-path"
)

// OrDefault returns entry, or other in place of a wildcard.
func OrDefault(entry, other string) string {
	if entry == "*" {
		return other
	}
	return entry
}

// TestedRoles is how many roles get generated tests: OPA compiles every test
// module whenever it loads a bundle, so a large directory is tested by its first
// roles in the order of their keys.
const TestedRoles = 2000

// Module is one generated file. Helper rules get names that begin with the
// document's own, since files share a package.
type Module struct {
	Out     bytes.Buffer
	Own     string
	Helpers bytes.Buffer
}

// NewModule returns an empty module of the document with these names.
func NewModule(names ...string) *Module { return &Module{Own: "_" + Identifier(names...)} }

// HelperName returns the name of a helper rule: the document's own and the purpose,
// which must not begin with two hexadecimal digits. Without a purpose it is the
// document's own.
func (m *Module) HelperName(purpose string) string {
	if purpose == "" {
		return m.Own
	}
	return m.Own + "__" + purpose
}

// WriteRule writes "HEAD if { BODY }", or the bare head, which gives the rule its value.
func WriteRule(out *bytes.Buffer, head string, body []string) {
	if len(body) == 0 {
		fmt.Fprintf(out, "\n%s\n", head)
		return
	}
	fmt.Fprintf(out, "\n%s if {\n\t%s\n}\n", head, strings.Join(body, "\n\t"))
}

// WriteBoolean writes a rule that is true where the body holds.
func WriteBoolean(out *bytes.Buffer, name string, body []string) {
	if len(body) == 0 {
		name += " := true"
	}
	WriteRule(out, name, body)
}

// WriteMap writes a rule whose value is an object of constants, sorted by key, one a line. A
// JSON text is a constant in Rego.
func WriteMap[V any](out *bytes.Buffer, name string, entries map[string]V) {
	WriteRows(out, name, slices.Sorted(maps.Keys(entries)), func(key string) (string, any) { return key, entries[key] })
}

// WriteRows is WriteMap for a list, whose order stays.
func WriteRows[R any](out *bytes.Buffer, name string, rows []R, entry func(R) (key string, value any)) {
	fmt.Fprintf(out, "\n%s := {\n", name)
	for _, row := range rows {
		key, value := entry(row)
		fmt.Fprintf(out, "\t%s: %s,\n", regotext.Quote(key), regotext.Constant(value))
	}
	out.WriteString("}\n")
}

// Bytes returns the rules followed by the helper rules. It must be called once.
func (m *Module) Bytes() []byte {
	m.Out.Write(m.Helpers.Bytes())
	return m.Out.Bytes()
}

// AnyOf is the conditions under which one of the alternatives holds: itself where
// there is one, else a helper rule.
func (m *Module) AnyOf(purpose string, alternatives [][]string) []string {
	for _, alternative := range alternatives {
		if len(alternative) == 0 {
			return nil
		}
	}
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	name := m.HelperName(purpose)
	for _, alternative := range alternatives {
		WriteBoolean(&m.Helpers, name, alternative)
	}
	return []string{name}
}

// OneOf is membership in constants, which OPA's rule index knows.
func OneOf(ref string, words []string) string {
	words = distinct(words)
	if len(words) == 1 {
		return ref + " == " + regotext.Quote(words[0])
	}
	return ref + " in {" + strings.Join(QuoteAll(words), ", ") + "}"
}

// distinct returns the words without repetitions, in their order.
func distinct(words []string) []string {
	seen := make(map[string]bool, len(words))
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		again := seen[word]
		seen[word] = true
		return again
	})
}

// QuoteAll returns each of the words as a Rego string.
func QuoteAll(words []string) []string {
	return elements.Map(words, regotext.Quote)
}

// Metadata annotates the rule that follows. It is YAML in comments, so text goes
// in quoted.
func (m *Module) Metadata(description, source string) {
	fmt.Fprintf(&m.Out, "\n# METADATA\n# description: %s\n# custom:\n#   source: %s", regotext.Metadata(description), regotext.Metadata(source))
}

// Identifier returns the name of a Rego rule for a document, from the same names as
// fileName. "no-risky-exec" gives no_risky_exec. No two lists of names share a result.
// It may begin with a digit, or be a word of Rego, so the caller puts something before
// it. After it may follow "__" and a word that does not begin with two hexadecimal
// digits, so that it differs from an escaped byte.
func Identifier(names ...string) string {
	parts := make([]string, len(names))
	separator := "_"
	for i, name := range names {
		parts[i] = identifierText(name)
		last := i == len(names)-1
		if name == "" || !isPlain(name[0]) || !last && slices.ContainsFunc([]byte(name), func(b byte) bool { return !isPlain(b) }) {
			separator = "___" // "_" would not show where the name ends
		}
	}
	return strings.Join(parts, separator)
}

// Package diag holds what is wrong with documents, where it stands and what to
// do about it. Diagnostics come in from every phase of the translator and go
// out as text, JSON or SARIF; the package knows no family and decides nothing
// but how a mistake reads.
package diag

import (
	"cmp"
	"slices"
)

// Severity says whether a diagnostic stops the directory from compiling. The
// zero value is Error: a phase that forgets to choose refuses.
type Severity int

// The two severities. An error cannot be demoted, only a warning silenced.
const (
	Error Severity = iota
	Warning
)

// String is "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Position is a place in a document file. File is relative to the policy
// directory, with slashes. Line and Column count from 1, columns in runes; zero
// means not known.
type Position struct {
	File   string
	Line   int
	Column int
}

// Compare orders positions by file, line and column.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Code names a kind of mistake in kebab case, one meaning over all families.
type Code string

// Related points at another place that helps to understand a diagnostic, such
// as the first of two duplicates.
type Related struct {
	Position
	Message string
}

// Diagnostic is one mistake in the documents.
type Diagnostic struct {
	Position
	// Length is how many runes of the line the mistake covers, for the caret
	// line. Zero means one.
	Length   int
	Severity Severity
	Code     Code
	Message  string
	// Hint says what to type instead; empty where nothing short can be said.
	Hint    string
	Related []Related
}

// List is the diagnostics of a run. The nil list is empty and ready to use. It
// is not safe for concurrent use.
type List []Diagnostic

// Add appends d.
func (l *List) Add(d Diagnostic) { *l = append(*l, d) }

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sorted returns the list ordered by position, then code, then message, with
// equal diagnostics once. The receiver is left as it is.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(
			a.Position.Compare(b.Position),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.CompactFunc(out, func(a, b Diagnostic) bool {
		return a.Position == b.Position && a.Code == b.Code && a.Message == b.Message
	})
}

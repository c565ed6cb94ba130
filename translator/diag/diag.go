// Package diag defines diagnostics: what is wrong with the documents, where, and
// what to do about it. Every phase of the translator reports them; they are
// written as text, JSON or SARIF. The package knows nothing about families, and
// decides only how a mistake is presented.
package diag

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Severity states whether a diagnostic stops the directory from compiling. The
// zero value is Error, so that a phase that forgets to set it fails closed.
type Severity int

// The two severities. An error cannot be demoted; a warning can be silenced.
const (
	Error Severity = iota
	Warning
)

// String returns "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Position is a place in a document file or in an object of a cluster. File is relative to
// the policy directory, with slashes. Line and Column count from 1, columns in runes; zero
// means not known.
type Position struct {
	File   string
	Line   int
	Column int
	// Field is the path of the field if File names an object of a cluster, which has no
	// lines that a person sees: Line and Column only order its fields. WholeObject stands
	// for no field of it.
	Field string
}

// WholeObject is the field of a position that stands for an object as a whole.
const WholeObject = "kind"

// String returns the known parts of a position: file, line and column, or the name of an
// object and the field.
func (p Position) String() string {
	if p.Line == 0 || p.Column == 0 || p.Field != "" {
		return p.Source()
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Source returns a position as decisions report it: file:line, or the name of an object and
// the field.
func (p Position) Source() string {
	switch {
	case p.Field == WholeObject:
		return p.File
	case p.Field != "":
		return p.File + ":" + p.Field
	case p.Line == 0:
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// ObjectPrefix begins the File of a position in an object of a cluster.
const ObjectPrefix = "kube:"

// ParseSource returns the position that Source formatted, in column 1, and whether there is
// one. The field of an object stays a part of File.
func ParseSource(text string) (Position, bool) {
	if strings.HasPrefix(text, ObjectPrefix) {
		return Position{File: text, Line: 1, Column: 1, Field: WholeObject}, true
	}
	at := strings.LastIndexByte(text, ':')
	number, err := strconv.Atoi(text[at+1:])
	if at < 0 || err != nil {
		return Position{}, false
	}
	return Position{File: text[:at], Line: number, Column: 1}, true
}

// Shown returns the line and column for readers that have the file; zero in an object.
func (p Position) Shown() (line, column int) {
	if p.Field != "" || p.Line == 0 {
		return 0, 0
	}
	return p.Line, p.Column
}

// Compare orders positions by file, line and column.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Code names a kind of mistake in kebab case. A code has one meaning in all families.
type Code string

// Related is another place that explains a diagnostic, such as the first of two
// duplicates.
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
	// Hint is what to type instead. It is empty if no short answer exists.
	Hint    string
	Related []Related
	// Risk is "low", "medium", "high" or "critical" for a dangerous grant, Subjects are the
	// principals that hold it. Both are empty for all others.
	Risk     string
	Subjects []string
}

// List holds the diagnostics of a run. A nil list is empty and ready to use. A
// list is not safe for concurrent use.
type List []Diagnostic

// Add appends d.
func (l *List) Add(d Diagnostic) { *l = append(*l, d) }

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sorted returns a copy that is ordered by position, severity, code and message,
// without duplicates. It does not change the receiver.
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

// Suppression is what silences a warning: where it was accepted, and why.
type Suppression struct {
	Position
	Reason string
	// IsComment states that it is a comment beside the finding; otherwise it is in the
	// settings or in a baseline.
	IsComment bool
}

// Silenced is a warning that was accepted.
type Silenced struct {
	Diagnostic
	By Suppression
}

// kind is the word of SARIF for where a suppression is.
func (s Suppression) kind() string {
	if s.IsComment {
		return "inSource"
	}
	return "external"
}

// IsAcceptable reports whether warnings of a code can be silenced. Those about acceptances
// cannot, nor what is about a change or about all documents together.
func IsAcceptable(code Code) bool {
	_, known := Explain(code)
	return known && !slices.Contains([]Code{BadAcceptance, UnusedAcceptance, ExpiredAcceptance, Escalation, TooManyMistakes, Interrupted}, code)
}

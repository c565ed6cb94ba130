package syntax

import (
	"strconv"

	"github.com/writ-policy/writ/translator/diag"
)

// Source is the place of a document or rule as decisions report it.
func Source(p diag.Position) string { return p.File + ":" + strconv.Itoa(p.Line) }

// Document is one decoded document. The concrete types belong to the families and
// are pointers to structs that embed Header.
type Document interface {
	Meta() *Header
}

// Header is what every document says of itself.
type Header struct {
	Family     string
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	// At is the kind line, where a document as a whole is reported.
	At diag.Position
	// NameAt and NamespaceAt are the values' positions, or At where missing.
	NameAt      diag.Position
	NamespaceAt diag.Position
	// IdentityAt is where a second document of the same identity is reported; At
	// where it is zero.
	IdentityAt diag.Position
	// Auxiliary documents decide nothing: a directory of them alone is empty.
	Auxiliary bool
	// Shared documents may have one identity.
	Shared bool
	// TestOnly documents are not part of a bundle.
	TestOnly bool
}

// Meta returns the header itself, so that embedding it makes a Document.
func (h *Header) Meta() *Header { return h }

// Text is a string of a document with its position.
type Text struct {
	Value string
	At    diag.Position
}

// Selector is a label selector, all of whose requirements must hold.
type Selector struct {
	At           diag.Position
	Requirements []Requirement
}

// Requirement is one condition on a label: In, NotIn, Exists, DoesNotExist.
// matchLabels become In with one value.
type Requirement struct {
	Key      string
	Operator string
	Values   []string
}

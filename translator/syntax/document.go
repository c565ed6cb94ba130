package syntax

import (
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
)

// Document is one decoded document. The concrete types belong to the families and
// are pointers to structs that embed Header.
type Document interface {
	Meta() *Header
}

// Referrer is a document that names other documents.
type Referrer interface {
	// References returns what the document names; master is the Origin master namespace.
	References(master string) []Reference
}

// Reference is a place in a document that names another one.
type Reference struct {
	At                            diag.Position
	Family, Kind, Namespace, Name string
}

// ReferringField is a field that is being typed and may name a document.
type ReferringField struct {
	Kind string // of the document
	// Path has the names of the fields that lead to it, joined by dots.
	Path string
	// Beside are the fields before it in its mapping, if they are texts.
	Beside map[string]string
	// Namespace is that of the document, Master the Origin master namespace.
	Namespace, Master string
}

// Header is the common part of all documents.
type Header struct {
	Family     string
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	// At is the position of the kind, for diagnostics about the document as a whole.
	At diag.Position
	// NameAt is the position of the name, or At if it is absent.
	NameAt diag.Position
	// Given is what only some kinds have, nil for the others.
	Given *Given
	// ByName states that a second document of the same identity is reported at its name.
	ByName bool
	// Auxiliary marks documents that do not decide; a directory with only such documents
	// counts as empty.
	Auxiliary bool
	// Shared marks documents of which several may have the same identity.
	Shared bool
	// Object marks objects of a cluster: their server-filled fields are true.
	Object bool
	// Bootstrap marks documents that are part of writ, and of no directory.
	Bootstrap bool
	// Export marks documents of a cluster: their dangling references are in force nowhere.
	Export bool
	// StrictRoutes marks documents of a source whose routes must not be in conflict.
	StrictRoutes bool
	// Stock marks objects with the label of those that API servers make themselves.
	Stock bool
	// TestOnly marks documents that are not part of a bundle.
	TestOnly bool
}

// Given are metadata that identify no document: the namespace of one that Namespace does not
// identify, and the uid that a server gave. Both may be empty.
type Given struct{ In, UID string }

// DanglingSeverity is the severity of a reference of the document to what does not exist. A
// cluster ignores such a reference.
func (h *Header) DanglingSeverity() diag.Severity {
	if h.Export {
		return diag.Warning
	}
	return diag.Error
}

// Meta returns the header itself, so that embedding it makes a Document.
func (h *Header) Meta() *Header { return h }

// Text is a string of a document with its position.
type Text struct {
	Value string
	At    diag.Position
}

// Diagnostic returns a diagnostic about the text, with a message as fmt.Sprintf makes it.
func (t Text) Diagnostic(severity diag.Severity, code diag.Code, hint, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{
		Position: t.At, Length: len([]rune(t.Value)), Severity: severity, Code: code, Hint: hint, Message: fmt.Sprintf(format, args...),
	}
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

package assertion

import (
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// family is the family of assertions.
const family = "assertion"

// The forms of an assertion.
const (
	Never       = "never"
	Always      = "always"
	Implies     = "implies"
	Disjoint    = "disjoint"
	Equals      = "equals"
	Within      = "within"
	Independent = "independent"
	Covers      = "covers"
)

// The words that never and always state of a request.
const (
	Allowed = "allowed"
	Denied  = "denied"
	decided = "decided"
	Shown   = "shown"
	Limited = "limited"
	// reaches is that no subject becomes another one.
	reaches = "reach"
)

// The points of assertions.
const (
	Access     = "access"
	Visibility = "visibility"
	Gateway    = "gateway"
)

// Document is a writ.dev/v1 Assertions document.
type Document struct {
	syntax.Header
	Assertions []Assertion

	text []byte // JSON
}

// Assertion states something of every request of a class.
type Assertion struct {
	// Document is the name of the document, Name that of the assertion in it.
	Document, Name string
	// At is the position of the first key.
	At     diag.Position
	NameAt syntax.Text
	Point  string
	Form   string
	Word   string // of never, always and covers
	// Of are the classes that the assertion is about; one without keys is every request.
	Of, Unless []*Class
	Time       Time
	// Alone restricts the class to requests that hold exactly one principal.
	Alone bool
	// Allow are the reasons that do not fail an assertion.
	Allow      []string
	Exceptions []Exception
	// Apart are lists of principals of which no request holds two.
	Apart [][]string
	// Subjects are those of implies, each a list of principals that one subject holds.
	Subjects [2][]string
	// Classes are those of disjoint, Same the keys that both requests have in common.
	Classes [2]*Class
	Same    []string
	// Entries are the list of equals and within. Documents is the path in its place, or the
	// pattern of independent.
	Entries   []Entry
	Documents syntax.Text
	// Path is what never: reach is about, nil for other assertions.
	Path *Path
}

// Path is a way from subjects to a target.
type Path struct {
	From *Holds // nil for any subject
	To   string
	// Class is the worst class that counts: certain, assumed or possible.
	Class string
}

// ID returns "DOCUMENT/NAME".
func (a *Assertion) ID() string { return a.Document + "/" + a.Name }

// Both returns the classes of disjoint, none for other forms.
func (a *Assertion) Both() []*Class {
	if a.Form != Disjoint {
		return nil
	}
	return a.Classes[:]
}

// Time is when an assertion is stated. The zero value is the time of the run.
type Time struct {
	Any      bool // every time
	Interval bool
	From, To *time.Time // of an interval; nil: without that bound
}

// Exception is a class that does not count while it is in force.
type Exception struct {
	Of     []*Class
	Until  time.Time
	Reason string
}

// Entry is an entry of a list of equals or within. It fits as a rule of Kubernetes does.
type Entry struct {
	Verbs, Groups, Resources, Names, Paths []string
	// Namespaces are exact names; nil: everywhere. The empty name is cluster scope.
	Namespaces []string
}

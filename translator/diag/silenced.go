package diag

import "slices"

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

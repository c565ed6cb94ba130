package oracle

// Truth is the value of a restriction.
type Truth int

// No is the zero value: what is not known to hold grants nothing.
const (
	No Truth = iota
	Undecidable
	Yes
)

// Of turns a fact into a Truth.
func Of(fact bool) Truth {
	if fact {
		return Yes
	}
	return No
}

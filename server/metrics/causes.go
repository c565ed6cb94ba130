package metrics

import (
	"strings"

	"github.com/writ-policy/writ/internal/elements"
)

// Cause is why a reload was refused.
type Cause string

// The causes.
const (
	ByAssertions Cause = "assertions" // one fails, or none exists
	ByErrors     Cause = "documents"  // they have errors
	ByUnread     Cause = "source"     // it could not be read
	ByActivation Cause = "activation" // the bundle could not be built or activated
)

var causes = []Cause{ByAssertions, ByErrors, ByUnread, ByActivation}

// wordList returns the values of a label, for the help of its metric.
func wordList[T ~string](words []T) string {
	return strings.Join(elements.Map(words, func(word T) string { return string(word) }), ", ")
}

// ReloadRefused counts a reload that was refused.
func (m *Metrics) ReloadRefused(why Cause) { m.causes.WithLabelValues(string(why)).Inc() }

// verdicts are those of assertions, and pending.
var verdicts = []string{"holds", "fails", "excepted", "unknown", "vacuous", "pending"}

// Asserted sets the number of assertions about the active revision by verdict.
func (m *Metrics) Asserted(counts map[string]int) {
	for verdict, n := range counts {
		m.assertions.WithLabelValues(verdict).Set(float64(n))
	}
}

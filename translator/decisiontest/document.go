package decisiontest

import (
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// family is the family of decision tests.
const family = "decisiontest"

// DecisionTest is a writ.dev/v1 DecisionTest.
type DecisionTest struct {
	syntax.Header
	// Point is the name of a decision point. PointAt is the position of a point that is
	// stated.
	Point   string
	PointAt diag.Position
	Now     *time.Time // nil: the engine's clock
	Cases   []DecisionCase
}

// DecisionCase is one request and the decision it must get.
type DecisionCase struct {
	At   diag.Position
	Name string
	Now  *time.Time // nil: that of the test
	// Request and Expect are JSON.
	Request []byte
	Expect  []byte
}

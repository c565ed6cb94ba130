package decisiontest

import (
	_ "embed"
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

//go:embed fields.txt
var fieldTexts string

const kindDecisionTest = "DecisionTest"

// kinds are the kinds of decision tests.
var kinds = syntax.KindsOf(syntax.VersionWrit, decodeDecisionTest, kindDecisionTest).WithTexts(fieldTexts)

// decodeDecisionTest decodes a DecisionTest. Its requests are only seen to be objects:
// what a request is, the decision point says when the test runs. An expectation has keys
// of decisions alone, because one with a typo does not fail.
func decodeDecisionTest(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	h, c := d.Begin(n, kind, family, syntax.VersionWrit)
	t := &DecisionTest{Header: h}
	t.Auxiliary, t.TestOnly = true, true
	identified := d.MetadataInto(c, &t.Header)
	if spec := c.RequiredMapping("spec", ""); spec != nil {
		decodeDecisionSpec(d, spec, t)
	}
	c.Done()
	if identified {
		d.Out = append(d.Out, t)
	}
}

func decodeDecisionSpec(d *syntax.Decoder, c *syntax.Cursor, t *DecisionTest) {
	if point := c.Required("point"); point != nil {
		t.Point, t.PointAt = point.Value, d.At(point)
	}
	t.Now = c.Instant("now")
	cases := c.RequiredList("cases")
	for _, n := range cases {
		t.Cases = append(t.Cases, decodeDecisionCase(d, n, t.Point))
	}
	c.Done()
}

func decodeDecisionCase(d *syntax.Decoder, n *syntax.Node, point string) DecisionCase {
	out := DecisionCase{At: d.At(n)}
	c := d.Cursor(n, "a case", false)
	if c == nil {
		return out
	}
	out.Name = c.Required("name").Text()
	out.Now = c.Instant("now")
	out.Request, out.Expect = decodeObject(d, c, "request"), decodeObject(d, c, "expect")
	if n, known := c.Value("expect"), decisions[point]; n != nil && known != nil {
		if n.Type == syntax.Mapping && len(n.Fields) == 0 {
			c.Fail(n, diag.Missing, "name what the decision must have, such as its reason", "expect is empty, and no decision is")
		}
		checkExpected(c, "a decision at the point "+point, n, known)
	}
	c.Done()
	return out
}

// decodeObject returns a required mapping as JSON.
func decodeObject(d *syntax.Decoder, c *syntax.Cursor, name string) []byte {
	n := c.Value(name)
	switch {
	case n == nil:
		c.Missing(name, "")
		return nil
	case n.Type != syntax.Mapping:
		c.Fail(n, diag.WrongType, "", "%s must be a mapping, not %s", name, syntax.Describe(n))
		return nil
	}
	return d.Encoded(n)
}

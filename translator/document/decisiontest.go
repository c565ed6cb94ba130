package document

import (
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/diag"
)

const kindDecisionTest = "DecisionTest"

var decisionTestKinds = KindsOf(versionWrit, (*decoder).decisionTest, kindDecisionTest)

var points = []string{"access", "visibility", "gateway"}

// decisionTest decodes a DecisionTest. Its requests are only seen to be objects:
// what a request is, the decision point says when the test runs.
func (d *decoder) decisionTest(n *node, kind *field) {
	t := &DecisionTest{Header: d.header(FamilyDecisionTest, versionWrit, kindDecisionTest, kind.key)}
	c := d.cursor(n, kindDecisionTest, false)
	c.at = kind.key
	c.skip("apiVersion", "kind")
	identified := false
	if m := c.mapping("metadata"); m != nil {
		m.skip(serverFields...)
		m.skip("labels", "annotations")
		identified = d.nameInto(m, &t.Header)
		if namespace := m.text("namespace"); namespace != nil && d.checkReferredName(namespace, "namespace") {
			t.Namespace, t.NamespaceAt = namespace.value, d.at(namespace)
		}
		m.done()
	} else if c.value("metadata") == nil {
		c.missing("metadata", "write metadata: {name: NAME}")
	}
	if spec := c.mapping("spec"); spec != nil {
		d.decisionSpec(spec, t)
	} else if c.value("spec") == nil {
		c.missing("spec", "")
	}
	c.done()
	if identified {
		d.out = append(d.out, t)
	}
}

func (d *decoder) decisionSpec(c *cursor, t *DecisionTest) {
	if point := c.required("point"); point != nil {
		if t.Point = point.value; !slices.Contains(points, point.value) {
			c.fail(point, diag.BadValue, "one of "+strings.Join(points, ", "), "point %s is not known", quote(point.value))
		}
	}
	if now := c.text("now"); now != nil {
		t.Now = now.value
		if _, err := time.Parse(time.RFC3339, now.value); err != nil {
			c.fail(now, diag.BadValue, `write it like "2026-01-20T10:00:00Z"`, "now %s is no time of RFC 3339", quote(now.value))
		}
	}
	cases, at := c.list("cases")
	switch {
	case c.value("cases") == nil:
		c.missing("cases", "")
	case at != nil && len(cases) == 0:
		c.fail(c.field("cases").key, diag.Missing, "", "cases of spec is empty")
	}
	for _, n := range cases {
		t.Cases = append(t.Cases, d.decisionCase(n))
	}
	c.done()
}

func (d *decoder) decisionCase(n *node) DecisionCase {
	out := DecisionCase{At: d.at(n)}
	c := d.cursor(n, "a case", false)
	if c == nil {
		return out
	}
	if name := c.required("name"); name != nil {
		out.Name = name.value
	}
	out.Request, out.Expect = d.object(c, "request"), d.object(c, "expect")
	c.done()
	return out
}

// object returns a required mapping as JSON.
func (d *decoder) object(c *cursor, name string) []byte {
	n := c.value(name)
	switch {
	case n == nil:
		c.missing(name, "")
		return nil
	case n.kind != mapping:
		c.fail(n, diag.WrongType, "", "%s is a mapping, this is %s", name, describe(n))
		return nil
	}
	return d.encoded(n)
}

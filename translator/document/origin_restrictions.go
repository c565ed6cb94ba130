package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
)

// The restrictions that are built in. The first two are keys, the others kinds.
const (
	fieldsMutatable       = "fieldsMutatable"
	labelsContain         = "labelsContain"
	sameMinionRestriction = "sameMinionRestriction"
	celRestriction        = "cel"
)

// restrictions decodes attributeRestrictions. Nothing written here may read as no
// restriction: what would is an error.
func (d *decoder) restrictions(f *field) *Restrictions {
	r := &Restrictions{At: d.at(f.key)}
	n := f.value
	if n.isNull() {
		d.emptyRestriction(f.key)
		return r
	}
	c := d.cursor(n, "attributeRestrictions", false)
	if c == nil {
		return r
	}
	d.fieldPaths(c, r)
	d.labelEntries(c, r)
	kind := c.text("kind")
	if kind != nil {
		r.Kind = d.text(kind)
	}
	if len(n.fields) == 0 || !slices.ContainsFunc(n.fields, func(f field) bool { return !f.value.isNull() }) {
		d.emptyRestriction(f.key)
		return r
	}
	if kind == nil && c.value("kind") != nil {
		return r // its type is wrong, so nobody knows whose the other keys are
	}
	d.restrictionKind(c, kind, r)
	return r
}

func (d *decoder) emptyRestriction(at *node) {
	d.fail(at, diag.EmptyRestriction, "leave attributeRestrictions out, or say what must hold", "attributeRestrictions says nothing: the rule reads as restricted and is not")
}

// restrictionKind decides whose the remaining keys are: a parameter of the
// extension the kind names, or nobody's.
func (d *decoder) restrictionKind(c *cursor, kind *node, r *Restrictions) {
	switch {
	case kind == nil:
		d.strayParameters(c, "without a kind")
	case kind.value == sameMinionRestriction:
		d.strayParameters(c, "beside sameMinionRestriction, which has no parameters")
	case kind.value == celRestriction:
		d.condition(c, r)
	case kind.value == fieldsMutatable || kind.value == labelsContain:
		c.fail(kind, diag.UnknownRestriction, "write "+kind.value+": [...]", "%s is a key, not a kind", quote(kind.value))
	case !identifier(kind.value):
		hint := ""
		if near := diag.Suggest(kind.value, []string{sameMinionRestriction}); near != "" {
			hint = "did you mean " + quote(near) + "?"
		}
		c.fail(kind, diag.UnknownRestriction, hint, "restriction %s is not known, and no extension can have that name", quote(kind.value))
	default:
		d.parameters(c, r)
	}
}

// condition decodes the expression of a cel restriction, which has nothing else.
func (d *decoder) condition(c *cursor, r *Restrictions) {
	n := c.required("expression")
	d.strayParameters(c, "beside cel, whose one parameter is expression")
	if n == nil {
		return
	}
	r.Expression = d.text(n)
	problem := cel.CheckAccess(n.value)
	if problem == nil {
		return
	}
	at, place := d.within(n, problem)
	d.add(diag.Diagnostic{Position: at, Length: 1, Code: diag.CEL, Message: "expression" + place + ": " + problem.Message, Hint: celHint(problem)})
}

// within is the character a problem is at. Text over several lines is not where the
// document has it: there the place within it is told in words.
func (d *decoder) within(n *node, problem *cel.Problem) (at diag.Position, place string) {
	at = d.at(n)
	if strings.Contains(n.value, "\n") {
		return at, fmt.Sprintf(", line %d, column %d", problem.Line, problem.Column)
	}
	at.Column += problem.Column - 1
	if n.quoted {
		at.Column++
	}
	return at, ""
}

// strayParameters reports every key that is no restriction.
func (d *decoder) strayParameters(c *cursor, why string) {
	for i, f := range c.n.fields {
		if c.used[i] {
			continue
		}
		hint := ""
		if near := diag.Suggest(f.key.value, []string{fieldsMutatable, labelsContain, "kind"}); near != "" {
			hint = "did you mean " + quote(near) + "?"
		} else if f.key.value == sameMinionRestriction {
			hint = "write kind: " + sameMinionRestriction
		}
		c.fail(f.key, diag.UnknownRestriction, hint, "restriction %s is not known %s", quote(f.key.value), why)
	}
}

// parameters collects what an extension gets as its params.
func (d *decoder) parameters(c *cursor, r *Restrictions) {
	r.Params = map[string]any{}
	for i, f := range c.n.fields {
		if c.used[i] {
			continue
		}
		if r.ParamsAt == nil {
			r.ParamsAt = map[string]diag.Position{}
		}
		r.Params[f.key.value], _ = d.value(f.value)
		r.ParamsAt[f.key.value] = d.at(f.key)
	}
}

// fieldPaths decodes fieldsMutatable, with the short first segments written out.
func (d *decoder) fieldPaths(c *cursor, r *Restrictions) {
	if c.value(fieldsMutatable) == nil {
		return
	}
	items, _ := c.requiredTexts(fieldsMutatable)
	r.Fields = []string{}
	for _, n := range items {
		if n.value == "" {
			c.fail(n, diag.BadValue, "", "an empty path in fieldsMutatable")
			continue
		}
		r.Fields = append(r.Fields, longPath(n.value))
	}
}

// longPath puts metadata in front of the fields of it that may be named alone.
func longPath(path string) string {
	first := path
	if end := strings.IndexAny(path, ".["); end >= 0 {
		first = path[:end]
	}
	switch first {
	case "labels", "annotations", "finalizers", "ownerReferences":
		return "metadata." + path
	}
	return path
}

func (d *decoder) labelEntries(c *cursor, r *Restrictions) {
	if c.value(labelsContain) == nil {
		return
	}
	items, _ := c.requiredTexts(labelsContain)
	r.Labels = []Text{}
	for _, n := range items {
		if key, _, _ := strings.Cut(n.value, "="); key == "" {
			c.fail(n, diag.BadValue, "write KEY or KEY=VALUE", "entry %s of labelsContain has no key", quote(n.value))
			continue
		}
		r.Labels = append(r.Labels, d.text(n))
	}
}

// identifier reports whether s is an identifier of Rego.
func identifier(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

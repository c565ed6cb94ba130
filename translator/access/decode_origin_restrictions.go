package access

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// The restrictions that are built in. The first three are keys, the others kinds.
const (
	fieldsMutatable       = "fieldsMutatable"
	labelsContain         = "labelsContain"
	fieldsSelect          = "fieldsSelect"
	sameMinionRestriction = "sameMinionRestriction"
	celRestriction        = "cel"
)

var restrictionKeys = []string{fieldsMutatable, labelsContain, fieldsSelect}

// decodeRestrictions decodes attributeRestrictions. A value that would have no effect is
// an error, so that a rule cannot look restricted without being so.
func decodeRestrictions(d *syntax.Decoder, f *syntax.Field) *Restrictions {
	r := &Restrictions{At: d.At(f.Key)}
	n := f.Value
	if n.IsNull() {
		reportEmptyRestriction(d, f.Key)
		return r
	}
	c := d.Cursor(n, "attributeRestrictions", false)
	if c == nil {
		return r
	}
	decodeFieldPaths(c, r)
	decodeLabelEntries(d, c, r)
	decodeFieldEntries(d, c, r)
	kind := c.Text("kind")
	if kind != nil {
		r.Kind = d.Text(kind)
	}
	if len(n.Fields) == 0 || !slices.ContainsFunc(n.Fields, func(f syntax.Field) bool { return !f.Value.IsNull() }) {
		reportEmptyRestriction(d, f.Key)
		return r
	}
	if kind == nil && c.Value("kind") != nil {
		return r // the kind is invalid, so the other keys cannot be checked
	}
	decodeRestrictionKind(d, c, kind, r)
	return r
}

func reportEmptyRestriction(d *syntax.Decoder, at *syntax.Node) {
	d.Fail(at, diag.EmptyRestriction, "leave attributeRestrictions out, or write a restriction", "attributeRestrictions is empty: the rule is not restricted")
}

// decodeRestrictionKind decodes the restriction that kind names: the remaining keys are
// its parameters, or unknown.
func decodeRestrictionKind(d *syntax.Decoder, c *syntax.Cursor, kind *syntax.Node, r *Restrictions) {
	switch {
	case kind == nil:
		reportStrayParameters(c, "without a kind")
	case kind.Value == sameMinionRestriction:
		reportStrayParameters(c, "beside sameMinionRestriction, which has no parameters")
	case kind.Value == celRestriction:
		decodeCondition(d, c, r)
	case slices.Contains(restrictionKeys, kind.Value):
		c.Fail(kind, diag.UnknownRestriction, "write "+kind.Value+": [...]", "%s is a key, not a kind", syntax.Quote(kind.Value))
	case !syntax.IsIdentifier(kind.Value):
		hint := diag.Meant(kind.Value, []string{sameMinionRestriction}, "")
		c.Fail(kind, diag.UnknownRestriction, hint, "restriction %s is not known, and no extension can have that name", syntax.Quote(kind.Value))
	default:
		decodeParameters(d, c, r)
	}
}

// decodeCondition decodes the expression of a cel restriction, which has nothing else.
func decodeCondition(d *syntax.Decoder, c *syntax.Cursor, r *Restrictions) {
	n := c.Required("expression")
	reportStrayParameters(c, "beside cel, whose one parameter is expression")
	if n == nil {
		return
	}
	r.Expression = d.Text(n)
	problem := cel.CheckAccess(n.Value)
	if problem == nil {
		warnOfUnknownKeys(d, n)
		return
	}
	at, place := locateWithin(d, n, problem)
	d.Add(diag.Diagnostic{Position: at, Length: 1, Code: diag.CEL, Message: "expression" + place + ": " + problem.Message, Hint: cel.Hint(problem)})
}

// warnOfUnknownKeys warns about keys that no request has: an expression that reads one is
// undecidable, so that an allow rule never holds and a deny rule always does.
func warnOfUnknownKeys(d *syntax.Decoder, n *syntax.Node) {
	paths, _ := cel.Reads(n.Value, cel.Access)
	var seen []string
	for _, path := range paths {
		if len(path) < 2 || slices.Contains(vocabulary.RequestKeys, path[1]) || slices.Contains(seen, path[1]) {
			continue
		}
		seen = append(seen, path[1])
		hint := diag.Meant(path[1], vocabulary.RequestKeys, "the keys are "+strings.Join(vocabulary.RequestKeys, ", "))
		d.Warn(n, diag.UnknownAttribute, hint, "a request has no key %s: what reads it is undecidable", syntax.Quote(path[1]))
	}
}

// locateWithin returns the position of a problem in an expression. For text of several
// lines, it returns the position of the text, and the line and column within it as words.
func locateWithin(d *syntax.Decoder, n *syntax.Node, problem *cel.Problem) (at diag.Position, place string) {
	at = d.At(n)
	if strings.Contains(n.Value, "\n") {
		return at, fmt.Sprintf(", line %d, column %d", problem.Line, problem.Column)
	}
	at.Column += problem.Column - 1
	if n.Quoted {
		at.Column++
	}
	return at, ""
}

// reportStrayParameters reports each key that is not a restriction.
func reportStrayParameters(c *syntax.Cursor, why string) {
	for i, f := range c.Node.Fields {
		if c.Used[i] {
			continue
		}
		hint := ""
		if near := diag.Suggest(f.Key.Value, append([]string{"kind"}, restrictionKeys...)); near != "" {
			hint = "did you mean " + syntax.Quote(near) + "?"
		} else if f.Key.Value == sameMinionRestriction {
			hint = "write kind: " + sameMinionRestriction
		}
		c.Fail(f.Key, diag.UnknownRestriction, hint, "restriction %s is not known %s", syntax.Quote(f.Key.Value), why)
	}
}

// decodeParameters returns the parameters of an extension.
func decodeParameters(d *syntax.Decoder, c *syntax.Cursor, r *Restrictions) {
	r.Params = map[string]any{}
	for i, f := range c.Node.Fields {
		if c.Used[i] {
			continue
		}
		if r.ParamsAt == nil {
			r.ParamsAt = map[string]diag.Position{}
		}
		r.Params[f.Key.Value], _ = d.Value(f.Value)
		r.ParamsAt[f.Key.Value] = d.At(f.Key)
	}
}

// decodeFieldPaths decodes fieldsMutatable to full paths from the root of the object.
func decodeFieldPaths(c *syntax.Cursor, r *Restrictions) {
	if c.Value(fieldsMutatable) == nil {
		return
	}
	items, _ := c.RequiredTexts(fieldsMutatable)
	r.Fields = []string{}
	for _, n := range items {
		if n.Value == "" {
			c.Fail(n, diag.BadValue, "", "paths in fieldsMutatable must not be empty")
			continue
		}
		r.Fields = append(r.Fields, longPath(n.Value))
	}
}

// longPath adds metadata to the path of a metadata field that may be written without it.
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

func decodeLabelEntries(d *syntax.Decoder, c *syntax.Cursor, r *Restrictions) {
	if c.Value(labelsContain) == nil {
		return
	}
	items, _ := c.RequiredTexts(labelsContain)
	r.Labels = []syntax.Text{}
	for _, n := range items {
		key, value, _ := strings.Cut(n.Value, "=")
		if key == "" {
			c.Fail(n, diag.BadValue, "write KEY or KEY=VALUE", "entry %s of labelsContain has no key", syntax.Quote(n.Value))
			continue
		}
		if len(content.IsLabelKey(key))+len(content.IsLabelValue(value)) > 0 {
			d.Warn(n, diag.MatchesNothing, "write KEY or KEY=VALUE, without blanks", "no object of Kubernetes has the label in entry %s of labelsContain", syntax.Quote(n.Value))
		}
		r.Labels = append(r.Labels, d.Text(n))
	}
}

// fieldPath is a path as field selectors write it.
var fieldPath = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

func decodeFieldEntries(d *syntax.Decoder, c *syntax.Cursor, r *Restrictions) {
	if c.Value(fieldsSelect) == nil {
		return
	}
	items, _ := c.RequiredTexts(fieldsSelect)
	r.Select = []syntax.Text{}
	for _, n := range items {
		if path, _, hasValue := strings.Cut(n.Value, "="); !hasValue || !fieldPath.MatchString(path) {
			c.Fail(n, diag.BadValue, "write PATH=VALUE, such as spec.nodeName=node-1", "entry %s of fieldsSelect is not a field with its value", syntax.Quote(n.Value))
			continue
		}
		r.Select = append(r.Select, d.Text(n))
	}
}

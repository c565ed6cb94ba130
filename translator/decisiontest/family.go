package decisiontest

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is decision tests, which are decoded and run, but not translated.
type Family struct{}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table, nil: the family has none.
func (*Family) NewTable() tables.Table { return nil }

// Lower reports tests at points that no family answers.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	for _, t := range directory.DocumentsOf[*DecisionTest](d) {
		if t.Point != "" && !slices.Contains(d.Points, t.Point) {
			at := syntax.Text{Value: t.Point, At: t.PointAt}
			d.List.Add(at.Diagnostic(diag.Error, diag.BadValue, "one of "+strings.Join(d.Points, ", "), "point %s is not known", syntax.Quote(t.Point)))
		}
	}
	return nil, nil
}

// Emit returns nil.
func (*Family) Emit(tables.Table, emit.Options) map[string][]byte { return nil }

package bundles

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A trimmed module has the rules of the whole one, with the file, line and column of each
// expression, and no text. Terms within a constant have its place.
func TestTrimKeepsRulesAndPlaces(t *testing.T) {
	constants := 0
	for path, text := range exampleBundle(t).Files {
		if !isModule(path) {
			continue
		}
		whole, err := parse(path, text)
		check(t, err)
		trimmed, err := parseTrimmed(path, text)
		check(t, err)
		if len(trimmed.Rules) != len(whole.Rules) || len(trimmed.Comments) > 0 || len(trimmed.Annotations) > 0 {
			t.Fatalf("%s: got %d rules, %d comments and %d annotations, want %d rules alone", path, len(trimmed.Rules), len(trimmed.Comments), len(trimmed.Annotations), len(whole.Rules))
		}
		for i, rule := range trimmed.Rules {
			whole.Rules[i].Annotations = nil
			if !rule.Equal(whole.Rules[i]) {
				t.Fatalf("%s: got rule %s, want %s", path, rule, whole.Rules[i])
			}
		}
		got, want := placesIn(trimmed), placesIn(whole)
		if len(got) != len(want) {
			t.Fatalf("%s: got %d places, want %d", path, len(got), len(want))
		}
		for i, place := range got {
			if place.Text != nil || place.Tabs != nil {
				t.Fatalf("%s:%d: the place has the text %q", path, place.Row, place.Text)
			}
			if place.File != want[i].File || place.Row != want[i].Row || place.Col != want[i].Col {
				t.Fatalf("%s: got place %s:%d:%d, want %s:%d:%d", path, place.File, place.Row, place.Col, want[i].File, want[i].Row, want[i].Col)
			}
		}
		constants += constantsIn(t, trimmed)
	}
	if constants == 0 {
		t.Error("no module has a constant")
	}
}

// placesIn returns the places in a module outside of constants, in the order of its nodes.
func placesIn(module *ast.Module) []*ast.Location {
	var places []*ast.Location
	var visit func(node any) bool
	visit = func(node any) bool {
		if located, ok := node.(ast.Node); ok && located.Loc() != nil {
			places = append(places, located.Loc())
		}
		if head, ok := node.(*ast.Head); ok {
			ast.NewGenericVisitor(visit).Walk(head.Reference)
		}
		term, ok := node.(*ast.Term)
		_, isComment := node.(*ast.Comment)
		_, isAnnotation := node.(*ast.Annotations)
		return isComment || isAnnotation || ok && isConstant(term.Value)
	}
	module.Comments, module.Annotations = nil, nil
	ast.NewGenericVisitor(visit).Walk(module)
	return places
}

// constantsIn counts the constants of a trimmed module, whose terms must have their place.
func constantsIn(t *testing.T, module *ast.Module) (n int) {
	t.Helper()
	ast.WalkTerms(module, func(constant *ast.Term) bool {
		if constant.Location == nil || !isConstant(constant.Value) {
			return false
		}
		n++
		ast.WalkTerms(constant.Value, func(term *ast.Term) bool {
			if term.Location != nil && term.Location != constant.Location {
				t.Fatalf("%s:%d: %s has the place %s", constant.Location.File, constant.Location.Row, term, term.Location)
			}
			return false
		})
		return true
	})
	return n
}

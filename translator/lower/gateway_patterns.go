package lower

import (
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/document"
)

// references reports the references to patterns that the effective policy of a path
// does not have.
func (g *gatewayLowerer) references(f *fold, name string) {
	for _, key := range sortedKeys(f.rules) {
		for _, ref := range patternRefs(f.rules[key].rule.Meaning) {
			if _, ok := f.rules["patterns."+ref.Value]; ok || g.told[ref.At] {
				continue
			}
			g.told[ref.At] = true
			g.list.Add(diag.Diagnostic{
				Position: ref.At, Length: len([]rune(ref.Value)), Code: diag.PatternRef,
				Message: fmt.Sprintf("the effective policy of the path %s has no pattern %q", name, ref.Value),
				Hint:    "declare it below patterns, in the block that refers to it",
			})
		}
	}
}

// patternRefs are the patterns that a rule refers to.
func patternRefs(meaning any) []document.Text {
	var refs []document.Text
	var look func(conditions []document.Condition)
	look = func(conditions []document.Condition) {
		for i := range conditions {
			if ref := conditions[i].PatternRef; ref != nil {
				refs = append(refs, *ref)
			}
			look(conditions[i].All)
			look(conditions[i].Any)
		}
	}
	switch m := meaning.(type) {
	case *document.When:
		look(m.Conditions)
	case *document.Authentication:
		look(m.When)
	case *document.Metadata:
		look(m.When)
	case *document.Authorization:
		look(m.When)
		if m.Patterns != nil {
			look(*m.Patterns)
		}
	case *document.SuccessItem:
		look(m.When)
	}
	return refs
}

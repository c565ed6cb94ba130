package gateway

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
)

// eachPatternRef calls f for every reference to a pattern in a rule.
func eachPatternRef(rule *document.InheritedRule, f func(syntax.Text)) {
	var walk func([]document.Condition)
	walk = func(conditions []document.Condition) {
		for i := range conditions {
			if ref := conditions[i].PatternRef; ref != nil {
				f(*ref)
			}
			walk(conditions[i].All)
			walk(conditions[i].Any)
		}
	}
	switch meaning := rule.Meaning.(type) {
	case *document.Authentication:
		walk(meaning.When)
	case *document.Metadata:
		walk(meaning.When)
	case *document.Authorization:
		walk(meaning.When)
		if meaning.Patterns != nil {
			walk(*meaning.Patterns)
		}
	case *document.SuccessItem:
		walk(meaning.When)
	case *document.Pattern:
		walk(meaning.AllOf)
	case *document.When:
		walk(meaning.Conditions)
	case nil:
		if strings.HasPrefix(rule.Key, "rules.callbacks.") {
			for _, name := range writtenPatternRefs(rule.Value) {
				f(syntax.Text{Value: name, At: rule.At})
			}
		}
	}
}

// writtenPatternRefs are the references in the conditions of a rule nothing reads, in
// order of their names.
func writtenPatternRefs(value any) []string {
	var refs []string
	var walk func(any)
	walk = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				walk(item)
			}
		case map[string]any:
			if ref, ok := value["patternRef"].(string); ok {
				refs = append(refs, ref)
			}
			walk(value["all"])
			walk(value["any"])
		}
	}
	if rule, ok := value.(map[string]any); ok {
		walk(rule["when"])
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

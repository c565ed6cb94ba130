package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
)

// findings is OPA's answer about the hits of a request: the hits that hold, the
// warnings about hits that could not be decided, and the outcome of deny policies.
type findings struct {
	hold      []match.Hit
	undecided []string
	denial    denyOutcome
}

// readFindings reads OPA's answer about hits. It returns an error if the answer is
// malformed: an incomplete answer must not be taken for "does not hold".
func readFindings(value ast.Value, hits []match.Hit) (findings, error) {
	var f findings
	answer, ok := value.(*ast.Array)
	if !ok {
		return f, errors.New("findings must be a list")
	}
	if answer.Len() != 3 {
		return f, fmt.Errorf("findings have %d elements, not 3", answer.Len())
	}
	hold, ok1 := answer.Elem(0).Value.(*ast.Array)
	undecided, ok2 := answer.Elem(1).Value.(*ast.Array)
	if !ok1 || !ok2 {
		return f, errors.New("findings: hold and undecided must be lists")
	}
	f.hold = make([]match.Hit, hold.Len())
	for i := range f.hold {
		number, ok := hold.Elem(i).Value.(ast.Number)
		position, isInteger := number.Int()
		switch {
		case !ok || !isInteger:
			return f, fmt.Errorf("findings: hold[%d] must be an integer", i)
		case position < 0 || position >= len(hits):
			return f, fmt.Errorf("findings: hold[%d] is not the position of a rule", i)
		}
		f.hold[i] = hits[position]
	}
	var err error
	if f.undecided, err = readStrings(undecided); err != nil {
		return f, err
	}
	f.denial, err = readDenyOutcome(answer.Elem(2).Value)
	return f, err
}

// readStrings reads a list of strings. It returns an error if an element is not a string.
func readStrings(list *ast.Array) ([]string, error) {
	var texts []string
	for i := range list.Len() {
		text, ok := list.Elem(i).Value.(ast.String)
		if !ok {
			return nil, fmt.Errorf("element %d of a list is not a string", i)
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// reason explains a decision by rules: it names the first hit and, for a denial, the
// first one that would allow.
func reason(r *decision.Request, hits []match.Hit, all []decision.Matched) string {
	if len(hits) == 0 {
		return decision.NoRuleReason(r)
	}
	if !hits[0].Deny() {
		return "allowed by " + ruleText(&all[0])
	}
	text := "denied by " + ruleText(&all[0])
	if i := slices.IndexFunc(hits, func(h match.Hit) bool { return !h.Deny() }); i >= 0 {
		text += "; would be allowed by " + ruleText(&all[i])
	}
	return text
}

// matched describes a hit.
func matched(h match.Hit) decision.Matched {
	number, source := h.Number()
	effect := "allow"
	if h.Deny() {
		effect = "deny"
	}
	return decision.Matched{
		Kind:       h.Binding.Kind,
		Namespace:  h.Binding.Namespace,
		Name:       h.Binding.Name,
		Rule:       number,
		Source:     source,
		Effect:     effect,
		APIVersion: h.Binding.APIVersion,
		Role:       &decision.RoleRef{Kind: h.Role().Kind, Namespace: h.Role().Namespace, Name: h.Role().Name},
	}
}

func ruleText(m *decision.Matched) string {
	return fmt.Sprintf("%s %s (%s %s, rule %d)",
		m.Kind, fullName(m.Namespace, m.Name), m.Role.Kind, fullName(m.Role.Namespace, m.Role.Name), m.Rule)
}

func fullName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

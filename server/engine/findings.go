package engine

import (
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/engine/match"
)

// findings are OPA's answer about the hits of a request: those that hold, what could
// not be decided, and the outcome of deny policies.
type findings struct {
	hold      []match.Hit
	undecided []string
	denial    denyOutcome
}

// readFindings reads OPA's answer about hits. An answer of another shape is an error:
// part of an answer must not pass for a "no".
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
	if f.undecided, err = texts(undecided); err != nil {
		return f, err
	}
	f.denial, err = readDenyOutcome(answer.Elem(2).Value)
	return f, err
}

// texts is a list of strings.
func texts(list *ast.Array) ([]string, error) {
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

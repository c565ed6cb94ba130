package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/server/decision"
)

// Evaluate answers one request. The request must have been validated.
func (e *Engine) Evaluate(ctx context.Context, r *decision.Request) decision.Decision {
	d, err := e.evaluate(ctx, r)
	if err != nil {
		d = decision.Decision{
			Denied:   true,
			Reason:   "denied: trouble while evaluating: " + err.Error(),
			Warnings: []string{},
			Matched:  []decision.Matched{},
			Trouble:  err.Error(),
		}
	}
	d.Revision = e.revision
	return d
}

func (e *Engine) evaluate(ctx context.Context, r *decision.Request) (decision.Decision, error) {
	if err := ctx.Err(); err != nil {
		return decision.Decision{}, err
	}
	input, err := e.words.input(r)
	if err != nil {
		return decision.Decision{}, fmt.Errorf("read the request: %w", err)
	}
	// One cancel serves both the caller and the bound, without a goroutine a
	// request.
	cancel := topdown.NewCancel()
	timer := time.AfterFunc(e.timeout, cancel.Cancel)
	defer timer.Stop()
	defer context.AfterFunc(ctx, cancel.Cancel)()
	result, err := e.query.Eval(ctx,
		rego.EvalParsedInput(input),
		rego.EvalTime(e.now()),
		rego.EvalMetrics(metrics.NoOp()),
		rego.EvalExternalCancel(cancel),
	)
	if err != nil {
		return decision.Decision{}, plain(ctx, err)
	}
	if len(result) != 1 || len(result[0].Expressions) != 1 {
		return decision.Decision{}, errors.New("the decision is undefined")
	}
	object, ok := result[0].Expressions[0].Value.(ast.Object)
	if !ok {
		return decision.Decision{}, errors.New("the decision is not an object")
	}
	return read(object)
}

// plain names an evaluation's end without OPA's own wording of a cancelled one.
func plain(ctx context.Context, err error) error {
	if !topdown.IsCancel(err) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return errors.New("the evaluation took too long")
}

// Keys of a decision.
var (
	keyError      = ast.StringTerm("error")
	keyAllowed    = ast.StringTerm("allowed")
	keyDenied     = ast.StringTerm("denied")
	keyReason     = ast.StringTerm("reason")
	keyWarnings   = ast.StringTerm("warnings")
	keyMatched    = ast.StringTerm("matched")
	keyKind       = ast.StringTerm("kind")
	keyNamespace  = ast.StringTerm("namespace")
	keyName       = ast.StringTerm("name")
	keyRule       = ast.StringTerm("rule")
	keySource     = ast.StringTerm("source")
	keyEffect     = ast.StringTerm("effect")
	keyAPIVersion = ast.StringTerm("apiVersion")
	keyRole       = ast.StringTerm("role")
)

// read turns the library's answer into a decision. An answer of another shape is
// trouble: half an answer must not pass for a "no".
func read(object ast.Object) (decision.Decision, error) {
	var d decision.Decision
	if refusal := object.Get(keyError); refusal != nil {
		return d, fmt.Errorf("the request is none: %v", refusal)
	}
	allowed, ok1 := boolean(object, keyAllowed)
	denied, ok2 := boolean(object, keyDenied)
	reason, ok3 := text(object, keyReason)
	warnings, ok4 := array(object, keyWarnings)
	matched, ok5 := array(object, keyMatched)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || allowed && denied {
		return d, fmt.Errorf("the decision has not the shape of one: %v", object)
	}
	d = decision.Decision{
		Allowed:  allowed,
		Denied:   denied,
		Reason:   reason,
		Warnings: make([]string, 0, warnings.Len()),
		Matched:  make([]decision.Matched, 0, matched.Len()),
	}
	for i := range warnings.Len() {
		warning, _ := warnings.Elem(i).Value.(ast.String)
		d.Warnings = append(d.Warnings, string(warning))
	}
	for i := range matched.Len() {
		entry, ok := matched.Elem(i).Value.(ast.Object)
		if !ok {
			return decision.Decision{}, errors.New("an entry of matched is not an object")
		}
		d.Matched = append(d.Matched, readMatched(entry))
	}
	return d, nil
}

func readMatched(entry ast.Object) decision.Matched {
	var m decision.Matched
	m.Kind, _ = text(entry, keyKind)
	m.Namespace, _ = text(entry, keyNamespace)
	m.Name, _ = text(entry, keyName)
	m.Source, _ = text(entry, keySource)
	m.Effect, _ = text(entry, keyEffect)
	m.APIVersion, _ = text(entry, keyAPIVersion)
	if rule := entry.Get(keyRule); rule != nil {
		if number, ok := rule.Value.(ast.Number); ok {
			m.Rule, _ = number.Int()
		}
	}
	if role := entry.Get(keyRole); role != nil {
		if named, ok := role.Value.(ast.Object); ok {
			m.Role = new(decision.RoleRef)
			m.Role.Kind, _ = text(named, keyKind)
			m.Role.Namespace, _ = text(named, keyNamespace)
			m.Role.Name, _ = text(named, keyName)
		}
	}
	return m
}

func boolean(object ast.Object, key *ast.Term) (value, ok bool) {
	if term := object.Get(key); term != nil {
		b, ok := term.Value.(ast.Boolean)
		return bool(b), ok
	}
	return false, false
}

func text(object ast.Object, key *ast.Term) (string, bool) {
	if term := object.Get(key); term != nil {
		s, ok := term.Value.(ast.String)
		return string(s), ok
	}
	return "", false
}

func array(object ast.Object, key *ast.Term) (*ast.Array, bool) {
	if term := object.Get(key); term != nil {
		a, ok := term.Value.(*ast.Array)
		return a, ok
	}
	return nil, false
}

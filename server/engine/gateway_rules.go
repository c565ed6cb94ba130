package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/engine/gateway"
)

var keyPatterns = ast.StringTerm("patterns")

// askGatewayRule is the query for one rule of a document, as a list of its values. The
// input names the rule.
func askGatewayRule(d gateway.Document) string {
	return fmt.Sprintf("[value | value := data.compiled.gateway.%s[input[null].rule]]", d)
}

// timeOf returns the time as Rego of the gateway point reads it.
func timeOf(now time.Time) string {
	return time.Unix(0, now.UnixNano()).UTC().Format(time.RFC3339Nano)
}

// gatewayRego evaluates the generated rules of policies for one request. The host that the
// request names stands for the owner of the policies on its path.
type gatewayRego struct {
	engine *Engine
	ctx    context.Context
	now    time.Time
	host   string
}

// Input implements gateway.Rego.
func (g *gatewayRego) Input(attributes map[string]any) (any, error) {
	value, err := ast.InterfaceToValue(attributes)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	return value, nil
}

// Value implements gateway.Rego.
func (g *gatewayRego) Value(d gateway.Document, rule string, patterns map[string]any, input any) (any, bool, error) {
	names, err := ast.InterfaceToValue(patterns)
	if err != nil {
		return nil, false, err
	}
	attributes := input.(ast.Object)
	attributes.Insert(keyEngine, ast.ObjectTerm([2]*ast.Term{keyRule, ast.StringTerm(rule)}, [2]*ast.Term{keyPatterns, ast.NewTerm(names)}))
	queries, err := g.engine.queries.wait(g.ctx)
	if err != nil {
		return nil, false, err
	}
	value, err := g.engine.run(g.ctx, g.host, queries.gatewayRules[d], attributes, g.now)
	if err != nil {
		return nil, false, err
	}
	found, isArray := value.(*ast.Array)
	if !isArray || found.Len() > 1 {
		return nil, false, errors.New("a rule of a policy has several values")
	}
	if found.Len() == 0 {
		return nil, false, nil
	}
	plain, err := ast.JSON(found.Elem(0).Value)
	return plain, true, err
}

// IsAllowed implements gateway.Rego.
func (g *gatewayRego) IsAllowed(review any) (bool, error) {
	text, err := json.Marshal(review)
	if err != nil {
		return false, err
	}
	return g.engine.allows(g.ctx, text, g.now)
}

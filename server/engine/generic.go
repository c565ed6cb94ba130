package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"

	"github.com/writ-policy/writ/bundles"
	library "github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/tables"
)

// genericFamilies returns the tables of the families whose points have no Go code.
func genericFamilies() []tables.Table {
	return slices.DeleteFunc(translator.Tables(), func(family tables.Table) bool {
		point, found := decision.FindPoint(tables.Point(family))
		return !found || !point.IsGeneric
	})
}

// ruleOf returns the rule that answers at the point of a family.
func ruleOf(family tables.Table) string {
	return "data." + strings.ReplaceAll(family.Entrypoint(), "/", ".")
}

// prepareGeneric prepares a query for each generic point, with the table of its family as
// the data. The tables are small, and compiled rules are shared with the other queries.
func (q *queries) prepareGeneric(ctx context.Context, b *bundles.Bundle) (map[string]rego.PreparedEvalQuery, error) {
	prepared := make(map[string]rego.PreparedEvalQuery)
	for _, family := range genericFamilies() {
		ready, err := q.ready()
		if err != nil {
			return nil, err
		}
		data := make(map[string]any)
		for _, table := range b.Tables {
			if table.Key() != family.Key() {
				continue
			}
			text, err := table.JSON()
			if err != nil {
				return nil, err
			}
			var value any
			if err := json.Unmarshal(text.Bytes(), &value); err != nil {
				return nil, err
			}
			data[table.Key()] = value
		}
		var query rego.PreparedEvalQuery
		library.Compile(func() {
			query, err = prepareQuery(ctx, ready.compiler, ruleOf(family), inmem.NewFromObject(map[string]any{"compiled": data}))
		})
		if err != nil {
			return nil, err
		}
		prepared[tables.Point(family)] = query
	}
	return prepared, nil
}

// Generic decides a request at a point without Go code: its rule does.
func (e *Engine) Generic(ctx context.Context, r *decision.GenericRequest) (decision.GenericDecision, *decision.InvalidRequest) {
	d, err := e.generic(ctx, r)
	var refused *decision.InvalidRequest
	switch {
	case errors.As(err, &refused):
		d = decision.GenericDecision{}
	case err != nil:
		d = d.Failed(err.Error())
	}
	d.Revision = e.loaded.Revision
	return d, refused
}

// generic returns the decision. It returns an *InvalidRequest if the decision has the key
// error, and another error if the evaluation fails.
func (e *Engine) generic(ctx context.Context, r *decision.GenericRequest) (decision.GenericDecision, error) {
	query, found := e.points[r.Point]
	if !found {
		return decision.GenericDecision{}, fmt.Errorf("no family answers at the point %s", r.Point)
	}
	in, err := ast.InterfaceToValue(r.Attributes)
	if err != nil {
		return decision.GenericDecision{}, fmt.Errorf("read the request: %w", err)
	}
	now := e.now()
	// The cache of an evaluation has an entry for each built-in whose result may differ
	// the next time.
	nondeterministic := make(builtins.NDBCache)
	value, err := overdue.Run(ctx, e.overdue, r.Point, e.timeout, func(cancel topdown.Cancel) (ast.Value, error) {
		return e.evaluateOPA(ctx, &query, in, now, cancel, rego.EvalNDBuiltinCache(nondeterministic))
	})
	if err != nil {
		return decision.GenericDecision{}, err
	}
	d, err := readGeneric(value)
	d.IsOwn = len(nondeterministic) > 0
	return d, err
}

// readGeneric reads the decision. It returns an *InvalidRequest if the decision has the
// key error, and another error unless the decision is an object with the booleans allowed
// and denied.
func readGeneric(value ast.Value) (decision.GenericDecision, error) {
	var read struct {
		Error           *struct{ Code, Message string }
		Allowed, Denied *bool
	}
	if err := readTerm(value, &read); err != nil {
		return decision.GenericDecision{}, fmt.Errorf("read the decision: %w", err)
	}
	switch {
	case read.Error != nil:
		return decision.GenericDecision{}, &decision.InvalidRequest{Code: read.Error.Code, Message: read.Error.Message}
	case read.Allowed == nil || read.Denied == nil:
		return decision.GenericDecision{}, errors.New("the decision must have the booleans allowed and denied")
	}
	var text json.RawMessage
	err := readTerm(value, &text)
	return decision.GenericDecision{Allowed: *read.Allowed, Denied: *read.Denied, JSON: text}, err
}

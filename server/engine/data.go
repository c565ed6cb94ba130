package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/server/types"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/lineage"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/bounds"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// bundleData is the data of a bundle as a stock OPA has it. It is made when it is first
// needed, because it takes several times the memory of the tables.
type bundleData struct {
	tables    tables.List
	features  tables.Features
	footprint *footprint.Footprint

	once  sync.Once
	store storage.Store
	err   error
}

func dataOf(b *bundles.Bundle) *bundleData {
	return &bundleData{tables: b.Tables, features: b.Features, footprint: b.Footprint}
}

func (d *bundleData) open() (storage.Store, error) {
	d.once.Do(func() {
		var text []byte
		if text, d.err = translator.CompiledData(d.tables, d.features); d.err != nil {
			return
		}
		var compiled map[string]any
		if d.err = util.UnmarshalJSON(text, &compiled); d.err != nil {
			return
		}
		if d.footprint != nil {
			var value any = d.footprint
			if d.err = util.RoundTrip(&value); d.err != nil {
				return
			}
			compiled[footprint.Key] = value
		}
		d.store = inmem.NewFromObjectWithOpts(map[string]any{"compiled": compiled}, inmem.OptRoundTripOnWrite(false))
	})
	return d.store, d.err
}

// Data evaluates a path of the bundle by OPA alone, with the rules of a stock OPA.
func (e *Engine) Data(ctx context.Context, q decision.DataQuery) (decision.DataAnswer, error) {
	now := e.now()
	return overdue.Run(ctx, e.overdue, "", e.timeout, func(cancel topdown.Cancel) (decision.DataAnswer, error) {
		return e.evaluateData(ctx, q, cancel, rego.EvalTime(now), rego.EvalInterQueryBuiltinValueCache(e.patterns))
	})
}

func (e *Engine) evaluateData(ctx context.Context, q decision.DataQuery, cancel topdown.Cancel, options ...rego.EvalOption) (decision.DataAnswer, error) {
	store, err := e.data.open()
	if err != nil {
		return decision.DataAnswer{}, err
	}
	compiler, err := e.queries.all()
	if err != nil {
		return decision.DataAnswer{}, err
	}
	ref := dataRef(q.Path)
	measured := metrics.New()
	query, err := rego.New(
		rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(ref)))),
		rego.Compiler(compiler), rego.Store(store), rego.Metrics(measured),
		rego.GenerateJSON(keepValue),
	).PrepareForEval(ctx)
	if err != nil {
		return decision.DataAnswer{}, err
	}
	options = append(options, rego.EvalMetrics(measured), rego.EvalExternalCancel(cancel))
	if q.Input != "" {
		input, err := ast.ValueFromReader(bytes.NewReader([]byte(q.Input)))
		if err != nil {
			return decision.DataAnswer{}, err
		}
		options = append(options, rego.EvalParsedInput(input))
	}
	var traced *boundedTracer
	if q.Explain != "" {
		traced = &boundedTracer{BufferTracer: topdown.NewBufferTracer(), cancel: cancel}
		options = append(options, rego.EvalQueryTracer(traced))
	}
	result, err := query.Eval(ctx, options...)
	if traced != nil && traced.isFull() {
		return decision.DataAnswer{}, errors.New("the explanation is too large")
	}
	if err != nil {
		return decision.DataAnswer{}, cause(ctx, err)
	}
	answer := decision.DataAnswer{Metrics: measured.All()}
	if len(result) == 0 {
		answer.Undefined = undefined(compiler, ref)
	} else if answer.Result, err = resultJSON(result[0].Expressions[0].Value); err != nil {
		return decision.DataAnswer{}, err
	}
	if traced != nil {
		answer.Explanation, err = traced.explain(q)
	}
	return answer, err
}

// dataRef returns the reference of a path. Numbers are indexes, as OPA's server has them.
func dataRef(path []string) ast.Ref {
	ref := ast.Ref{ast.DefaultRootDocument}
	for _, name := range path {
		if index, err := strconv.ParseInt(name, 10, 64); err == nil && strconv.FormatInt(index, 10) == name {
			ref = append(ref, ast.NumberTerm(json.Number(name)))
			continue
		}
		ref = append(ref, ast.StringTerm(name))
	}
	return ref
}

// undefined describes a reference without a value as OPA's server does.
func undefined(compiler *ast.Compiler, ref ast.Ref) string {
	if len(compiler.GetRulesForVirtualDocument(ref)) > 0 {
		return types.MsgFoundUndefinedError + ": " + ref.String()
	}
	return types.MsgMissingError + ": " + ref.String()
}

func resultJSON(result any) ([]byte, error) {
	value, ok := result.(ast.Value)
	if !ok {
		return nil, fmt.Errorf("OPA returned an unexpected result type %T", result)
	}
	if !bounds.IsWithin(value, maxAnswer) {
		return nil, overdue.ErrMemory
	}
	plain, err := ast.JSON(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// maxEvents bounds the events of an explanation.
const maxEvents = 100_000

// boundedTracer keeps the events of an evaluation, and ends it when there are too many.
type boundedTracer struct {
	*topdown.BufferTracer
	cancel topdown.Cancel
}

func (t *boundedTracer) isFull() bool { return len(*t.BufferTracer) >= maxEvents }

// TraceEvent implements topdown.QueryTracer.
func (t *boundedTracer) TraceEvent(event topdown.Event) {
	if t.isFull() {
		t.cancel.Cancel()
		return
	}
	t.BufferTracer.TraceEvent(event)
}

// explain returns the explanation in the mode of a query.
func (t *boundedTracer) explain(q decision.DataQuery) ([]byte, error) {
	events := *t.BufferTracer
	switch types.ExplainModeV1(q.Explain) {
	case types.ExplainNotesV1:
		events = lineage.Notes(events)
	case types.ExplainFailsV1:
		events = lineage.Fails(events)
	case types.ExplainDebugV1:
		events = lineage.Debug(events)
	case types.ExplainFullV1, types.ExplainOffV1:
		events = lineage.Full(events)
	}
	return types.NewTraceV1(events, q.Pretty)
}

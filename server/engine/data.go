package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

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

// Bounds of the data that OPA reads beyond the entrypoints.
const (
	// keepData is how long the data is kept after the last query.
	keepData = 5 * time.Minute
	// maxData is the size in bytes of the JSON of the largest data that is made; OPA's form
	// of it takes several times that in memory.
	maxData = 64 << 20
)

// bundleData is the data of a bundle as a stock OPA has it. It takes several times the
// memory of the tables, so it is made when it is needed and kept while it is in use.
type bundleData struct {
	tables    tables.List
	features  tables.Features
	footprint *footprint.Footprint
	keep      time.Duration
	max       int

	mu    sync.Mutex // held to make the store and to release it
	store storage.Store
	idle  *time.Timer // releases the store; nil before the first query
}

func dataOf(b *bundles.Bundle) *bundleData {
	return &bundleData{tables: b.Tables, features: b.Features, footprint: b.Footprint, keep: keepData, max: maxData}
}

// open returns the data. A caller may use it for as long as it holds it.
func (d *bundleData) open() (storage.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.store == nil {
		object, err := d.object()
		if err != nil {
			return nil, err
		}
		d.store = inmem.NewFromObjectWithOpts(object, inmem.OptRoundTripOnWrite(false))
	}
	if d.idle == nil {
		d.idle = time.AfterFunc(d.keep, d.release)
	} else {
		d.idle.Reset(d.keep)
	}
	return d.store, nil
}

// whole returns the data in OPA's form of values, whatever its size. It is not kept here.
func (d *bundleData) whole() (storage.Store, error) {
	unbounded := bundleData{tables: d.tables, features: d.features, footprint: d.footprint, max: math.MaxInt}
	object, err := unbounded.object()
	if err != nil {
		return nil, err
	}
	return inmem.NewFromObjectWithOpts(object, inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true)), nil
}

func (d *bundleData) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.store = nil
}

func (d *bundleData) object() (map[string]any, error) {
	text, err := translator.CompiledData(d.tables, d.features)
	if err != nil {
		return nil, err
	}
	if n := text.Len(); n > d.max {
		return nil, fmt.Errorf("the data of the bundle has %d bytes, and more than %d are not read here: ask an OPA with the bundle", n, d.max)
	}
	var compiled map[string]any
	if err := util.UnmarshalJSON(text.Bytes(), &compiled); err != nil {
		return nil, err
	}
	if d.footprint != nil {
		var value any = d.footprint
		if err := util.RoundTrip(&value); err != nil {
			return nil, err
		}
		compiled[footprint.Key] = value
	}
	return map[string]any{"compiled": compiled}, nil
}

// Data evaluates a path of the bundle by OPA alone, with the rules of a stock OPA.
func (e *Engine) Data(ctx context.Context, q decision.DataQuery) (decision.DataAnswer, error) {
	// Once for these rules, all modules are compiled, which is not a part of the evaluation.
	compiler, err := e.queries.all()
	if err != nil {
		return decision.DataAnswer{}, err
	}
	now := e.now()
	return overdue.Run(ctx, e.overdue, "", e.timeout, func(cancel topdown.Cancel) (decision.DataAnswer, error) {
		return e.evaluateData(ctx, compiler, q, cancel, rego.EvalTime(now), rego.EvalInterQueryBuiltinValueCache(e.patterns))
	})
}

func (e *Engine) evaluateData(ctx context.Context, compiler *ast.Compiler, q decision.DataQuery, cancel topdown.Cancel, options ...rego.EvalOption) (decision.DataAnswer, error) {
	store, err := e.data.open()
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
	if !q.Input.IsAbsent() {
		input, err := ast.ValueFromReader(bytes.NewReader(q.Input.Bytes()))
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

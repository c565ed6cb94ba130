package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/elements"
	library "github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/gateway"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/translator/tables"
)

// queries are the OPA queries of an engine. Engines with the same rules share them.
type queries struct {
	*later[*prepared]
	// judgement decides the requests at the gateway point that the tables leave to Rego: few, most
	// of them invalid. It needs all modules of gateways, which take several times the memory of
	// what the other queries need, so it is prepared for the first of these requests.
	judgement *later[*rego.PreparedEvalQuery]
	// isJudging states that an earlier engine was asked such a request: this one prepares for them
	// as for others.
	isJudging bool
	// denyResources are the resources that deny policies name, by the words for the
	// same kind.
	denyResources map[string][]string
	// all has every module, for paths of data that a client asks for.
	all func() (*ast.Compiler, error)
	// whole has, by point, the modules of the entrypoint of a stock OPA.
	whole map[string]func() (*ast.Compiler, error)
}

// prepared are queries after their modules are compiled.
type prepared struct {
	// findings is prepared only if the bundle has deny policies; grants are the findings
	// without them.
	findings, grants, wantsPod rego.PreparedEvalQuery
	gatewayRules               map[gateway.Document]*rego.PreparedEvalQuery
	// compiler has the modules that the queries were prepared from.
	compiler *ast.Compiler
}

// later prepares queries when they are first needed.
type later[T any] struct {
	prepare func() (T, error)
	once    sync.Once
	done    chan struct{}
	result  T
	err     error
}

func prepareLater[T any](prepare func() (T, error)) *later[T] {
	return &later[T]{done: make(chan struct{}), prepare: func() (result T, err error) {
		library.Compile(func() { result, err = prepare() })
		return result, err
	}}
}

// start prepares the queries on another goroutine.
func (l *later[T]) start() {
	l.once.Do(func() {
		go func() {
			defer close(l.done)
			l.result, l.err = l.prepare()
		}()
	})
}

// ready prepares the queries, if that has not begun, and returns them.
func (l *later[T]) ready() (T, error) {
	l.start()
	<-l.done
	return l.result, l.err
}

// isDone reports whether the queries are prepared.
func (l *later[T]) isDone() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// wait returns the queries, or an error at the deadline of the caller. The bound of an evaluation does
// not count here: another compilation of the process may come first.
func (l *later[T]) wait(ctx context.Context) (T, error) {
	if l.isDone() {
		return l.result, l.err
	}
	l.start()
	select {
	case <-l.done:
		return l.result, l.err
	case <-ctx.Done():
		var none T
		return none, decision.CheckContext(ctx)
	}
}

// maxLater is the largest number of modules that are compiled while the revision decides: half
// a second at most, for which requests that need OPA wait. The revision before decides while more
// are compiled.
const maxLater = 500

// prepare compiles the modules, or reuses the queries of last if it has the same modules and
// features. What this version of writ writes compiles, and is compiled later: all modules but
// those altered.
func prepare(ctx context.Context, b *bundles.Bundle, denials *match.Denials, rules string, altered []bundles.Altered, last *Engine) (queries, error) {
	if last != nil && last.rules == rules && maps.Equal(last.features, b.Features) {
		return last.queries, nil
	}
	ctx = context.WithoutCancel(ctx)
	modules, isEmitted := modulesOf(b), isNotAmong(altered)
	q := queries{
		later: prepareLater(func() (*prepared, error) { return prepareAnew(ctx, modules, isEmitted) }),
		judgement: prepareLater(func() (*rego.PreparedEvalQuery, error) {
			compiler, err := bundles.CompileFor(modules, []string{askGateway}, isEmitted)
			if err != nil {
				return nil, err
			}
			query, err := prepareQuery(ctx, compiler, askGateway, inmem.New())
			return &query, err
		}),
		isJudging: last != nil && (last.queries.isJudging || last.queries.judgement.isDone()),
		all:       compileLater(func() (*ast.Compiler, error) { return bundles.Compile(modules) }),
		whole:     make(map[string]func() (*ast.Compiler, error)),
	}
	for point := range compiledPoints {
		q.whole[point] = compileLater(func() (*ast.Compiler, error) {
			return bundles.CompileFor(modules, []string{entrypoint(point)}, isEmitted)
		})
	}
	if len(altered) == 0 && len(modules.Files) <= maxLater {
		q.denyResources = denials.Resources()
		return q, nil
	}
	if err := q.compile(); err != nil {
		return q, err
	}
	var err error
	q.denyResources, err = denyResources(ctx, q.result.compiler)
	return q, err
}

// isNotAmong returns what reports whether the module of a path is not altered.
func isNotAmong(altered []bundles.Altered) func(path string) bool {
	paths := make(map[string]bool, len(altered))
	for _, module := range altered {
		paths[module.Path] = true
	}
	return func(path string) bool { return !paths[path] }
}

// compile prepares what requests may need at once.
func (q *queries) compile() error {
	_, err := q.ready()
	if err == nil && q.isJudging {
		_, err = q.judgement.ready()
	}
	return err
}

// compileLater returns a function that compiles once.
func compileLater(compile func() (*ast.Compiler, error)) func() (*ast.Compiler, error) {
	return sync.OnceValues(func() (compiler *ast.Compiler, err error) {
		library.Compile(func() { compiler, err = compile() })
		return compiler, err
	})
}

// modulesOf returns a bundle of the modules that decide alone: what is compiled later must not keep
// tables and data.
func modulesOf(b *bundles.Bundle) *bundles.Bundle {
	modules := &bundles.Bundle{Files: make(map[string][]byte), Features: b.Features}
	for path, text := range b.Files {
		if strings.HasSuffix(path, ".rego") && !bundles.IsTest(path) {
			modules.Files[path] = text
		}
	}
	return modules
}

// Compile compiles what is compiled later, if that has not begun. The error is also that of each
// request which needs OPA.
func (e *Engine) Compile() error { return e.queries.compile() }

func prepareAnew(ctx context.Context, b *bundles.Bundle, isEmitted func(path string) bool) (*prepared, error) {
	prepared, features := new(prepared), b.Features
	var err error
	asked := map[string]*rego.PreparedEvalQuery{askGrants: &prepared.grants, askPod: &prepared.wantsPod}
	if features.Has(tables.FeatureGateway) {
		prepared.gatewayRules = make(map[gateway.Document]*rego.PreparedEvalQuery)
		for _, document := range [...]gateway.Document{gateway.Applies, gateway.Judged, gateway.Review, gateway.Denial, gateway.Item} {
			prepared.gatewayRules[document] = new(rego.PreparedEvalQuery)
			asked[askGatewayRule(document)] = prepared.gatewayRules[document]
		}
	}
	if features.Has(tables.FeatureDenyPolicies) {
		asked[askAll] = &prepared.findings
	}
	names := append(slices.Collect(maps.Keys(asked)), askDenyResources)
	names = append(names, elements.Map(genericFamilies(), ruleOf)...)
	if prepared.compiler, err = bundles.CompileFor(b, names, isEmitted); err != nil {
		return nil, err
	}
	for name, query := range asked {
		if *query, err = prepareQuery(ctx, prepared.compiler, name, inmem.New()); err != nil {
			return nil, err
		}
	}
	return prepared, nil
}

// prepareQuery prepares a query. For access and gateway the store is empty: OPA gets roles
// and bindings as hits in the input, so that a prepared query remains valid when they change.
func prepareQuery(ctx context.Context, compiler *ast.Compiler, name string, store storage.Store) (rego.PreparedEvalQuery, error) {
	query, err := rego.New(
		rego.Query(name),
		rego.Compiler(compiler),
		rego.Store(store),
		// As in a stock OPA, a failing built-in is undefined. The library is written so
		// that no built-in it calls can fail.
		rego.StrictBuiltinErrors(!strings.Contains(name, "gateway")),
		rego.GenerateJSON(keepValue),
	).PrepareForEval(ctx)
	if err != nil {
		return query, fmt.Errorf("prepare %s: %w", name, err)
	}
	return query, nil
}

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
	*later
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
	findings, grants, wantsPod, gateway rego.PreparedEvalQuery
	gatewayRules                        map[gateway.Document]*rego.PreparedEvalQuery
	// compiler has the modules that the queries were prepared from.
	compiler *ast.Compiler
}

// later prepares queries when they are first needed.
type later struct {
	prepare func() (*prepared, error)
	once    sync.Once
	done    chan struct{}
	queries *prepared
	err     error
}

// start prepares the queries on another goroutine.
func (l *later) start() {
	l.once.Do(func() {
		go func() {
			defer close(l.done)
			l.queries, l.err = l.prepare()
		}()
	})
}

// ready prepares the queries, if that has not begun, and returns them.
func (l *later) ready() (*prepared, error) {
	l.start()
	<-l.done
	return l.queries, l.err
}

// wait returns the queries, or an error at the deadline of the caller. The bound of an evaluation does
// not count here: another compilation of the process may come first.
func (l *later) wait(ctx context.Context) (*prepared, error) {
	select {
	case <-l.done:
		return l.queries, l.err
	default:
	}
	l.start()
	select {
	case <-l.done:
		return l.queries, l.err
	case <-ctx.Done():
		return nil, decision.CheckContext(ctx)
	}
}

// maxLater is the largest number of modules that are compiled while the revision decides: half
// a second at most, for which requests that need OPA wait. The revision before decides while more
// are compiled.
const maxLater = 500

// prepare compiles the modules, or reuses the queries of last if it has the same modules and
// features. What this version of writ writes compiles, and is compiled later.
func prepare(ctx context.Context, b *bundles.Bundle, denials *match.Denials, rules string, isOwn bool, last *Engine) (queries, error) {
	if last != nil && last.rules == rules && maps.Equal(last.features, b.Features) {
		return last.queries, nil
	}
	modules := modulesOf(b)
	q := queries{
		later: &later{done: make(chan struct{}), prepare: func() (ready *prepared, err error) {
			library.Compile(func() { ready, err = prepareAnew(context.WithoutCancel(ctx), modules) })
			return ready, err
		}},
		all:   compileLater(func() (*ast.Compiler, error) { return bundles.Compile(modules) }),
		whole: make(map[string]func() (*ast.Compiler, error)),
	}
	for point := range compiledPoints {
		q.whole[point] = compileLater(func() (*ast.Compiler, error) { return bundles.CompileFor(modules, []string{entrypoint(point)}) })
	}
	if isOwn && len(modules.Files) <= maxLater {
		q.denyResources = denials.Resources()
		return q, nil
	}
	ready, err := q.ready()
	if err == nil {
		q.denyResources, err = denyResources(ctx, ready.compiler)
	}
	return q, err
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
func (e *Engine) Compile() error {
	_, err := e.queries.ready()
	return err
}

func prepareAnew(ctx context.Context, b *bundles.Bundle) (*prepared, error) {
	prepared, features := new(prepared), b.Features
	var err error
	asked := map[string]*rego.PreparedEvalQuery{askGrants: &prepared.grants, askPod: &prepared.wantsPod, askGateway: &prepared.gateway}
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
	names := slices.Collect(maps.Keys(asked))
	names = append(names, elements.Map(genericFamilies(), ruleOf)...)
	if prepared.compiler, err = bundles.CompileFor(b, names); err != nil {
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

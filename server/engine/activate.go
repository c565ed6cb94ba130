package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown/cache"

	"github.com/writ-policy/writ/bundles"
	library "github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/server/memory"
	"github.com/writ-policy/writ/translator/tables"
)

const (
	askAll    = "data.writ.access.findings"
	askGrants = "data.writ.access.grants"
	askPod    = "data.writ.access.deny.wants_pod"

	askAuthorization = "data.writ.visibility.authorization"
)

// Activate compiles a bundle's modules and indexes its tables. It returns an error if
// OPA rejects the modules or the bundle has no tables. A failed activation leaves
// nothing behind.
func Activate(ctx context.Context, b *bundles.Bundle, o Options) (*Engine, error) {
	access, visibility := tables.Of[*tables.Access](b.Tables), tables.Of[*tables.Visibility](b.Tables)
	gateway := tables.Of[*tables.Gateway](b.Tables)
	if access == nil {
		return nil, errors.New("the bundle has no access tables")
	}
	rules, features := b.RegoHash(), b.Features
	queries, err := prepare(ctx, b, rules, features, o.Last)
	if err != nil {
		return nil, err
	}
	var before *match.Tree
	if o.Last != nil {
		before = o.Last.tree
	}
	index, err := indexVisibility(visibility)
	if err != nil {
		return nil, fmt.Errorf("index the tables of visibility: %w", err)
	}
	e := &Engine{
		revision:     b.Manifest.Revision,
		sequence:     b.Manifest.Metadata.Sequence,
		rules:        rules,
		access:       access,
		features:     features,
		gateways:     gateway,
		headers:      headersOf(gateway),
		queries:      queries,
		patterns:     patterns(ctx),
		tree:         match.Build(access, before),
		visibility:   index,
		now:          o.Now,
		timeout:      o.Timeout,
		requireRoute: o.RequireRoute,
		overdue:      o.Overdue,
		maxColumns:   cmp.Or(o.MaxColumns, defaultMaxColumns),
		columns:      cmp.Or(o.Columns, new(memory.Budget)),
		refused:      o.Refused,
	}
	e.fingerprints = sync.OnceValue(func() *decision.Fingerprints { return index.fingerprints(e.revision) })
	if e.now == nil {
		e.now = time.Now
	}
	if e.timeout == 0 {
		e.timeout = defaultTimeout
	}
	switch {
	case e.overdue != nil:
	case o.Last != nil:
		e.overdue = o.Last.overdue
	default:
		e.overdue = overdue.New(nil)
	}
	return e, nil
}

// maxPatterns is how many compiled regular expressions are cached: more than
// documents have patterns that need one. OPA's default is a hundred, and with more
// patterns than that evaluation takes several times as long.
const maxPatterns = 10000

func patterns(ctx context.Context) cache.InterQueryValueCache {
	size := maxPatterns
	return cache.NewInterQueryValueCache(ctx, &cache.Config{
		InterQueryBuiltinValueCache: cache.InterQueryBuiltinValueCacheConfig{MaxNumEntries: &size},
	})
}

// prepare compiles the modules, or reuses the queries of last if it has the same
// modules and features.
func prepare(ctx context.Context, b *bundles.Bundle, rules string, features tables.Features, last *Engine) (queries, error) {
	var prepared queries
	if last != nil && last.rules == rules && maps.Equal(last.features, features) {
		prepared = last.queries
		if reflect.DeepEqual(prepared.visibility, tables.Of[*tables.Visibility](b.Tables)) {
			return prepared, nil
		}
		err := prepared.prepareAuthorization(ctx, b, features)
		return prepared, err
	}
	var err error
	library.Compile(func() { prepared, err = prepareAnew(ctx, b, features) })
	return prepared, err
}

func prepareAnew(ctx context.Context, b *bundles.Bundle, features tables.Features) (queries, error) {
	var prepared queries
	var err error
	if prepared.compiler, err = bundles.Compile(b); err != nil {
		return queries{}, err
	}
	findings := askGrants
	if features.Has(tables.FeatureDenyPolicies) {
		findings = askAll
	}
	asked := map[string]*rego.PreparedEvalQuery{findings: &prepared.findings, askPod: &prepared.wantsPod, askGateway: &prepared.gateway}
	// The store is empty: OPA gets roles and bindings as hits in the input, so that a
	// prepared query remains valid when they change.
	for name, query := range asked {
		if *query, err = prepared.prepareQuery(ctx, name, ast.NewObject()); err != nil {
			return queries{}, err
		}
	}
	if prepared.denyResources, err = denyResources(ctx, prepared.compiler); err != nil {
		return queries{}, err
	}
	return prepared, prepared.prepareAuthorization(ctx, b, features)
}

// prepareAuthorization prepares the query of the visibility point with the bundle's
// tables as data. Copies of q are not affected.
func (q *queries) prepareAuthorization(ctx context.Context, b *bundles.Bundle, features tables.Features) (err error) {
	visibility := tables.Of[*tables.Visibility](b.Tables)
	if q.visibility = visibility; !features.Has(tables.FeatureVisibility) {
		return nil
	}
	if visibility == nil {
		visibility = &tables.Visibility{}
	}
	value, err := ast.InterfaceToValue(visibility)
	if err != nil {
		return fmt.Errorf("read the tables of visibility: %w", err)
	}
	q.authorization, err = q.prepareQuery(ctx, askAuthorization, ast.NewObject(ast.Item(ast.StringTerm("compiled"),
		ast.ObjectTerm(ast.Item(ast.StringTerm("visibility_tables"), ast.NewTerm(value))))))
	return err
}

func (q *queries) prepareQuery(ctx context.Context, name string, data ast.Object) (rego.PreparedEvalQuery, error) {
	query, err := rego.New(
		rego.Query(name),
		rego.Compiler(q.compiler),
		rego.Store(inmem.NewFromASTObject(data)),
		// As in a stock OPA, a failing built-in is undefined. The library is written so
		// that no built-in it calls can fail.
		rego.StrictBuiltinErrors(name != askGateway),
		rego.GenerateJSON(keepValue),
	).PrepareForEval(ctx)
	if err != nil {
		return query, fmt.Errorf("prepare %s: %w", name, err)
	}
	return query, nil
}

// keepValue returns results as OPA's values: converting them to Go maps would take
// most of the time of a short decision.
func keepValue(term *ast.Term, _ *rego.EvalContext) (any, error) { return term.Value, nil }

package engine

import (
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
	"github.com/writ-policy/writ/translator/tables"
)

const (
	askAll    = "data.writ.access.findings"
	askGrants = "data.writ.access.grants"
	askPod    = "data.writ.access.deny.wants_pod"

	askAuthorization = "data.writ.visibility.authorization"
)

// Activate compiles a bundle's modules and expands its tables. It returns an error if
// OPA refuses the modules or the bundle has no tables; nothing of a failed
// activation remains.
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
	views, err := expandViews(visibility)
	if err != nil {
		return nil, fmt.Errorf("expand the tables of visibility: %w", err)
	}
	e := &Engine{
		revision: b.Manifest.Revision,
		sequence: b.Manifest.Metadata.Sequence,
		rules:    rules,
		access:   access,
		features: features,
		gateways: gateway,
		headers:  headersOf(gateway),
		queries:  queries,
		patterns: patterns(ctx),
		tree:     match.Build(access, before),
		views:    views,
		now:      o.Now,
		timeout:  o.Timeout,
		overdue:  o.Overdue,
	}
	e.fingerprints = sync.OnceValue(func() *decision.Fingerprints { return views.fingerprints(e.revision) })
	if e.now == nil {
		e.now = time.Now
	}
	if e.timeout == 0 {
		e.timeout = DefaultTimeout
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

// maxPatterns is how many compiled expressions are kept: more than documents have
// globs that need one. OPA keeps a hundred by itself and drops any of them, which
// makes more globs than that several times as slow.
const maxPatterns = 10000

func patterns(ctx context.Context) cache.InterQueryValueCache {
	size := maxPatterns
	return cache.NewInterQueryValueCache(ctx, &cache.Config{
		InterQueryBuiltinValueCache: cache.InterQueryBuiltinValueCacheConfig{MaxNumEntries: &size},
	})
}

// prepare compiles the modules, unless the last engine's are the same and so is what
// it evaluates of them.
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
	// The store is empty: roles and bindings reach OPA as hits, so a query serves any
	// of them.
	for name, query := range asked {
		if *query, err = prepared.prepareQuery(ctx, name, ast.NewObject()); err != nil {
			return queries{}, err
		}
	}
	return prepared, prepared.prepareAuthorization(ctx, b, features)
}

// prepareAuthorization prepares the query of the visibility point over the bundle's
// tables. A copy of q keeps its own.
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
		// Rego of policies means what it means to a stock OPA, where a built-in that
		// fails is undefined. What decides by itself is written not to meet one.
		rego.StrictBuiltinErrors(name != askGateway),
		rego.GenerateJSON(keepValue),
	).PrepareForEval(ctx)
	if err != nil {
		return query, fmt.Errorf("prepare %s: %w", name, err)
	}
	return query, nil
}

// keepValue leaves a result as OPA's value: turning it into Go's maps first
// would be most of the work of a short decision.
func keepValue(term *ast.Term, _ *rego.EvalContext) (any, error) { return term.Value, nil }

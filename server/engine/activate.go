package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown/cache"

	"github.com/writ-policy/writ/bundles"
	library "github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/engine/gateway"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/server/engine/visibility"
	"github.com/writ-policy/writ/translator/tables"
)

const (
	askAll    = "data.writ.access.findings"
	askGrants = "data.writ.access.grants"
	askPod    = "data.writ.access.deny.wants_pod"
)

// Activate compiles a bundle's modules and indexes its tables. It returns an error if
// OPA rejects the modules or the bundle has no tables. A failed activation leaves
// nothing behind.
func Activate(ctx context.Context, b *bundles.Bundle, o Options) (*Engine, error) {
	access, gateways := tables.Of[*tables.Access](b.Tables), tables.Of[*tables.Gateway](b.Tables)
	if access == nil {
		return nil, errors.New("the bundle has no access tables")
	}
	rules, features := b.RegoHash(), b.Features
	queries, err := prepare(ctx, b, rules, features, o.Last)
	if err != nil {
		return nil, err
	}
	var before *match.Tree
	var sessions *match.Sessions
	if o.Last != nil {
		before, sessions = o.Last.tree, o.Last.sessions
	}
	e := &Engine{
		revision:     b.Manifest.Revision,
		sequence:     b.Manifest.Metadata.Sequence,
		rules:        rules,
		access:       access,
		stated:       statedBy(b),
		features:     features,
		gateways:     gateways,
		routes:       gateway.New(gateways),
		headers:      headersOf(gateways),
		queries:      queries,
		patterns:     patterns(ctx),
		data:         dataOf(b),
		tree:         match.Build(access, before),
		sessions:     match.IndexSessions(tables.Of[*tables.Sessions](b.Tables), sessions),
		denials:      match.NewDenials(b.Tables),
		tenants:      tables.TenantsOf(b.Tables),
		now:          o.Now,
		timeout:      cmp.Or(o.Timeout, defaultTimeout),
		requireRoute: o.RequireRoute,
		overdue:      overdueOf(o),
	}
	why, err := whyOPA(b, o)
	if err != nil {
		return nil, err
	}
	if err := e.prepareByOPA(ctx, why); err != nil {
		return nil, err
	}
	e.projected, e.earlier = project(b, e, o.Last)
	if e.now == nil {
		e.now = time.Now
	}
	library.Compile(func() { e.points, err = queries.prepareGeneric(ctx, b) })
	if err != nil {
		return nil, err
	}
	if err := e.addVisibility(tables.Of[*tables.Visibility](b.Tables), o); err != nil {
		return nil, err
	}
	return e, nil
}

// overdueOf returns what counts evaluations beyond their time: that of the options, else of
// the engine before.
func overdueOf(o Options) *overdue.Runner {
	switch {
	case o.Overdue != nil:
		return o.Overdue
	case o.Last != nil:
		return o.Last.overdue
	}
	return overdue.New(nil)
}

// addVisibility sets what answers at the visibility point.
func (e *Engine) addVisibility(t *tables.Visibility, o Options) (err error) {
	var last *visibility.Policies
	if o.Last != nil {
		last = o.Last.Policies
	}
	e.Policies, err = visibility.New(e.revision, t, visibility.Options{
		Cluster: e.access.Cluster, Now: e.now, Timeout: e.timeout, Overdue: e.overdue,
		MaxColumns: o.MaxColumns, Columns: o.Columns, Refused: o.Refused,
	}, last)
	return err
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
	if last != nil && last.rules == rules && maps.Equal(last.features, features) {
		return last.queries, nil
	}
	var prepared queries
	var err error
	library.Compile(func() { prepared, err = prepareAnew(ctx, b, features) })
	return prepared, err
}

func prepareAnew(ctx context.Context, b *bundles.Bundle, features tables.Features) (queries, error) {
	var prepared queries
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
	for _, family := range genericFamilies() {
		names = append(names, ruleOf(family))
	}
	if prepared.compiler, err = bundles.CompileFor(b, names); err != nil {
		return queries{}, err
	}
	prepared.all = compileLater(b)
	for name, query := range asked {
		if *query, err = prepared.prepareQuery(ctx, name, inmem.New()); err != nil {
			return queries{}, err
		}
	}
	prepared.denyResources, err = denyResources(ctx, prepared.compiler)
	return prepared, err
}

// compileLater returns what compiles all modules of a bundle, once. It keeps their text.
func compileLater(b *bundles.Bundle) func() (*ast.Compiler, error) {
	modules := make(map[string][]byte)
	for path, text := range b.Files {
		if strings.HasSuffix(path, ".rego") && !bundles.IsTest(path) {
			modules[path] = text
		}
	}
	return sync.OnceValues(func() (compiler *ast.Compiler, err error) {
		library.Compile(func() { compiler, err = bundles.Compile(&bundles.Bundle{Files: modules}) })
		return compiler, err
	})
}

// prepareQuery prepares a query. For access and gateway the store is empty: OPA gets roles
// and bindings as hits in the input, so that a prepared query remains valid when they change.
func (q *queries) prepareQuery(ctx context.Context, name string, store storage.Store) (rego.PreparedEvalQuery, error) {
	query, err := rego.New(
		rego.Query(name),
		rego.Compiler(q.compiler),
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

// keepValue returns results as OPA's values: converting them to Go maps would take
// most of the time of a short decision.
func keepValue(term *ast.Term, _ *rego.EvalContext) (any, error) { return term.Value, nil }

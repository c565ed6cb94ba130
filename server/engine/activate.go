package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown/cache"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
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
// nothing behind. Modules that this version of writ writes for the tables are compiled when a
// request first needs them, or by [Engine.Compile].
func Activate(ctx context.Context, b *bundles.Bundle, o Options) (*Engine, error) {
	access, gateways := tables.Of[*tables.Access](b.Tables), tables.Of[*tables.Gateway](b.Tables)
	if access == nil {
		return nil, errors.New("the bundle has no access tables")
	}
	rules, features := b.RegoHash(), b.Features
	altered, err := b.Altered()
	if err != nil {
		return nil, err
	}
	denials := match.NewDenials(b.Tables)
	queries, err := prepare(ctx, b, denials, rules, altered, o.Last)
	if err != nil {
		return nil, err
	}
	var before *match.Tree
	var sessions *match.Sessions
	if o.Last != nil {
		before, sessions = o.Last.tree, o.Last.sessions
	}
	e := &Engine{
		loaded:       &decision.Loaded{Revision: b.Manifest.Revision, Sequence: b.Manifest.Metadata.Sequence, ByOPA: whyOPA(altered, o)},
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
		denials:      denials,
		tenants:      tables.TenantsOf(b.Tables),
		now:          o.Now,
		timeout:      cmp.Or(o.Timeout, defaultTimeout),
		requireRoute: o.RequireRoute,
		overdue:      overdueOf(o),
	}
	if err := e.prepareByOPA(ctx); err != nil {
		return nil, err
	}
	e.projected, e.earlier = project(b, e, o.Last)
	if e.now == nil {
		e.now = time.Now
	}
	if e.points, err = queries.prepareGeneric(ctx, b); err != nil {
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
	e.Policies, err = visibility.New(e.loaded.Revision, t, visibility.Options{
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

// keepValue returns results as OPA's values: converting them to Go maps would take
// most of the time of a short decision.
func keepValue(term *ast.Term, _ *rego.EvalContext) (any, error) { return term.Value, nil }

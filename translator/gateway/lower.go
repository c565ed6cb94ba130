package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// lower lowers gateways, routes and the policies attached to them: each path's
// policies are folded, each distinct set of them once.
func lower(r *resolution) (*tables.Gateway, diag.List) {
	g := &lowerer{
		partial:  r.Partial,
		out:      &tables.Gateway{Gateways: []tables.GatewayObject{}, Routes: []tables.GatewayRoute{}, Paths: []tables.GatewayPath{}},
		gateways: slices.Clone(r.Gateways),
		routes:   slices.Clone(r.Routes),
		index:    make(map[*document.Gateway]int, len(r.Gateways)),
		attached: make(map[place]*stack),
		folds:    make(map[foldKey]int),
	}
	slices.SortFunc(g.gateways, func(a, b *document.Gateway) int { return compareNames(&a.Header, &b.Header) })
	slices.SortFunc(g.routes, func(a, b resolvedRoute) int {
		x, y := &a.Document.Header, &b.Document.Header
		return cmp.Or(compareNames(x, y), strings.Compare(x.Kind, y.Kind)) // those of two kinds may have one name
	})
	for i := range g.routes {
		g.hosts = append(g.hosts, hostnamesOf(g.routes[i].Document.Hostnames))
	}
	g.attach(r.InheritedPolicies)
	g.objects()
	g.paths()
	g.out.Effective = make([]tables.EffectivePolicy, len(g.folded))
	for i, f := range g.folded {
		g.out.Effective[i] = f.effective
	}
	g.steps()
	g.checks()
	g.out.Policies = g.policyTables()
	return g.out, g.list
}

// lowerer is the state of lowering this family.
type lowerer struct {
	list    diag.List
	partial bool
	out     *tables.Gateway

	gateways []*document.Gateway // by namespace/name, as in out
	routes   []resolvedRoute     // by namespace/name, as in out
	hosts    []hostnames         // of routes
	index    map[*document.Gateway]int

	policies []*inherited // by kind, namespace and name
	attached map[place]*stack
	folds    map[foldKey]int // index of a fold
	folded   []*fold         // in the order they are first referred to
	size     int             // rules in force and lost of all folds
	tooMany  bool            // paths, which is reported
}

// compareNames compares NAMESPACE/NAME as one text, as the Gateway API does.
func compareNames(a, b *syntax.Header) int {
	return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
}

// objects enters gateways and routes.
func (g *lowerer) objects() {
	for i, d := range g.gateways {
		g.index[d] = i
		object := tables.GatewayObject{
			Namespace: d.Namespace, Name: d.Name, Source: d.At.Source(),
			Listeners: make([]tables.GatewayListener, len(d.Listeners)),
			Effective: g.effective(place{gateway: d, section: whole}),
		}
		for j := range d.Listeners {
			listener := &d.Listeners[j]
			object.Listeners[j] = tables.GatewayListener{
				Name: listener.Name.Value, Source: listener.At.Source(),
				Hostname: listener.Hostname, Port: listener.Port, Protocol: listener.Protocol,
				Effective: g.effective(place{gateway: d, section: whole}, place{gateway: d, section: j}),
			}
		}
		g.out.Gateways = append(g.out.Gateways, object)
	}
	ranks := creationRanks(g.routes)
	for i := range g.routes {
		d := g.routes[i].Document
		route := tables.GatewayRoute{
			Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Hostnames: d.Hostnames,
			Rules: make([]tables.GatewayRouteRule, len(d.Rules)), Created: ranks[i], Cluster: d.Object,
		}
		for j := range d.Rules {
			route.Rules[j] = tables.GatewayRouteRule{Name: d.Rules[j].Name, Source: d.Rules[j].At.Source(), Matches: matchTables(d.Rules[j].Matches)}
		}
		g.out.Routes = append(g.out.Routes, route)
	}
}

func matchTables(matches []document.RouteMatch) []tables.GatewayMatch {
	out := make([]tables.GatewayMatch, len(matches))
	for i, m := range matches {
		out[i] = tables.GatewayMatch{
			PathType: m.PathType, Path: m.Path, Method: m.Method,
			Headers: valueMatchTables(m.Headers), Query: valueMatchTables(m.Query),
		}
		if m.GRPC != nil {
			method := tables.GatewayGRPCMethod(*m.GRPC)
			out[i].GRPC = &method
		}
	}
	return out
}

func valueMatchTables(matches []document.ValueMatch) []tables.GatewayValueMatch {
	return elements.Map(matches, func(m document.ValueMatch) tables.GatewayValueMatch { return tables.GatewayValueMatch(m) })
}

// creationRanks is each route's place by age, equal instants at one.
func creationRanks(routes []resolvedRoute) []int {
	order := make([]int, len(routes))
	for i := range order {
		order[i] = i
	}
	created := func(i int) *time.Time { return routes[i].Document.Created }
	slices.SortStableFunc(order, func(a, b int) int { return compareAges(created(a), created(b)) })
	ranks := make([]int, len(routes))
	for n, i := range order {
		switch {
		case n == 0:
		case compareAges(created(order[n-1]), created(i)) == 0:
			ranks[i] = ranks[order[n-1]]
		default:
			ranks[i] = n
		}
	}
	return ranks
}

// compareAges puts what is older first, and last what is not created yet.
func compareAges(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

// These bound what a few documents can ask for: paths are routes times rules times listeners, every
// set of policies has its rules once more, and a listener has the matches of a route for each
// hostname that they have in common.
const (
	maxPaths     = 1_000_000
	maxEffective = 2_000_000
	maxMatches   = 2_000_000
)

// paths enters every way traffic can take, in order.
func (g *lowerer) paths() {
	type address struct{ gateway, listener int }
	on := make(map[address][]int)
	for i := range g.routes {
		for _, a := range g.routes[i].Listeners {
			at := address{g.index[a.Gateway], a.Listener}
			on[at] = append(on[at], i)
		}
	}
	matches := 0 // of all listeners and hostnames
	for i, d := range g.gateways {
		for j := range d.Listeners {
			for _, route := range on[address{i, j}] {
				matches += g.matchesOf(route) * len(g.hosts[route].common(d.Listeners[j].Hostname))
				if len(g.out.Paths) > maxPaths || g.size > maxEffective || matches > maxMatches {
					g.tooManyPaths(d)
					return
				}
				for rule := range g.routes[route].Document.Rules {
					g.path(tables.GatewayPath{Gateway: i, Listener: j, Route: route, Rule: rule})
				}
			}
		}
	}
}

func (g *lowerer) matchesOf(route int) (count int) {
	rules := g.routes[route].Document.Rules
	for i := range rules {
		count += len(rules[i].Matches)
	}
	return count
}

func (g *lowerer) tooManyPaths(d *document.Gateway) {
	g.tooMany = true
	g.list.Add(diag.Diagnostic{
		Position: d.At,
		Code:     diag.PathLimit,
		Message:  fmt.Sprintf("the paths of Gateway %s/%s and those before it are too many, or the rules in force or the hostnames on them", d.Namespace, d.Name),
		Hint:     "attach fewer routes to fewer listeners, list fewer hostnames, or split the directory",
	})
}

func (g *lowerer) path(p tables.GatewayPath) {
	gateway, route := g.gateways[p.Gateway], g.routes[p.Route].Document
	p.Effective = g.effective(
		place{gateway: gateway, section: whole}, place{gateway: gateway, section: p.Listener},
		place{route: route, section: whole}, place{route: route, section: p.Rule},
	)
	for _, i := range p.Effective {
		if g.folded[i].path == "" {
			g.folded[i].path = g.out.PathName(p)
		}
	}
	g.out.Paths = append(g.out.Paths, p)
}

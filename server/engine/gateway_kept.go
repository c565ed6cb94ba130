package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// gatewayRules are what the gateway decisions of one revision depend on, apart from the
// access point and extensions. Nil means that it is unknown.
type gatewayRules struct {
	gateways string // hash of the gateways with their listeners
	routes   map[string]gatewayRoute
	paths    map[decision.GatewayTarget]gatewayPath
	hasGRPC  bool // matches of GRPCRoutes change the order of others
}

// gatewayRoute is a route: KIND/NAMESPACE/NAME is its key.
type gatewayRoute struct {
	hash  string // with its paths, without its age
	hosts []string
	age   int // rank among all routes
}

// gatewayPath is the effective policy of a path; no policy is the zero value.
type gatewayPath struct {
	hash string
	// isOpaque means that the policy can read anything or the time, isReviewing that it
	// asks the access point.
	isOpaque, isReviewing bool
}

func gatewayRulesOf(f *footprint.Gateway, table *tables.Gateway) *gatewayRules {
	g := &gatewayRules{
		routes: make(map[string]gatewayRoute, len(table.Routes)),
		paths:  make(map[decision.GatewayTarget]gatewayPath, len(table.Paths)),
	}
	policies := make([]gatewayPath, len(table.Effective))
	for i := range policies {
		policies[i] = gatewayPath{tables.HashOf(&table.Effective[i]), slices.Contains(f.Opaque, i), slices.Contains(f.Reviewing, i)}
	}
	listeners := make([][]string, len(table.Routes))
	for _, path := range table.Paths {
		target := decision.GatewayTarget{Gateway: table.ListenerName(path), Route: table.RuleName(path)}
		listeners[path.Route] = append(listeners[path.Route], target.Gateway, target.Route)
		if index, found := path.Effective[tables.KindAuthPolicy]; found {
			g.paths[target] = policies[index]
		}
	}
	for i, route := range table.Routes {
		route.Created = 0
		g.routes[tables.Locator(route.Kind, route.Namespace, route.Name)] = gatewayRoute{tables.HashOf([]any{route, listeners[i]}), route.Hostnames, table.Routes[i].Created}
		g.hasGRPC = g.hasGRPC || route.Kind == tables.KindGRPCRoute
	}
	gateways := slices.Clone(table.Gateways)
	for i := range gateways {
		gateways[i].Effective, gateways[i].Listeners = nil, slices.Clone(gateways[i].Listeners)
		for j := range gateways[i].Listeners {
			gateways[i].Listeners[j].Effective = nil
		}
	}
	g.gateways = tables.HashOf(gateways)
	return g
}

// gatewayChange states which requests two revisions may decide differently.
type gatewayChange struct {
	isAll  bool
	routes map[string]bool // NAMESPACE/NAME of those that changed
	hosts  []string        // of those that changed, without the "*" of wildcards
	paths  map[decision.GatewayTarget]bool
}

func (g *gatewayRules) changeSince(before *gatewayRules) *gatewayChange {
	c := &gatewayChange{routes: make(map[string]bool), paths: make(map[decision.GatewayTarget]bool)}
	if g == nil || before == nil || g.gateways != before.gateways {
		c.isAll = true
		return c
	}
	for _, one := range [...][2]*gatewayRules{{g, before}, {before, g}} {
		for key, route := range one[0].routes {
			if other, found := one[1].routes[key]; !found || other.hash != route.hash {
				c.addRoute(key, route)
			}
		}
		for target, path := range one[0].paths {
			if other := one[1].paths[target]; other != path || path.isReviewing {
				c.paths[target] = true
			}
		}
	}
	c.isAll = len(c.routes) > 0 && (g.hasGRPC || before.hasGRPC) || !isSameOrder(g.routes, before.routes)
	return c
}

func (c *gatewayChange) addRoute(key string, route gatewayRoute) {
	_, name, _ := strings.Cut(key, "/")
	c.routes[name] = true
	for _, host := range route.hosts {
		c.hosts = append(c.hosts, strings.TrimPrefix(host, "*"))
	}
	if len(route.hosts) == 0 {
		c.hosts = append(c.hosts, "")
	}
}

// isSameOrder reports whether the routes that both have are of the same order by age.
func isSameOrder(now, before map[string]gatewayRoute) bool {
	var both [][2]int
	for key, route := range now {
		if other, found := before[key]; found {
			both = append(both, [2]int{route.age, other.age})
		}
	}
	slices.SortFunc(both, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(both); i++ {
		if cmp.Compare(both[i-1][0], both[i][0]) != cmp.Compare(both[i-1][1], both[i][1]) {
			return false
		}
	}
	return true
}

// affects reports whether the decision on a request may differ. The paths are those that
// decided it.
func (c *gatewayChange) affects(r *decision.GatewayRequest, paths []decision.GatewayTarget) bool {
	if c.isAll || slices.ContainsFunc(paths, func(t decision.GatewayTarget) bool { return c.paths[t] }) {
		return true
	}
	if c.routes[r.Text("route", "namespace")+"/"+r.Text("route", "name")] {
		return true
	}
	// The host of a request may have a port, and a wildcard matches its end.
	name := strings.ToLower(r.Text("request", "host"))
	return slices.ContainsFunc(c.hosts, func(h string) bool { return strings.Contains(name, h) })
}

// isOwn reports whether a gateway decision must not answer other requests: a policy of
// its paths can read anything or the time, or asks the access point, whose decisions may
// change with the time.
func (e *Engine) isOwn(targets []decision.GatewayTarget) bool {
	g := e.projected.gatewayRules
	return g == nil || slices.ContainsFunc(targets, func(t decision.GatewayTarget) bool {
		return g.paths[t].isOpaque || g.paths[t].isReviewing && e.readsTime()
	})
}

// readsTime reports whether decisions of the access point may change with the time: an extension
// reads it, or a binding, a deny policy or a session begins or ends.
func (e *Engine) readsTime() bool {
	return e.access.ReadsClock || e.tree.HasDates() || e.denials.HasDates() || e.sessions != nil
}

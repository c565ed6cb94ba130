package lower

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/document"
	"github.com/writ-policy/writ/translator/resolve"
)

// kinds of inherited policies, in the order they are gone through.
var inheritedKinds = []string{"AuthPolicy", "RateLimitPolicy"}

// gatewayLowerer is the state of lowering one directory's gateways.
type gatewayLowerer struct {
	resolved *resolve.Resolved
	out      *Gateway
	list     diag.List

	gateways []*document.Gateway
	routes   []*resolve.Route
	// attached holds the policies of each target in their order, the highest first.
	attached map[attachment][]*inherited
	policies []*inherited
	// folds holds what was folded, by kind and policies.
	folds map[string]*fold
	// effective holds the index of each effective policy, by its content.
	effective map[string]int
	told      map[diag.Position]bool // failures of merge conditions that were reported
}

// attachment is a target that policies of one kind can be attached to; section is
// below zero for the object as a whole.
type attachment struct {
	kind    string
	object  any // *document.Gateway or *document.HTTPRoute
	section int
}

// inherited is a policy, and what becomes of it over all paths.
type inherited struct {
	resolve.InheritedPolicy
	locator string
	fate
}

// gateway lowers gateways, routes and the policies attached to them.
func gateway(r *resolve.Resolved) (*Gateway, diag.List) {
	g := &gatewayLowerer{
		resolved: r,
		out: &Gateway{
			Gateways: []GatewayObject{}, Routes: []GatewayRoute{}, Paths: []GatewayPath{},
			Effective: []EffectivePolicy{}, Policies: []GatewayPolicy{},
		},
		attached:  make(map[attachment][]*inherited),
		folds:     make(map[string]*fold),
		effective: make(map[string]int),
		told:      make(map[diag.Position]bool),
	}
	g.attach()
	g.objects()
	g.paths()
	g.virtual()
	g.policiesOut()
	return g.out, g.list
}

// attach sorts policies under their targets: older ones first, those without a time
// last, then by name. The older one stands higher.
func (g *gatewayLowerer) attach() {
	for i := range g.resolved.InheritedPolicies {
		p := g.resolved.InheritedPolicies[i]
		h := p.Document.Meta()
		policy := &inherited{InheritedPolicy: p, locator: h.Kind + "/" + h.Namespace + "/" + h.Name}
		policy.fate = newFate()
		g.policies = append(g.policies, policy)
		at := targetOf(&policy.InheritedPolicy)
		g.attached[at] = append(g.attached[at], policy)
	}
	for _, list := range g.attached {
		slices.SortFunc(list, func(a, b *inherited) int {
			return cmp.Or(
				compareCreated(a.Document.Created, b.Document.Created),
				strings.Compare(a.Document.Namespace, b.Document.Namespace),
				strings.Compare(a.Document.Name, b.Document.Name),
			)
		})
	}
}

func targetOf(p *resolve.InheritedPolicy) attachment {
	at := attachment{kind: p.Document.Kind, section: -1}
	if p.Gateway != nil {
		at.object = p.Gateway
	} else {
		at.object = p.Route
	}
	if p.Level == resolve.LevelListener || p.Level == resolve.LevelRule {
		at.section = p.Section
	}
	return at
}

// compareCreated compares instants; what has none has not been created yet.
func compareCreated(a, b *time.Time) int {
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

// objects lists gateways and routes by namespace and name.
func (g *gatewayLowerer) objects() {
	g.gateways = slices.Clone(g.resolved.Gateways)
	slices.SortFunc(g.gateways, func(a, b *document.Gateway) int { return compareHeaders(&a.Header, &b.Header) })
	for i := range g.resolved.Routes {
		g.routes = append(g.routes, &g.resolved.Routes[i])
	}
	slices.SortFunc(g.routes, func(a, b *resolve.Route) int { return compareHeaders(&a.Document.Header, &b.Document.Header) })
	for _, d := range g.gateways {
		object := GatewayObject{Namespace: d.Namespace, Name: d.Name, Listeners: []GatewayListener{}, Effective: map[string]int{}}
		for _, l := range d.Listeners {
			object.Listeners = append(object.Listeners, GatewayListener{
				Name: l.Name.Value, Hostname: l.Hostname, Port: l.Port, Protocol: l.Protocol, Effective: map[string]int{},
			})
		}
		g.out.Gateways = append(g.out.Gateways, object)
	}
	ranks := creationRanks(g.routes)
	for i, route := range g.routes {
		g.out.Routes = append(g.out.Routes, routeTable(route.Document, ranks[i]))
	}
}

func compareHeaders(a, b *document.Header) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// creationRanks are the ranks of the routes' creation, equal ones for one instant.
func creationRanks(routes []*resolve.Route) []int {
	order := make([]int, len(routes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return compareCreated(routes[a].Document.Created, routes[b].Document.Created)
	})
	ranks := make([]int, len(routes))
	rank := 0
	for i, at := range order {
		if i > 0 && compareCreated(routes[order[i-1]].Document.Created, routes[at].Document.Created) != 0 {
			rank++
		}
		ranks[at] = rank
	}
	return ranks
}

func routeTable(d *document.HTTPRoute, rank int) GatewayRoute {
	route := GatewayRoute{Namespace: d.Namespace, Name: d.Name, Hostnames: d.Hostnames, Rules: []GatewayRouteRule{}, Created: rank}
	for _, r := range d.Rules {
		rule := GatewayRouteRule{Name: r.Name, Matches: []GatewayMatch{}}
		for _, m := range r.Matches {
			rule.Matches = append(rule.Matches, GatewayMatch{
				PathType: m.PathType, Path: m.Path, Method: m.Method,
				Headers: valueMatches(m.Headers), Query: valueMatches(m.Query),
			})
		}
		route.Rules = append(route.Rules, rule)
	}
	return route
}

func valueMatches(list []document.ValueMatch) []GatewayValueMatch {
	var out []GatewayValueMatch
	for _, m := range list {
		out = append(out, GatewayValueMatch(m))
	}
	return out
}

// place is where a route is attached, in the order of paths.
type place struct{ gateway, listener, route int }

// paths lists the paths in their order and folds the policies of each.
func (g *gatewayLowerer) paths() {
	index := make(map[*document.Gateway]int, len(g.gateways))
	for i, d := range g.gateways {
		index[d] = i
	}
	var places []place
	for i, route := range g.routes {
		for _, on := range route.On {
			places = append(places, place{index[on.Gateway], on.Listener, i})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.gateway, b.gateway), cmp.Compare(a.listener, b.listener), cmp.Compare(a.route, b.route))
	})
	for _, at := range places {
		for rule := range g.routes[at.route].Document.Rules {
			path := GatewayPath{Gateway: at.gateway, Listener: at.listener, Route: at.route, Rule: rule, Effective: map[string]int{}}
			name := g.out.PathName(&path)
			for _, kind := range inheritedKinds {
				f := g.fold(kind, g.policiesOf(kind, at, rule), name)
				f.onPath()
				g.references(f, name)
				path.Effective[kind] = g.index(f)
			}
			g.out.Paths = append(g.out.Paths, path)
		}
	}
}

// policiesOf are the policies of a kind on a path, the highest first.
func (g *gatewayLowerer) policiesOf(kind string, at place, rule int) []*inherited {
	gateway, route := g.gateways[at.gateway], g.routes[at.route].Document
	return slices.Concat(
		g.attached[attachment{kind, gateway, -1}],
		g.attached[attachment{kind, gateway, at.listener}],
		g.attached[attachment{kind, route, -1}],
		g.attached[attachment{kind, route, rule}],
	)
}

// virtual folds the policies of gateways and listeners alone: what a route rule has
// that no policy targets.
func (g *gatewayLowerer) virtual() {
	for i, d := range g.gateways {
		object := &g.out.Gateways[i]
		name := "Gateway/" + d.Namespace + "/" + d.Name
		for _, kind := range inheritedKinds {
			own := g.attached[attachment{kind, d, -1}]
			object.Effective[kind] = g.index(g.fold(kind, own, name))
			for j := range d.Listeners {
				all := slices.Concat(own, g.attached[attachment{kind, d, j}])
				object.Listeners[j].Effective[kind] = g.index(g.fold(kind, all, name+"#"+d.Listeners[j].Name.Value))
			}
		}
	}
}

// index enters a fold's effective policy, unless an equal one is there.
func (g *gatewayLowerer) index(f *fold) int {
	key := f.content()
	if i, ok := g.effective[key]; ok {
		return i
	}
	i := len(g.out.Effective)
	g.effective[key] = i
	g.out.Effective = append(g.out.Effective, f.policy())
	return i
}

// policiesOut lists the policies with their conditions, and warns of what has no
// effect.
func (g *gatewayLowerer) policiesOut() {
	slices.SortFunc(g.policies, func(a, b *inherited) int {
		return cmp.Or(strings.Compare(a.Document.Kind, b.Document.Kind), compareHeaders(&a.Document.Header, &b.Document.Header))
	})
	for _, p := range g.policies {
		d := p.Document
		policy := GatewayPolicy{
			Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Target: targetText(p), Level: p.Level,
			Source: source(d.At), Conditions: p.conditions(), Blocks: []GatewayBlock{},
		}
		for i := range d.Blocks {
			strategy := "atomic"
			if d.Blocks[i].Merge {
				strategy = "merge"
			}
			policy.Blocks = append(policy.Blocks, GatewayBlock{d.Blocks[i].Name, strategy})
		}
		for _, key := range d.Unset {
			policy.Unset = append(policy.Unset, key.Value)
		}
		g.out.Policies = append(g.out.Policies, policy)
		g.warn(p, policy.Conditions)
	}
}

func targetText(p *inherited) string {
	t := &p.Document.Target
	text := t.Kind + "/" + p.Document.Namespace + "/" + t.Name.Value
	if t.Section.Value != "" {
		text += "#" + t.Section.Value
	}
	return text
}

// PathName is how a path is written:
// Gateway/NS/NAME#LISTENER > HTTPRoute/NS/NAME#RULE.
func (g *Gateway) PathName(p *GatewayPath) string {
	gateway, route := &g.Gateways[p.Gateway], &g.Routes[p.Route]
	return "Gateway/" + gateway.Namespace + "/" + gateway.Name + "#" + gateway.Listeners[p.Listener].Name +
		" > HTTPRoute/" + route.Namespace + "/" + route.Name + "#" + route.Rules[p.Rule].Name
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

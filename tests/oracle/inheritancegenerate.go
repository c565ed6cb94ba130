package oracle

import (
	"fmt"
	"slices"
	"strings"
)

var (
	gateNamespaces = []string{"net", "books", "default", "net-2"}
	gateNames      = []string{"edge", "api", "a.b"}
	gateHostnames  = []string{"api.books.example", "books.example", "*.books.example", "*.example", "x.api.books.example", "other.test", "*.test"}
	ruleNames      = []string{"a", "b", "x.y", "c"}
	timestamps     = []string{
		"", "", "", "2024-01-01T00:00:00Z", "2024-01-01T02:00:00+02:00", "2023-12-31T22:00:00-02:00",
		"2024-01-01T01:00:00+02:00", "2024-01-01T00:00:01Z", "2023-05-01T00:00:00Z",
	}
)

// gateGenerator makes gateways, routes and policies.
type gateGenerator struct {
	generator
	w *Gateways
	// rich makes the rules of AuthPolicies look at requests.
	rich bool
	// named are the patterns that the block at hand refers to.
	named map[string]bool
}

func newGateGenerator(seed, stream uint64) *gateGenerator {
	w := &Gateways{World: &World{Master: "master", Extensions: extensions, seed: seed}, seed: seed, folds: map[string]*Fold{}, told: map[*GatePolicy][]GateCondition{}}
	return &gateGenerator{generator: generator{random: newRandom(seed, stream), world: w.World, taken: map[string]bool{}}, w: w}
}

// GenerateInheritance makes a random directory with gateways, routes and policies,
// path to content, and what it means.
func GenerateInheritance(seed uint64) (map[string]string, *Gateways) {
	g := newGateGenerator(seed, 11)
	g.hierarchy()
	for range 1 + g.IntN(8) {
		g.policy()
	}
	return g.write(), g.w
}

// Again lays the same documents out in other files, in another order.
func (w *Gateways) Again(layout uint64) map[string]string {
	g := &gateGenerator{generator: generator{random: newRandom(w.seed, 1000+layout), world: w.World}, w: w}
	return g.write()
}

// Top adds a policy that stands highest on every path through a gateway, with an
// override.
func (w *Gateways) Top(gateway *Gateway) *GatePolicy {
	g := &gateGenerator{generator: generator{random: newRandom(w.seed, 12)}, w: w}
	p := &GatePolicy{
		Kind: g.one(GateKinds), Namespace: gateway.Namespace, Name: "top", Created: "2000-01-01T00:00:00Z",
		TargetKind: "Gateway", TargetName: gateway.Name,
	}
	p.Overrides = g.block(p.Kind, false)
	p.Overrides.When = nil
	w.Policies = append(w.Policies, p)
	return p
}

// Unconditional takes all merge conditions away.
func (w *Gateways) Unconditional() {
	for _, p := range w.Policies {
		for _, block := range []*GateBlock{p.Defaults, p.Overrides} {
			if block != nil {
				block.When = nil
			}
		}
	}
}

func (g *gateGenerator) hierarchy() {
	for range 1 + g.IntN(3)*g.IntN(2) {
		gateway := &Gateway{Namespace: g.one(gateNamespaces), Name: g.one(gateNames)}
		if !g.free(gateway.target()) {
			continue
		}
		for _, name := range []string{"http", "https", "x.y"}[:1+g.IntN(3)] {
			gateway.Listeners = append(gateway.Listeners, g.listener(name))
		}
		g.Shuffle(len(gateway.Listeners), func(i, j int) {
			gateway.Listeners[i], gateway.Listeners[j] = gateway.Listeners[j], gateway.Listeners[i]
		})
		g.w.Gateways = append(g.w.Gateways, gateway)
	}
	for range 1 + g.IntN(4) {
		g.route()
	}
}

// free says whether a name is not taken, and takes it.
func (g *gateGenerator) free(name string) bool {
	taken := g.taken[name]
	g.taken[name] = true
	return !taken
}

func (g *gateGenerator) listener(name string) *Listener {
	l := &Listener{Name: name, Protocol: g.one([]string{"HTTP", "HTTP", "HTTPS"}), Port: []int{80, 443, 8080}[g.IntN(3)], From: "All"}
	if g.once(3) {
		l.Hostname = g.one(gateHostnames)
	}
	if g.rich && !g.once(6) {
		return l
	}
	if g.once(8) {
		l.Protocol = g.one([]string{"TLS", "TCP", "UDP"})
	}
	if g.once(3) {
		l.From = g.one([]string{"", "Same", "None", "Selector", "Selector"})
	}
	if l.From == "Selector" {
		l.Namespaces = g.some(1, 2, gateNamespaces)
		l.Except = g.once(3)
	}
	if g.once(6) {
		l.Kinds = g.some(1, 2, []string{"HTTPRoute", "GRPCRoute", "HTTPRoute"})
	}
	return l
}

func (g *gateGenerator) route() {
	r := &Route{Namespace: g.one(gateNamespaces), Name: g.one(gateNames), Created: g.one(timestamps)}
	if !g.free(r.target()) {
		return
	}
	for range 1 + g.IntN(3)*g.IntN(2) {
		r.Parents = append(r.Parents, g.parent(r))
	}
	if g.once(2) {
		r.Hostnames = g.some(1, 2, gateHostnames)
		slices.Sort(r.Hostnames)
		r.Hostnames = slices.Compact(r.Hostnames)
	}
	named := map[string]bool{}
	for i := range 1 + g.IntN(3) {
		rule := &RouteRule{}
		if g.once(2) {
			rule.Name = g.one([]string{"pay", "cart", "rule-4", "rule-1", "rule-2"})
		}
		r.Rules = append(r.Rules, rule)
		if rule.Name == fmt.Sprintf("rule-%d", i+1) || named[r.rule(i)] {
			rule.Name = fmt.Sprintf("own-%d", i)
		}
		named[r.rule(i)] = true
	}
	g.w.Routes = append(g.w.Routes, r)
}

func (g *gateGenerator) parent(r *Route) Parent {
	gateway := g.w.Gateways[g.IntN(len(g.w.Gateways))]
	p := Parent{Namespace: gateway.Namespace, Name: gateway.Name}
	if p.Namespace == r.Namespace && g.once(2) {
		p.Namespace = ""
	}
	if g.once(3) {
		p.Section = gateway.Listeners[g.IntN(len(gateway.Listeners))].Name
	}
	if g.once(5) {
		p.Port = []int{80, 443, 8080}[g.IntN(3)]
	}
	return p
}

// policy makes a policy for a random target.
func (g *gateGenerator) policy() {
	kind := g.one(GateKinds)
	if g.rich && !g.once(8) {
		kind = "AuthPolicy"
	}
	p := &GatePolicy{Kind: kind, Name: fmt.Sprintf("p%d", 1+g.IntN(9)), Created: g.one(timestamps)}
	g.aim(p)
	if !g.free(p.locator()) {
		return
	}
	switch g.IntN(10) {
	case 0:
	case 1, 2, 3:
		p.Bare = g.block(p.Kind, true)
	case 4, 5:
		p.Defaults = g.block(p.Kind, false)
	case 6, 7:
		p.Overrides = g.block(p.Kind, false)
	default:
		p.Defaults, p.Overrides = g.block(p.Kind, false), g.block(p.Kind, false)
	}
	if len(p.keys()) == 0 || g.once(3) {
		for range 1 + g.IntN(3) {
			if key := g.key(p.Kind); !slices.Contains(p.Unset, key) {
				p.Unset = append(p.Unset, key)
			}
		}
	}
	g.w.Policies = append(g.w.Policies, p)
}

// aim gives a policy a target.
func (g *gateGenerator) aim(p *GatePolicy) {
	if g.once(2) {
		gateway := g.w.Gateways[g.IntN(len(g.w.Gateways))]
		p.Namespace, p.TargetKind, p.TargetName = gateway.Namespace, "Gateway", gateway.Name
		if g.once(3) {
			p.Section = gateway.Listeners[g.IntN(len(gateway.Listeners))].Name
		}
		return
	}
	if len(g.w.Routes) == 0 {
		g.route()
		g.aim(p)
		return
	}
	route := g.w.Routes[g.IntN(len(g.w.Routes))]
	p.Namespace, p.TargetKind, p.TargetName = route.Namespace, "HTTPRoute", route.Name
	if g.once(3) {
		p.Section = route.rule(g.IntN(len(route.Rules)))
	}
}

func (g *gateGenerator) block(kind string, bare bool) *GateBlock {
	b := &GateBlock{Rules: map[string]any{}, Places: map[string]*string{}}
	rules := 0
	for range 1 + g.IntN(4) {
		key := g.key(kind)
		b.Rules[key] = g.value(key)
		if key != "when" && !strings.HasPrefix(key, "patterns.") {
			rules++
		}
	}
	for rules == 0 {
		key := g.one([]string{"rules.authorization.a", "rules.authentication.b"})
		if kind == "RateLimitPolicy" {
			key = "limits.a"
		}
		b.Rules[key] = g.value(key)
		rules++
	}
	if g.rich && kind == "AuthPolicy" {
		g.enrich(b)
	}
	if bare {
		return b
	}
	b.Merge = g.once(2)
	if g.once(3) {
		delete(b.Rules, "when")
		conditions := mergeConditions[kind]
		b.When = conditions[g.IntN(len(conditions))]
	}
	return b
}

// key draws the key of a rule.
func (g *gateGenerator) key(kind string) string {
	if kind == "RateLimitPolicy" {
		if g.once(6) {
			return "when"
		}
		return "limits." + g.one(ruleNames)
	}
	if g.rich {
		return g.richKey()
	}
	switch g.IntN(12) {
	case 0:
		return "when"
	case 1:
		return "patterns." + g.one(ruleNames)
	case 2:
		return "rules.response." + g.one([]string{"unauthenticated", "unauthorized"})
	case 3:
		return "rules.response.success." + g.one([]string{"headers.", "filters."}) + g.one(ruleNames)
	case 4, 5, 6:
		return "rules.authentication." + g.one(ruleNames)
	case 7, 8, 9:
		return "rules.authorization." + g.one(ruleNames)
	}
	return "rules." + g.one([]string{"metadata.", "callbacks."}) + g.one(ruleNames)
}

// value draws the value of a rule.
func (g *gateGenerator) value(key string) any {
	value := object{{"plain", object{{"value", g.one([]string{"v1", "v2", "w"})}}}}
	pattern := object{{"selector", "request.method"}, {"operator", "eq"}, {"value", g.one([]string{"GET", "POST"})}}
	switch parts := split(key); parts[0] {
	case "when":
		return list{object{{"predicate", "true"}}, object{{"predicate", g.one([]string{"true", "request.method == 'GET'"})}}}[:1+g.IntN(2)]
	case "patterns":
		return object{{"allOf", list{pattern}}}
	case "limits":
		rates := list{}
		for range 1 + g.IntN(2) {
			rates = append(rates, object{{"limit", []int{1, 9, 10, 50, 51, 100}[g.IntN(6)]}, {"window", g.one([]string{"1m", "10s", "24h"})}})
		}
		limit := object{{"rates", rates}}
		if g.once(4) {
			limit = append(limit, member{"counters", list{object{{"expression", "auth.identity.userid"}}}})
		}
		return limit
	default:
		switch parts[1] {
		case "authentication":
			return g.authentication()
		case "authorization":
			return object{{"patternMatching", object{{"patterns", list{pattern}}}}, {"priority", g.IntN(3)}}[:1+g.IntN(2)]
		case "response":
			switch parts[2] {
			case "unauthenticated", "unauthorized":
				return object{{"code", 400 + g.IntN(6)}, {"message", object{{"value", "no"}}}}[:1+g.IntN(2)]
			}
			return value
		}
		return object{{"http", object{{"url", g.one([]string{"http://a.example", "http://b.example/x"})}}}}
	}
}

func (g *gateGenerator) authentication() object {
	switch g.IntN(4) {
	case 0:
		return object{{"anonymous", object{}}}
	case 1:
		return object{{"apiKey", object{{"selector", object{{"matchLabels", object{{"audience", g.one([]string{"staff", "members"})}}}}}}}}
	}
	return object{{"jwt", object{{"issuerUrl", "https://login.books.example"}, {"ttl", []int{30, 50, 51, 100}[g.IntN(4)]}}}}
}

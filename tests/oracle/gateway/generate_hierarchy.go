package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/yaml"
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
type generator struct {
	access.Generator
	w *World
	// rich makes the rules of AuthPolicies look at requests.
	rich bool
	// named are the patterns that the block at hand refers to.
	named map[string]bool
}

func newGenerator(seed, stream uint64) *generator {
	w := &World{World: &access.World{Master: "master", Extensions: access.Extensions, Seed: seed}, seed: seed, folds: map[string]*Fold{}, reported: map[*Policy][]Condition{}}
	return &generator{Generator: access.Generator{Source: random.New(seed, stream), World: w.World, Taken: map[string]bool{}}, w: w}
}

// GenerateInheritance makes a random directory with gateways, routes and policies,
// path to content, and what it means.
func GenerateInheritance(seed uint64) (map[string]string, *World) {
	g := newGenerator(seed, 11)
	g.hierarchy()
	for range 1 + g.IntN(8) {
		g.policy()
	}
	return g.write(), g.w
}

// Again lays the same documents out in other files, in another order.
func (w *World) Again(layout uint64) map[string]string {
	g := &generator{Generator: access.Generator{Source: random.New(w.seed, 1000+layout), World: w.World}, w: w}
	return g.write()
}

// Top adds a policy that stands highest on every path through a gateway, with an
// override.
func (w *World) Top(gateway *Gateway) *Policy {
	g := &generator{Generator: access.Generator{Source: random.New(w.seed, 12)}, w: w}
	p := &Policy{
		Kind: g.One(Kinds), Namespace: gateway.Namespace, Name: "top", Created: "2000-01-01T00:00:00Z",
		TargetKind: "Gateway", TargetName: gateway.Name,
	}
	p.Overrides = g.block(p.Kind, false)
	p.Overrides.When = nil
	w.Policies = append(w.Policies, p)
	return p
}

// Unconditional takes all merge conditions away.
func (w *World) Unconditional() {
	for _, p := range w.Policies {
		for _, block := range []*Block{p.Defaults, p.Overrides} {
			if block != nil {
				block.When = nil
			}
		}
	}
}

func (g *generator) hierarchy() {
	for range 1 + g.IntN(3)*g.IntN(2) {
		gateway := &Gateway{Namespace: g.One(gateNamespaces), Name: g.One(gateNames)}
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

// free reports whether a name is not taken, and takes it.
func (g *generator) free(name string) bool {
	taken := g.Taken[name]
	g.Taken[name] = true
	return !taken
}

func (g *generator) listener(name string) *Listener {
	l := &Listener{Name: name, Protocol: g.One([]string{"HTTP", "HTTP", "HTTPS"}), Port: []int{80, 443, 8080}[g.IntN(3)], From: "All"}
	if g.Once(3) {
		l.Hostname = g.One(gateHostnames)
	}
	if g.rich && g.Once(2) {
		// Listeners among which the names and ports of requests choose.
		l.Port, l.Hostname = 80, g.One([]string{"", "*.example", "*.books.example", "api.books.example"})
	}
	if g.rich && !g.Once(6) {
		return l
	}
	if g.Once(8) {
		l.Protocol = g.One([]string{"TLS", "TCP", "UDP"})
	}
	if g.Once(3) {
		l.From = g.One([]string{"", "Same", "None", "Selector", "Selector"})
	}
	if l.From == "Selector" {
		l.Namespaces = g.Some(1, 2, gateNamespaces)
		l.Except = g.Once(3)
	}
	if g.Once(6) {
		l.Kinds = g.Some(1, 2, []string{"HTTPRoute", "GRPCRoute", "HTTPRoute"})
	}
	return l
}

func (g *generator) route() {
	r := &Route{Namespace: g.One(gateNamespaces), Name: g.One(gateNames), Created: g.One(timestamps), GRPC: g.Once(4)}
	if !g.free(r.target()) {
		return
	}
	for range 1 + g.IntN(3)*g.IntN(2) {
		r.Parents = append(r.Parents, g.parent(r))
	}
	if g.Once(2) {
		r.Hostnames = g.Some(1, 2, gateHostnames)
		slices.Sort(r.Hostnames)
		r.Hostnames = slices.Compact(r.Hostnames)
	}
	named := map[string]bool{}
	for i := range 1 + g.IntN(3) {
		rule := &RouteRule{}
		if g.Once(2) {
			rule.Name = g.One([]string{"pay", "cart", "rule-4", "rule-1", "rule-2"})
		}
		r.Rules = append(r.Rules, rule)
		if rule.Name == fmt.Sprintf("rule-%d", i+1) || named[r.rule(i)] {
			rule.Name = fmt.Sprintf("own-%d", i)
		}
		named[r.rule(i)] = true
	}
	g.w.Routes = append(g.w.Routes, r)
}

func (g *generator) parent(r *Route) Parent {
	gateway := g.w.Gateways[g.IntN(len(g.w.Gateways))]
	p := Parent{Namespace: gateway.Namespace, Name: gateway.Name}
	if p.Namespace == r.Namespace && g.Once(2) {
		p.Namespace = ""
	}
	if g.Once(3) {
		p.Section = gateway.Listeners[g.IntN(len(gateway.Listeners))].Name
	}
	if g.Once(5) {
		p.Port = []int{80, 443, 8080}[g.IntN(3)]
	}
	return p
}

// policy makes a policy for a random target.
func (g *generator) policy() {
	kind := g.One(Kinds)
	if g.rich && !g.Once(8) {
		kind = "AuthPolicy"
	}
	p := &Policy{Kind: kind, Name: fmt.Sprintf("p%d", 1+g.IntN(9)), Created: g.One(timestamps)}
	g.aim(p)
	if p.Kind == "TokenRateLimitPolicy" && p.TargetKind == "GRPCRoute" {
		p.Kind = "RateLimitPolicy"
	}
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
	if len(p.keys()) == 0 || g.Once(3) {
		for range 1 + g.IntN(3) {
			if key := g.key(p.Kind); !slices.Contains(p.Unset, key) {
				p.Unset = append(p.Unset, key)
			}
		}
	}
	g.w.Policies = append(g.w.Policies, p)
}

// aim gives a policy a target.
func (g *generator) aim(p *Policy) {
	if g.Once(2) {
		gateway := g.w.Gateways[g.IntN(len(g.w.Gateways))]
		p.Namespace, p.TargetKind, p.TargetName = gateway.Namespace, "Gateway", gateway.Name
		if g.Once(3) {
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
	p.Namespace, p.TargetKind, p.TargetName = route.Namespace, route.kind(), route.Name
	if g.Once(3) {
		p.Section = route.rule(g.IntN(len(route.Rules)))
	}
}

func (g *generator) block(kind string, bare bool) *Block {
	b := &Block{Rules: map[string]any{}, Places: map[string]*string{}}
	rules := 0
	for range 1 + g.IntN(4) {
		key := g.key(kind)
		b.Rules[key] = g.value(key)
		if key != "when" && !strings.HasPrefix(key, "patterns.") {
			rules++
		}
	}
	for rules == 0 {
		key := g.One([]string{"rules.authorization.a", "rules.authentication.b"})
		if kind != "AuthPolicy" {
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
	b.Merge = g.Once(2)
	if g.Once(3) {
		delete(b.Rules, "when")
		conditions := mergeConditions[strings.TrimPrefix(kind, "Token")]
		b.When = conditions[g.IntN(len(conditions))]
	}
	return b
}

// key draws the key of a rule.
func (g *generator) key(kind string) string {
	if kind != "AuthPolicy" {
		if g.Once(6) {
			return "when"
		}
		return "limits." + g.One(ruleNames)
	}
	if g.rich {
		return g.richKey()
	}
	switch g.IntN(12) {
	case 0:
		return "when"
	case 1:
		return "patterns." + g.One(ruleNames)
	case 2:
		return "rules.response." + g.One([]string{"unauthenticated", "unauthorized"})
	case 3:
		return "rules.response.success." + g.One([]string{"headers.", "filters."}) + g.One(ruleNames)
	case 4, 5, 6:
		return "rules.authentication." + g.One(ruleNames)
	case 7, 8, 9:
		return "rules.authorization." + g.One(ruleNames)
	}
	return "rules." + g.One([]string{"metadata.", "callbacks."}) + g.One(ruleNames)
}

// value draws the value of a rule.
func (g *generator) value(key string) any {
	value := yaml.Object{{"plain", yaml.Object{{"value", g.One([]string{"v1", "v2", "w"})}}}}
	pattern := yaml.Object{{"selector", "request.method"}, {"operator", "eq"}, {"value", g.One([]string{"GET", "POST"})}}
	switch parts := split(key); parts[0] {
	case "when":
		return yaml.List{yaml.Object{{"predicate", "true"}}, yaml.Object{{"predicate", g.One([]string{"true", "request.method == 'GET'"})}}}[:1+g.IntN(2)]
	case "patterns":
		return yaml.Object{{"allOf", yaml.List{pattern}}}
	case "limits":
		rates := yaml.List{}
		for range 1 + g.IntN(2) {
			rates = append(rates, yaml.Object{{"limit", []int{1, 9, 10, 50, 51, 100}[g.IntN(6)]}, {"window", g.One([]string{"1m", "10s", "24h"})}})
		}
		limit := yaml.Object{{"rates", rates}}
		if g.Once(4) {
			limit = append(limit, yaml.Member{"counters", yaml.List{yaml.Object{{"expression", "auth.identity.userid"}}}})
		}
		return limit
	default:
		switch parts[1] {
		case "authentication":
			return g.authentication()
		case "authorization":
			return yaml.Object{{"patternMatching", yaml.Object{{"patterns", yaml.List{pattern}}}}, {"priority", g.IntN(3)}}[:1+g.IntN(2)]
		case "response":
			switch parts[2] {
			case "unauthenticated", "unauthorized":
				return yaml.Object{{"code", 400 + g.IntN(6)}, {"message", yaml.Object{{"value", "no"}}}}[:1+g.IntN(2)]
			}
			return value
		}
		return yaml.Object{{"http", yaml.Object{{"url", g.One([]string{"http://a.example", "http://b.example/x"})}}}}
	}
}

func (g *generator) authentication() yaml.Object {
	switch g.IntN(4) {
	case 0:
		return yaml.Object{{"anonymous", yaml.Object{}}}
	case 1:
		audience := g.One([]string{"staff", "members"})
		selector := yaml.Member{"selector", yaml.Object{{"matchLabels", yaml.Object{{"audience", audience}}}}}
		if audience == "members" {
			return yaml.Object{{"x509", yaml.Object{{"source", yaml.Object{{"expression", "request.id"}}}, selector}}}
		}
		return yaml.Object{{"apiKey", yaml.Object{selector}}}
	}
	source := yaml.Member{"issuerUrl", "https://login.books.example"}
	ttl := []int{30, 50, 51, 100}[g.IntN(4)]
	if ttl == 100 {
		source = yaml.Member{"jwksUrl", "https://login.books.example/keys"}
	}
	return yaml.Object{{"jwt", yaml.Object{source, {"ttl", ttl}}}}
}

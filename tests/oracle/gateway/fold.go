package gateway

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/tests/oracle/access"
)

// World is what the documents of a directory say about gateways.
type World struct {
	Gateways []*Gateway
	Routes   []*Route
	Policies []*Policy
	// World is what the other documents say; reviews are decided in it.
	World *access.World

	seed uint64
	// What was computed once; the world must not change after.
	folds    map[string]*Fold
	paths    []Path
	reported map[*Policy][]Condition
}

// Gateway is a Gateway.
type Gateway struct {
	Namespace, Name string
	Listeners       []*Listener
	Place           string // file and line, once it is written
}

// Listener is a listener of a Gateway.
type Listener struct {
	Name, Hostname, Protocol string
	Port                     int
	// From is Same, All, None or Selector; empty says nothing.
	From string
	// Namespaces are the names that a Selector lets in; Except turns them round.
	Namespaces []string
	Except     bool
	// Kinds are allowedRoutes.kinds; empty says nothing.
	Kinds []string
	Place string
}

// Route is an HTTPRoute, or a GRPCRoute.
type Route struct {
	GRPC                     bool
	Namespace, Name, Created string
	Parents                  []Parent
	Hostnames                []string
	Rules                    []*RouteRule
}

// Parent is a parentRef. An empty Namespace or Section and a Port of 0 say nothing.
type Parent struct {
	Namespace, Name, Section string
	Port                     int
}

// RouteRule is a rule of a route; an empty Name says nothing.
type RouteRule struct {
	Name    string
	Matches []*RouteMatch
	Place   string
}

// Policy is a policy of one of Kinds.
type Policy struct {
	Kind, Namespace, Name, Created  string
	TargetKind, TargetName, Section string
	// Bare excludes the other two. All may be nil.
	Bare, Defaults, Overrides *Block
	Unset                     []string
}

// Block is a block of a policy, or its bare rules.
type Block struct {
	Merge bool
	// When is a merge condition, nil for a block without one.
	When *mergeCondition
	// Rules are values by key, as written.
	Rules map[string]any
	// Places are the file and line of each rule, once it is written.
	Places map[string]*string
}

// rule is the name of a route's rule.
func (r *Route) rule(i int) string {
	if r.Rules[i].Name != "" {
		return r.Rules[i].Name
	}
	return fmt.Sprintf("rule-%d", i+1)
}

func (g *Gateway) target() string { return "Gateway/" + g.Namespace + "/" + g.Name }

// path orders routes by their names.
func (r *Route) path() string { return r.Namespace + "/" + r.Name }

func (r *Route) target() string { return r.kind() + "/" + r.Namespace + "/" + r.Name }

// path names the policy in messages.
func (p *Policy) path() string { return p.Namespace + "/" + p.Name }

func (p *Policy) locator() string { return p.Kind + "/" + p.path() }

// Path is a way that traffic can take. The path of a Gateway target, which is
// its virtual route, has no Route, and no Listener where none was asked for.
type Path struct {
	Gateway  *Gateway
	Listener *Listener
	Route    *Route
	Rule     int
}

func (p Path) gateway() string {
	if p.Listener == nil {
		return p.Gateway.target()
	}
	return p.Gateway.target() + "#" + p.Listener.Name
}

func (p Path) route() string { return p.Route.target() + "#" + p.Route.rule(p.Rule) }

func (p Path) String() string {
	if p.Route == nil {
		return p.gateway()
	}
	return p.gateway() + " > " + p.route()
}

// Paths are all paths of the directory, in their order.
func (w *World) Paths() []Path {
	if w.paths == nil {
		w.paths = w.allPaths()
	}
	return w.paths
}

func (w *World) allPaths() []Path {
	gateways := slices.Clone(w.Gateways)
	slices.SortFunc(gateways, func(a, b *Gateway) int {
		return cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	routes := slices.Clone(w.Routes)
	slices.SortFunc(routes, compareRoutes)
	var paths []Path
	for _, gateway := range gateways {
		for _, listener := range gateway.Listeners {
			for _, route := range oneKind(attached(routes, gateway, listener), listener) {
				for i := range route.Rules {
					paths = append(paths, Path{gateway, listener, route, i})
				}
			}
		}
	}
	return paths
}

// attached returns the routes that a parentRef puts on a listener.
func attached(routes []*Route, g *Gateway, l *Listener) []*Route {
	return slices.DeleteFunc(slices.Clone(routes), func(r *Route) bool {
		return !slices.ContainsFunc(r.Parents, func(p Parent) bool { return p.attaches(r, g, l) })
	})
}

// attaches reports whether a parentRef puts its route on a listener.
func (p Parent) attaches(r *Route, g *Gateway, l *Listener) bool {
	namespace := p.Namespace
	if namespace == "" {
		namespace = r.Namespace
	}
	switch {
	case namespace != g.Namespace || p.Name != g.Name:
		return false
	case p.Section != "" && p.Section != l.Name || p.Port != 0 && p.Port != l.Port:
		return false
	case l.Protocol != "HTTP" && l.Protocol != "HTTPS":
		return false
	case len(l.Kinds) > 0 && !slices.Contains(l.Kinds, r.kind()):
		return false
	}
	switch l.From {
	case "None":
		return false
	case "", "Same":
		if r.Namespace != g.Namespace {
			return false
		}
	case "Selector":
		if slices.Contains(l.Namespaces, r.Namespace) == l.Except {
			return false
		}
	}
	return l.Hostname == "" || len(r.Hostnames) == 0 ||
		slices.ContainsFunc(r.Hostnames, func(h string) bool { return intersect(h, l.Hostname) })
}

// intersect reports whether a host can have both names, either of which may begin
// with a wildcard.
func intersect(a, b string) bool {
	if strings.HasPrefix(a, "*.") && strings.HasPrefix(b, "*.") {
		return strings.HasSuffix(a, b[1:]) || strings.HasSuffix(b, a[1:])
	}
	return hostFits(a, b) || hostFits(b, a)
}

// hostFits reports whether a host has a name; "*." stands for one or more labels.
func hostFits(name, host string) bool {
	if suffix, ok := strings.CutPrefix(name, "*"); ok {
		return strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	return name == host
}

// on reports whether a policy is on a path, and at which level.
func (p *Policy) on(path Path) (level int, on bool) {
	if p.TargetKind == "Gateway" {
		if p.Namespace != path.Gateway.Namespace || p.TargetName != path.Gateway.Name {
			return 0, false
		}
		if p.Section == "" {
			return 0, true
		}
		return 1, path.Listener != nil && p.Section == path.Listener.Name
	}
	if path.Route == nil || p.TargetKind != path.Route.kind() || p.Namespace != path.Route.Namespace || p.TargetName != path.Route.Name {
		return 0, false
	}
	if p.Section == "" {
		return 2, true
	}
	return 3, p.Section == path.Route.rule(path.Rule)
}

// policies are those of a path, highest first.
func (w *World) policies(path Path, kind string) []*Policy {
	levels := map[*Policy]int{}
	var list []*Policy
	for _, p := range w.Policies {
		if level, on := p.on(path); on && p.Kind == kind {
			levels[p] = level
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *Policy) int {
		return cmp.Or(cmp.Compare(levels[a], levels[b]), compareAges(a.Created, b.Created), cmp.Compare(a.path(), b.path()))
	})
	return list
}

// compareAges puts the older timestamp first and no timestamp last.
func compareAges(a, b string) int {
	switch {
	case a == "" || b == "":
		return cmp.Compare(len(b), len(a))
	default:
		return instant(a).Compare(instant(b))
	}
}

func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err) // only what the generator wrote comes here
	}
	return t
}

// Loss is a rule that lost.
type Loss struct {
	Rule   string
	Policy *Policy
	How    string
	By     []string
}

// Fold is the effective policy of a path, and how it came to be.
type Fold struct {
	Rules   map[string]any
	Sources map[string]*Policy
	// Policies are those of the path, highest first.
	Policies []*Policy
	Replaced []Loss

	blocks map[string]*Block    // which block a rule is from
	unset  map[string][]*Policy // by which policies
	wiped  map[*Policy]*Policy  // whose unsets an atomic override wiped, and which
	idle   map[*Block]bool      // blocks whose condition did not hold
}

func (f *Fold) lose(rule string, policy *Policy, how string, by ...*Policy) {
	names := []string{}
	for _, p := range by {
		names = append(names, p.locator())
	}
	slices.Sort(names)
	f.Replaced = append(f.Replaced, Loss{rule, policy, how, slices.Compact(names)})
}

// empty states that no rule is there but patterns and request-time conditions.
func (f *Fold) empty() bool {
	for key := range f.Rules {
		if key != "when" && !strings.HasPrefix(key, "patterns.") {
			return false
		}
	}
	return true
}

func (f *Fold) put(rule string, policy *Policy, block *Block) {
	f.Rules[rule], f.Sources[rule], f.blocks[rule] = block.Rules[rule], policy, block
}

func (f *Fold) clear() {
	f.Rules, f.Sources, f.blocks = map[string]any{}, map[string]*Policy{}, map[string]*Block{}
}

// Fold computes the effective policy of a path.
func (w *World) Fold(path Path, kind string) *Fold {
	f := &Fold{unset: map[string][]*Policy{}, wiped: map[*Policy]*Policy{}, idle: map[*Block]bool{}}
	f.clear()
	f.Policies = w.policies(path, kind)
	for i, p := range slices.Backward(f.Policies) {

		took := p.Bare == nil && p.Defaults == nil && p.Overrides == nil
		for _, block := range []*Block{p.Bare, p.Defaults, p.Overrides} {
			switch {
			case block == nil:
			case block.When != nil && !block.When.holds(f.self(i, block == p.Overrides)):
				f.idle[block] = true
				for key := range block.Rules {
					f.lose(key, p, "condition")
				}
			case block == p.Overrides:
				f.override(p)
				took = true
			default:
				took = f.fill(p, block) || took
			}
		}
		if took {
			for _, key := range p.Unset {
				f.unset[key] = append(f.unset[key], p)
			}
		}
	}
	// What lost twice stays in the order of its losses.
	slices.SortStableFunc(f.Replaced, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Policy.locator(), b.Policy.locator()), cmp.Compare(a.Rule, b.Rule))
	})
	return f
}

// fill folds defaults, or bare rules, and says whether they had a say.
func (f *Fold) fill(p *Policy, block *Block) (took bool) {
	left := map[string]bool{}
	for key := range block.Rules {
		if by := f.unset[key]; len(by) > 0 {
			f.lose(key, p, "unset", by...)
			continue
		}
		left[key] = true
	}
	switch {
	case f.empty():
		f.clear()
		for key := range left {
			f.put(key, p, block)
		}
		return true
	case !block.Merge:
		for key := range left {
			f.lose(key, p, "atomic-default", slices.Collect(maps.Values(f.Sources))...)
		}
		return false
	}
	for key := range left {
		if source := f.Sources[key]; source != nil {
			f.lose(key, p, "default", source)
			continue
		}
		f.put(key, p, block)
	}
	return true
}

// override folds the overrides of a policy.
func (f *Fold) override(p *Policy) {
	if !p.Overrides.Merge {
		for key, source := range f.Sources {
			f.lose(key, source, "atomic-override", p)
		}
		for _, policies := range f.unset {
			for _, other := range policies {
				if f.wiped[other] == nil {
					f.wiped[other] = p
				}
			}
		}
		f.clear()
		clear(f.unset)
	}
	for key := range p.Overrides.Rules {
		if source := f.Sources[key]; source != nil {
			f.lose(key, source, "override", p)
		}
		f.put(key, p, p.Overrides)
	}
}

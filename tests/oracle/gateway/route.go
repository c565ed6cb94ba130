package gateway

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// RouteMatch is a match of a route's rule.
type RouteMatch struct {
	// PathType is Exact, PathPrefix or RegularExpression; empty with a Path is
	// PathPrefix, without one it says nothing.
	PathType, Path string
	Method         string
	Headers, Query []RoutePair
	GRPC           *GRPCMatch // of a GRPCRoute, which has no path, method and query
}

// RoutePair is a header or a query parameter that a match wants.
type RoutePair struct {
	Name, Value string
	Regular     bool
}

// trafficError is why a request is invalid: gateway_required, unknown_gateway or
// ambiguous_route.
type trafficError string

// take is the paths that decide a request, by namespace/name of their routes; none
// where no route takes it.
func (w *World) take(r *Request) ([]Path, trafficError) {
	gateway, problem := w.entered(r)
	if problem != "" {
		return nil, problem
	}
	if route := keysOf(r.Input["route"]); route != nil {
		// The error of a gateway or listener that is not there comes before that of a route.
		if _, problem := gateway.listener(r, func(*Listener) bool { return false }); problem != "" {
			return nil, problem
		}
		// Which listener that is where none is named, is not said: the one that would be
		// taken if those without the route were not there.
		if route["kind"] == nil && w.twins(route["namespace"], route["name"]) {
			return nil, "ambiguous_route"
		}
		paths := slices.DeleteFunc(through(w.Paths(), gateway.target()), func(p Path) bool {
			return route["kind"] != nil && p.Route.kind() != route["kind"] || p.Route.Namespace != route["namespace"] || p.Route.Name != route["name"] || p.Route.rule(p.Rule) != route["rule"]
		})
		listener, _ := gateway.listener(r, func(l *Listener) bool {
			return slices.ContainsFunc(paths, func(p Path) bool { return p.Listener == l })
		})
		for _, p := range paths {
			if p.Listener == listener {
				return []Path{p}, ""
			}
		}
		return nil, ""
	}
	listener, problem := gateway.listener(r, func(*Listener) bool { return true })
	if listener == nil {
		return nil, problem
	}
	fits := map[bool][]candidate{} // by whether they are of GRPCRoutes
	for _, p := range through(w.Paths(), gateway.target()+"#"+listener.Name) {
		host, matches := p.Route.host(listener, r.host())
		if !matches {
			continue
		}
		ways := p.Route.Rules[p.Rule].Matches
		if len(ways) == 0 {
			ways = []*RouteMatch{{}}
		}
		for _, m := range ways {
			if p.Route.GRPC && m.fitsGRPC(r) || !p.Route.GRPC && m.fits(r) {
				fits[p.Route.GRPC] = append(fits[p.Route.GRPC], candidate{p, host, m})
			}
		}
	}
	var paths []Path
	for grpc, candidates := range fits {
		compare := comparePrecedence
		if grpc {
			compare = compareGRPC
		}
		slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Or(compare(a, b), compareAfter(a, b)) })
		paths = append(paths, tied(candidates, compare)...)
	}
	slices.SortFunc(paths, func(a, b Path) int { return cmp.Compare(a.Route.path(), b.Route.path()) })
	return paths, ""
}

// tied is the best path of each namespace, less those that another one of them beats
// in a criterion before age. Documents have no age that counts between namespaces.
func tied(fits []candidate, compare func(a, b candidate) int) []Path {
	best := map[string]candidate{}
	for _, c := range fits {
		if _, found := best[c.path.Route.Namespace]; !found {
			best[c.path.Route.Namespace] = c
		}
	}
	var paths []Path
	for _, c := range best {
		beaten := false
		for _, other := range best {
			beaten = beaten || compare(other, c) < 0
		}
		if !beaten {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// entered is the gateway that a request names, or the only one.
func (w *World) entered(r *Request) (*Gateway, trafficError) {
	named := keysOf(r.Input["gateway"])
	if named == nil {
		if len(w.Gateways) == 1 {
			return w.Gateways[0], ""
		}
		return nil, "gateway_required"
	}
	for _, g := range w.Gateways {
		if g.Namespace == named["namespace"] && g.Name == named["name"] {
			return g, ""
		}
	}
	return nil, "unknown_gateway"
}

// listener is the one that is named, or the best of those that may be.
func (g *Gateway) listener(r *Request, may func(*Listener) bool) (*Listener, trafficError) {
	if name := text(in(r.Input, "gateway", "listener")); name != "" {
		i := slices.IndexFunc(g.Listeners, func(l *Listener) bool { return l.Name == name })
		if i < 0 {
			return nil, "unknown_gateway"
		}
		return g.Listeners[i], ""
	}
	var best *Listener
	for _, l := range g.Listeners {
		// A request that comes here is one of HTTP.
		if !may(l) || l.Protocol != "HTTP" && l.Protocol != "HTTPS" {
			continue
		}
		port, scheme := in(r.Input, "destination", "port"), text(in(r.Input, "request", "scheme"))
		if port != nil && port != l.Port || scheme != "" && !strings.EqualFold(scheme, l.Protocol) {
			continue
		}
		if l.Hostname != "" && !hostFits(l.Hostname, r.host()) {
			continue
		}
		if best == nil || compareHosts(l.Hostname, best.Hostname) < 0 {
			best = l
		}
	}
	return best, ""
}

// compareHosts puts the more specific name first: exact, longer wildcard, none.
func compareHosts(a, b string) int {
	rank := func(name string) int {
		switch {
		case name == "":
			return 2
		case strings.HasPrefix(name, "*."):
			return 1
		}
		return 0
	}
	if rank(a) != rank(b) || rank(a) != 1 {
		return cmp.Compare(rank(a), rank(b))
	}
	return cmp.Compare(len(b), len(a))
}

// host is the most specific name of a route that a host has on a listener. As in the
// Gateway API, what is specific is what the names of both have in common.
func (r *Route) host(l *Listener, host string) (name string, matches bool) {
	names := r.Hostnames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, h := range names {
		if h != "" && l.Hostname != "" && !intersect(h, l.Hostname) {
			continue
		}
		if compareHosts(l.Hostname, h) < 0 {
			h = l.Hostname
		}
		if (h == "" || hostFits(h, host)) && (!matches || compareHosts(h, name) < 0) {
			name, matches = h, true
		}
	}
	return name, matches
}

// candidate is a match of a request with what decides among several.
type candidate struct {
	path Path
	host string
	*RouteMatch
}

var pathRanks = map[string]int{"Exact": 0, "RegularExpression": 1, "PathPrefix": 2}

// prefix gives a match its path, which is the prefix "/" if it says nothing.
func (m *RouteMatch) prefix() (kind, value string) {
	kind, value = m.PathType, m.Path
	if kind == "" {
		kind = "PathPrefix"
	}
	if value == "" {
		value = "/"
	}
	return kind, value
}

// compareAfter compares by age and what follows it.
func compareAfter(a, b candidate) int {
	return cmp.Or(
		compareAges(a.path.Route.Created, b.path.Route.Created),
		cmp.Compare(a.path.Route.path(), b.path.Route.path()),
		cmp.Compare(a.path.Rule, b.path.Rule),
	)
}

// comparePrecedence compares by the criteria before age.
func comparePrecedence(a, b candidate) int {
	kindA, valueA := a.prefix()
	kindB, valueB := b.prefix()
	return cmp.Or(
		compareHosts(a.host, b.host),
		cmp.Compare(pathRanks[kindA], pathRanks[kindB]), cmp.Compare(len(valueB), len(valueA)),
		-cmp.Compare(min(len(a.Method), 1), min(len(b.Method), 1)),
		-cmp.Compare(len(a.Headers), len(b.Headers)), -cmp.Compare(len(a.Query), len(b.Query)),
	)
}

// fits reports whether the whole match fits a request.
func (m *RouteMatch) fits(r *Request) bool {
	path := r.urlPath()
	switch kind, value := m.prefix(); kind {
	case "Exact":
		if path != value {
			return false
		}
	case "RegularExpression":
		if !regexp.MustCompile(`^(?:` + value + `)$`).MatchString(path) {
			return false
		}
	default:
		value = strings.TrimSuffix(value, "/")
		if path != value && !strings.HasPrefix(path, value+"/") {
			return false
		}
	}
	if m.Method != "" && m.Method != r.text("method") {
		return false
	}
	query := map[string]string{}
	for pair := range strings.SplitSeq(r.query(), "&") {
		if name, value, _ := strings.Cut(pair, "="); name != "" {
			query[name] = value
		}
	}
	return m.headersFit(r) && pairsFit(m.Query, query)
}

func (m *RouteMatch) headersFit(r *Request) bool {
	headers := slices.Clone(m.Headers)
	for i, pair := range headers {
		headers[i].Name = strings.ToLower(pair.Name)
	}
	return pairsFit(headers, r.headers())
}

func pairsFit(wanted []RoutePair, values map[string]string) bool {
	for _, pair := range wanted {
		value, there := values[pair.Name]
		if !there || !pair.Regular && value != pair.Value || pair.Regular && !regexp.MustCompile(pair.Value).MatchString(value) {
			return false
		}
	}
	return true
}

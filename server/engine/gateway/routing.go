package gateway

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// Routed is a request with the paths that decide it.
type Routed struct {
	// Targets are the paths by their routes' NAMESPACE/NAME. They are several where routes
	// of different namespaces tie, and none where no route takes the request.
	Targets []decision.GatewayTarget

	request  *request
	policies []*policy // of the paths; nil: nothing restricts the path
	places   map[string]tables.GatewayPlace
	nearest  string // the target that decides without a path: a listener, or the gateway
}

// Route finds the paths of a request. It returns false if the tables are not certain of
// them, and if the request is or may be invalid.
func (p *Policies) Route(r *decision.GatewayRequest) (*Routed, bool) {
	if p == nil || !r.IsPlain() {
		return nil, false
	}
	out := &Routed{request: newRequest(r), Targets: []decision.GatewayTarget{}, places: p.places}
	gateway, candidates, ok := p.listeners(out.request)
	if out.nearest = "Gateway/" + gateway; len(candidates) > 0 {
		out.nearest = candidates[0].target
	}
	kinds := []string{r.Text("route", "kind")}
	if kinds[0] == "" {
		kinds = []string{tables.KindHTTPRoute, tables.KindGRPCRoute}
		if _, isTwin := p.twins[r.Text("route", "namespace")+"/"+r.Text("route", "name")]; isTwin {
			return nil, false
		}
	}
	if !ok || out.request.host == "" {
		return nil, false
	}
	for _, l := range candidates {
		found := l.take(out.request, kinds)
		if len(found) == 0 {
			continue
		}
		slices.SortStableFunc(found, func(a, b taken) int { return strings.Compare(objectOf(a.route), objectOf(b.route)) })
		for _, t := range found {
			policy, known := p.policies[t.policy]
			if !known && t.policy != "" {
				return nil, false
			}
			out.Targets = append(out.Targets, decision.GatewayTarget{Gateway: l.target, Route: t.route})
			out.policies = append(out.policies, policy)
		}
		break
	}
	return out, true
}

// listeners returns the gateway of a request and the listeners that it can be on, the
// preferred first. Without a route only the preferred one is looked at: another one of the
// same address never sees the request.
func (p *Policies) listeners(r *request) (name string, fitting []*listener, ok bool) {
	name = p.only
	if namespace := r.Text("gateway", "namespace"); namespace != "" {
		name = namespace + "/" + r.Text("gateway", "name")
	}
	all, found := p.gateways[name]
	if !found {
		return name, nil, false
	}
	if wanted := r.Text("gateway", "listener"); wanted != "" {
		i := slices.IndexFunc(all, func(l *listener) bool { return l.name == wanted })
		if i < 0 {
			return name, nil, false
		}
		return name, all[i : i+1], true
	}
	port, ok := portOf(r)
	if !ok {
		return name, nil, false
	}
	scheme := strings.ToLower(r.Text("request", "scheme"))
	fitting = slices.DeleteFunc(slices.Clone(all), func(l *listener) bool {
		return port >= 0 && l.port != port || l.protocol == "" || scheme != "" && scheme != l.protocol || !l.fits(r.host)
	})
	slices.SortStableFunc(fitting, func(a, b *listener) int { return a.compare(b, r.host) })
	if !r.NamesRoute() && len(fitting) > 1 {
		fitting = fitting[:1]
	}
	return name, fitting, true
}

// portOf returns the port of the destination, -1 if it is absent. It returns false for a
// number that is not written as an integer.
func portOf(r *request) (int, bool) {
	number, isNumber := r.Object("destination")["port"].(json.Number)
	if !isNumber {
		return -1, true
	}
	if !isInteger(number) {
		return 0, false
	}
	port, err := strconv.Atoi(number.String())
	return port, err == nil && port >= 0
}

// fits reports whether the hostname of the listener matches a host.
func (l *listener) fits(host string) bool {
	return l.hostname == "" || l.hostname == host || slices.Contains(hostnames(host)[1:], l.hostname)
}

// compare puts first the listener whose hostname matches the host best: the host before a
// wildcard, a longer wildcard before a shorter one, none at the end.
func (l *listener) compare(other *listener, host string) int {
	rank := func(hostname string) int {
		switch hostname {
		case host:
			return 0
		case "":
			return 2
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(rank(l.hostname), rank(other.hostname)),
		cmp.Compare(len(other.hostname), len(l.hostname)),
	)
}

// taken is a path that takes a request.
type taken struct{ route, policy string }

// take returns the paths that take a request on the listener. A rule that is named is
// taken, whatever it matches. Routes of one kind do not come before those of the other.
func (l *listener) take(r *request, kinds []string) (found []taken) {
	if rule := r.Text("route", "rule"); rule != "" {
		for _, kind := range kinds {
			route := tables.TargetName(kind, r.Text("route", "namespace"), r.Text("route", "name"), rule)
			if policy, ok := l.paths[route]; ok {
				found = append(found, taken{route, policy})
			}
		}
		return found
	}
	best := l.best(r, kinds, l.http, (*match).fits)
	if isGRPC(r) {
		best = append(best, l.best(r, kinds, l.grpc, (*match).fitsGRPC)...)
	}
	for _, m := range best {
		isYounger := slices.ContainsFunc(best, func(other *match) bool {
			return m.Age != nil && other.Age != nil && *other.Age < *m.Age
		})
		if !isYounger {
			found = append(found, taken{m.Route, m.Policy})
		}
	}
	return found
}

// best returns the first match that fits, and those of other namespaces that no criterion
// before the age of routes puts behind it. Matches that can tie have a number in common.
func (l *listener) best(r *request, kinds []string, matches map[string][]match, fits func(*match, *request) bool) (best []*match) {
	if len(matches) == 0 {
		return nil
	}
	for _, host := range hostnames(r.host) {
		list := matches[host]
		for i := range list {
			m := &list[i]
			if !m.tiesWith(best) || !m.isWanted(r, kinds) || !fits(m, r) {
				continue
			}
			if best = append(best, m); m.Tie == 0 {
				return best
			}
		}
	}
	return best
}

// tiesWith reports whether the match is as good as those that were found, if any, and of a
// namespace that none of them is of: within a namespace, the first one is the best.
func (m *match) tiesWith(best []*match) bool {
	if len(best) == 0 {
		return true
	}
	return m.Tie == best[0].Tie && !slices.ContainsFunc(best, func(other *match) bool { return other.namespace == m.namespace })
}

// isWanted reports whether the match is of the route that the request names, if any.
func (m *match) isWanted(r *request, kinds []string) bool {
	if !r.NamesRoute() {
		return true
	}
	kind, _, _ := strings.Cut(m.Route, "/")
	return slices.Contains(kinds, kind) && m.object == r.Text("route", "namespace")+"/"+r.Text("route", "name")
}

func (m *match) fits(r *request) bool {
	switch m.Type {
	case "Exact":
		if m.Path != r.path {
			return false
		}
	case "PathPrefix": // a prefix ends where a segment does
		if !strings.HasPrefix(r.path, m.prefix) && r.path+"/" != m.prefix {
			return false
		}
	default:
		if m.path == nil || !m.path.MatchString(r.path) {
			return false
		}
	}
	return (m.Method == "" || m.Method == r.Text("request", "method")) && fitAll(m.headers, r.header) && fitAll(m.query, r.parameter)
}

func (m *match) fitsGRPC(r *request) bool {
	if m.GRPC.Type != "" {
		segments := strings.Split(r.path, "/")
		if len(segments) != 3 || segments[0] != "" || segments[1] == "" || segments[2] == "" ||
			!fitsName(m.GRPC.Service, m.service, segments[1]) || !fitsName(m.GRPC.Method, m.method, segments[2]) {
			return false
		}
	}
	return fitAll(m.headers, r.header)
}

func fitsName(wanted string, pattern *regexp.Regexp, name string) bool {
	switch {
	case wanted == "":
		return true
	case pattern != nil:
		return pattern.MatchString(name)
	}
	return wanted == name
}

var contentTypeOfGRPC = regexp.MustCompile(`^application/grpc(?:[+;]|$)`)

func isGRPC(r *request) bool {
	contentType, _ := r.header("content-type")
	return r.Text("request", "method") == "POST" && contentTypeOfGRPC.MatchString(contentType)
}

// fitAll reports whether all matches of headers or parameters fit.
func fitAll(matches []valueMatch, value func(name string) (string, bool)) bool {
	return !slices.ContainsFunc(matches, func(m valueMatch) bool {
		text, found := value(m.Name)
		if m.pattern != nil {
			return !found || !m.pattern.MatchString(text)
		}
		return !found || m.Type != "Exact" || text != m.Value
	})
}

package verify

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

const (
	// mostSets bounds the sets of headers and of parameters that are tried for one host, and
	// mostAsked the requests of one class.
	mostSets  = 512
	mostAsked = 50_000

	regularExpression = "RegularExpression"
	contentType       = "content-type"
)

// asked is a request at the point gateway. It names no route: a proxy names the one that
// its request matches.
type asked struct {
	gateway, listener  string // NAMESPACE/NAME; the listener may be empty
	host, method, path string
	query, headers     map[string]string
	identity           bool
}

// otherIdentity is an identity that no document names.
var otherIdentity = map[string]any{"sub": unnamed}

func (a *asked) object() map[string]any {
	namespace, name, _ := strings.Cut(a.gateway, "/")
	gateway := map[string]any{"namespace": namespace, "name": name}
	if a.listener != "" {
		gateway["listener"] = a.listener
	}
	path := a.path
	for i, key := range slices.Sorted(maps.Keys(a.query)) {
		path += string("?&"[min(i, 1)]) + escapeQuery(key) + "=" + escapeQuery(a.query[key])
	}
	request := map[string]any{"host": a.host, "method": a.method, "path": path}
	if len(a.headers) > 0 {
		request["headers"] = a.headers
	}
	out := map[string]any{"gateway": gateway, "request": request}
	if a.identity {
		out["auth"] = map[string]any{"identity": otherIdentity}
	}
	return out
}

var escapedInQuery = strings.NewReplacer("%", "%25", "&", "%26", "=", "%3D", "+", "%2B", "#", "%23", " ", "%20", ";", "%3B")

func escapeQuery(text string) string { return escapedInQuery.Replace(text) }

// size is how many keys the request has.
func (a *asked) size() int {
	return len(a.query) + len(a.headers) + int(statement.Bit(a.listener != "")) + int(statement.Bit(a.identity))
}

// fits reports whether host, method, path and headers are in a class.
func (a *asked) fits(c *assertion.Class) bool {
	return c.Texts["host"].Fits(a.host) && c.Texts["method"].Fits(a.method) && c.Texts["path"].Fits(a.path) && fitsHeaders(c, a.headers)
}

// fitsHeaders reports whether headers are in a class. Their names ignore the case.
func fitsHeaders(c *assertion.Class, headers map[string]string) bool {
	l := c.Labels["headers"]
	if l == nil {
		return true
	}
	lowered := assertion.Labels{Unknown: l.Unknown}
	for _, t := range l.Terms {
		t.Key = strings.ToLower(t.Key)
		lowered.Terms = append(lowered.Terms, t)
	}
	if headers == nil {
		headers = map[string]string{}
	}
	return lowered.Fits(headers)
}

// arrival is where requests arrive: a gateway, with or without a listener, and the rules
// that are attached there.
type arrival struct {
	gateway, listener string
	rules             []routeRule
}

type routeRule struct {
	hostnames []string // of the route, none: every host
	grpc      bool
	matches   []tables.GatewayMatch
}

// arrivals returns where requests of a class may arrive, gateways alone first.
func (p *prover) arrivals(c *assertion.Class) []*arrival {
	by := make(map[string]*arrival)
	var order []string
	add := func(gateway, listener string) {
		key := gateway + "#" + listener
		if by[key] == nil {
			by[key] = &arrival{gateway: gateway, listener: listener}
			order = append(order, key)
		}
	}
	var named []string
	for _, w := range p.worlds() {
		g := w.gateway()
		for i := range g.Gateways {
			o := &g.Gateways[i]
			name := o.Namespace + "/" + o.Name
			add(name, "")
			for j := range o.Listeners {
				if l := &o.Listeners[j]; len(o.Listeners) > 1 || l.Hostname != "" {
					named = append(named, name+"#"+l.Name)
				}
			}
		}
	}
	for _, target := range named {
		gateway, listener, _ := strings.Cut(target, "#")
		add(gateway, listener)
	}
	for _, w := range p.worlds() {
		g := w.gateway()
		for _, path := range g.Paths {
			o, route := &g.Gateways[path.Gateway], &g.Routes[path.Route]
			rule := routeRule{route.Hostnames, route.Kind == tables.KindGRPCRoute, route.Rules[path.Rule].Matches}
			if len(rule.matches) == 0 && !rule.grpc {
				rule.matches = []tables.GatewayMatch{{PathType: "PathPrefix", Path: "/"}}
			} else if len(rule.matches) == 0 {
				rule.matches = []tables.GatewayMatch{{}}
			}
			for _, listener := range []string{"", o.Listeners[path.Listener].Name} {
				if a := by[o.Namespace+"/"+o.Name+"#"+listener]; a != nil {
					a.rules = append(a.rules, rule)
				}
			}
		}
	}
	var out []*arrival
	for _, key := range order {
		a := by[key]
		if a.listener == "" && mayHaveSection(c.Texts["gateway"], a.gateway) || fitsSection(c.Texts["gateway"], key) {
			out = append(out, a)
		}
	}
	return out
}

// mayHaveSection reports whether a section of an object may be in a set.
func mayHaveSection(v *assertion.Value, object string) bool {
	return v == nil || len(v.Globs)+len(v.Prefixes)+len(v.Not) > 0 ||
		slices.ContainsFunc(v.Texts, func(word string) bool { name, _, _ := strings.Cut(word, "#"); return name == object })
}

// eachAsked calls visit with requests that may be in a class, one for each that routes and
// classes tell apart, the plainest values first, until visit returns false.
func (p *prover) eachAsked(c *assertion.Class, out []*assertion.Class, visit func(*asked) bool) {
	count := 0
	classes := append([]*assertion.Class{c}, out...)
	for _, a := range p.arrivals(c) {
		for _, host := range p.hosts(a, classes) {
			s := newSpace(a, host, classes)
			headers, queries, methods, paths := s.headerSets(p), s.querySets(p), s.methods(), s.paths(p)
			for _, h := range headers {
				for _, q := range queries {
					for _, path := range paths {
						for _, method := range methods {
							if count++; count > mostAsked {
								p.isCut = true
								return
							}
							if !visit(&asked{gateway: a.gateway, listener: a.listener, host: host, method: method, path: path, query: q, headers: h}) {
								return
							}
						}
					}
				}
			}
		}
	}
}

// hosts returns the hosts that routes, listeners and classes tell apart.
func (p *prover) hosts(a *arrival, classes []*assertion.Class) []string {
	t := criteriaOf{}
	for _, c := range classes {
		t.class(c.Texts["host"])
	}
	add := func(hostname string) {
		rest, isWild := strings.CutPrefix(hostname, "*.")
		switch {
		case hostname == "":
			return
		case isWild:
			t.list.Add(assertion.MadeUp + "." + rest)
			t.list.Patterns = append(t.list.Patterns, `^.+\.`+regexp.QuoteMeta(rest)+`$`)
		default:
			t.list.Add(hostname)
		}
		t.tests = append(t.tests, func(host string) bool { return fitsHostname(hostname, host) })
	}
	for _, rule := range a.rules {
		for _, hostname := range rule.hostnames {
			add(hostname)
		}
	}
	for _, w := range p.worlds() {
		for _, g := range w.gateway().Gateways {
			for _, l := range g.Listeners {
				if g.Namespace+"/"+g.Name == a.gateway {
					add(l.Hostname)
				}
			}
		}
	}
	if slices.ContainsFunc(classes, func(c *assertion.Class) bool { return c.Texts["host"] != nil }) {
		for _, host := range slices.Clone(t.list.All(assertion.MadeUp)) {
			t.list.Add(strings.ToUpper(host)) // routes ignore the case, classes do not
		}
	}
	hosts := t.values()
	p.isCut = p.isCut || t.list.IsCut()
	return slices.DeleteFunc(hosts, func(host string) bool { return host == "" || !classes[0].Texts["host"].Fits(host) })
}

// fitsHostname reports whether a hostname of a route or a listener covers a host.
func fitsHostname(hostname, host string) bool {
	host = strings.ToLower(host)
	if rest, isWild := strings.CutPrefix(hostname, "*"); isWild {
		return strings.HasSuffix(host, rest) && len(host) > len(rest)
	}
	return hostname == host
}

// space is the requests of one host.
type space struct {
	host    string
	matches []tables.GatewayMatch
	classes []*assertion.Class // the class, and what is left out of it
}

func newSpace(a *arrival, host string, classes []*assertion.Class) *space {
	s := &space{host: host, classes: classes}
	for _, rule := range a.rules {
		if len(rule.hostnames) > 0 && !slices.ContainsFunc(rule.hostnames, func(h string) bool { return fitsHostname(h, host) }) {
			continue
		}
		for _, m := range rule.matches {
			if rule.grpc && m.GRPC == nil {
				m.GRPC = new(tables.GatewayGRPCMethod)
			}
			s.matches = append(s.matches, m)
		}
	}
	return s
}

// methods returns the methods that matches and classes tell apart.
func (s *space) methods() []string {
	t := criteriaOf{}
	for _, c := range s.classes {
		t.class(c.Texts["method"])
	}
	t.list.Add("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
	for _, m := range s.matches {
		method := m.Method
		if m.GRPC != nil {
			method = "POST"
		}
		if method != "" {
			t.list.Add(method)
			t.tests = append(t.tests, func(value string) bool { return value == method })
		}
	}
	return s.fitting("method", t.values())
}

// fitting returns the values of a key that are in the class, and not empty.
func (s *space) fitting(key string, values []string) []string {
	return slices.DeleteFunc(values, func(value string) bool { return value == "" || !s.classes[0].Texts[key].Fits(value) })
}

// paths returns the paths that matches and classes tell apart.
func (s *space) paths(p *prover) []string {
	t := criteriaOf{}
	for _, c := range s.classes {
		t.class(c.Texts["path"])
	}
	t.list.Patterns = append(t.list.Patterns, "^/")
	fits := func(expression string) {
		compiled, err := regexp.Compile(expression)
		if err != nil {
			return // it matches nothing
		}
		t.list.Patterns = append(t.list.Patterns, expression)
		t.tests = append(t.tests, compiled.MatchString)
	}
	for _, m := range s.matches {
		switch {
		case m.GRPC != nil && m.GRPC.Type != "":
			fits(grpcPath(m.GRPC))
			fits("^/[^/]+/[^/]+$")
			if m.GRPC.Type != regularExpression && m.GRPC.Service != "" {
				t.list.Add("/" + m.GRPC.Service + "/" + cmp.Or(m.GRPC.Method, assertion.MadeUp))
			}
		case m.GRPC != nil:
		case m.PathType == "Exact":
			path := m.Path
			t.list.Add(path)
			t.tests = append(t.tests, func(value string) bool { return value == path })
		case m.PathType == regularExpression:
			fits("^(?:" + m.Path + ")$")
		default:
			prefix := strings.TrimRight(m.Path, "/")
			t.list.Add(prefix, prefix+"/")
			fits("^" + regexp.QuoteMeta(prefix) + "(?:/|$)")
		}
	}
	t.list.Add("/", "/"+assertion.MadeUp)
	values := slices.DeleteFunc(t.values(), func(path string) bool { return !strings.HasPrefix(path, "/") })
	p.isCut = p.isCut || t.list.IsCut()
	return s.fitting("path", values)
}

// grpcPath returns an expression for the paths of a method of gRPC.
func grpcPath(m *tables.GatewayGRPCMethod) string {
	part := func(name string) string {
		switch {
		case name == "":
			return "[^/]+"
		case m.Type == regularExpression:
			return "(?:" + name + ")"
		}
		return regexp.QuoteMeta(name)
	}
	return "^/" + part(m.Service) + "/" + part(m.Method) + "$"
}

package gateway

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle/random"
)

var concreteHosts = []string{"api.books.example", "books.example", "x.api.books.example", "y.books.example", "a.b.books.example", "z.example", "other.test", "nowhere.test", "test", "a"}

// Requests makes n random requests, most of them near a path. They are the same
// each time.
func (w *World) Requests(n int) []*Request {
	g := requester{random.New(w.seed, 14), w}
	requests := make([]*Request, 0, n)
	for range n {
		requests = append(requests, g.request())
	}
	return requests
}

type requester struct {
	random.Source
	w *World
}

// request makes a request that is near a path, or at random in a world without paths.
func (g requester) request() *Request {
	var path Path
	if paths := g.w.Paths(); len(paths) > 0 {
		path = paths[g.IntN(len(paths))]
	} else {
		path.Gateway = g.w.Gateways[g.IntN(len(g.w.Gateways))]
		path.Listener = path.Gateway.Listeners[0]
		path.Route = &Route{Rules: []*RouteRule{{}}}
	}
	request := map[string]any{"host": g.host(path), "method": g.One(gateMethods)}
	g.fit(request, path)
	if path.Route.GRPC || g.Once(20) {
		g.callGRPC(request, path)
	}
	input := map[string]any{"request": request}
	g.enter(input, request, path)
	if g.Once(2) {
		input["source"] = map[string]any{"address": g.One([]string{"10.0.0.9", "192.0.2.1"})}
	}
	g.identify(input)
	return &Request{input}
}

// host draws a host that the path serves, mostly.
func (g requester) host(path Path) string {
	hosts := slices.Clone(concreteHosts)
	if !g.Once(12) {
		hosts = slices.DeleteFunc(hosts, func(host string) bool {
			_, fits := path.Route.host(path.Listener, host)
			return !fits
		})
	}
	if len(hosts) == 0 {
		hosts = concreteHosts
	}
	host := g.One(hosts)
	if g.Once(8) {
		host = strings.ToUpper(host[:1]) + host[1:]
	}
	if g.Once(8) {
		host += ":8443"
	}
	return host
}

// fit gives a request what a match of the path's rule wants, mostly.
func (g requester) fit(request map[string]any, path Path) {
	match := &RouteMatch{}
	if matches := path.Route.Rules[path.Rule].Matches; len(matches) > 0 && !g.Once(6) {
		match = matches[g.IntN(len(matches))]
	}
	_, url := match.prefix()
	switch {
	case match.PathType == "RegularExpression":
		url = pathExpressions[url]
	case match.PathType == "Exact":
	case g.Once(3):
		url = strings.TrimSuffix(url, "/") + g.One([]string{"/", "/7", "/x", "s", ""})
	}
	if g.Once(8) || url == "" {
		url = g.One(gatePaths)
	}
	if match.Method != "" && !g.Once(8) {
		request["method"] = match.Method
	}
	query := map[string]string{}
	if g.Once(4) {
		query["a"] = g.One([]string{"1", "a", ""})
	}
	for _, pair := range match.Query {
		query[pair.Name] = pair.sample()
	}
	request["path"] = url
	g.ask(request, query)
	headers := map[string]any{}
	if g.Once(2) {
		headers["x-tenant"] = g.One([]string{"a", "b", "ab"})
	}
	for _, pair := range match.Headers {
		headers[strings.ToLower(pair.Name)] = pair.sample()
	}
	if value := headers["x-tenant"]; value != nil && g.Once(3) {
		delete(headers, "x-tenant")
		headers["X-Tenant"] = value
	}
	if len(headers) > 0 || g.Once(2) {
		request["headers"] = headers
	}
}

// callGRPC makes a request one of gRPC, mostly.
func (g requester) callGRPC(request map[string]any, path Path) {
	request["method"] = g.One([]string{"POST", "POST", "POST", "POST", "POST", "POST", "GET", "post"})
	headers, given := request["headers"].(map[string]any)
	if !given {
		headers = map[string]any{}
		request["headers"] = headers
	}
	headers[g.One([]string{"content-type", "Content-Type"})] = g.One([]string{
		"application/grpc", "application/grpc", "application/grpc+proto", "application/grpc;a=b", "application/grpc-web", "application/json", "Application/grpc",
	})
	service, method := g.One(append([]string{"x"}, grpcServices...)), g.One(append([]string{"x"}, grpcMethods...))
	for _, m := range path.Route.Rules[path.Rule].Matches {
		if m.GRPC != nil && !g.Once(6) {
			service, method = m.GRPC.sample(m.GRPC.Service, service), m.GRPC.sample(m.GRPC.Method, method)
		}
	}
	url := "/" + service + "/" + method
	if g.Once(10) {
		url += g.One([]string{"/", "/more", "//"})
	}
	if g.Once(20) {
		url = g.One([]string{"/", "/" + service, "//" + method, service + "/" + method, "/" + service + "/"})
	}
	request["path"] = url
	delete(request, "url_path")
	delete(request, "query")
}

// sample is a value that fits, or another one where any fits.
func (m *GRPCMatch) sample(wanted, other string) string {
	switch {
	case wanted == "":
		return other
	case m.Regular:
		return grpcExpressions[wanted]
	}
	return wanted
}

// sample is a value that fits.
func (p RoutePair) sample() string {
	if p.Regular {
		return valueExpressions[p.Value]
	}
	return p.Value
}

// ask adds a query to the path, and sometimes both beside it.
func (g requester) ask(request map[string]any, query map[string]string) {
	url, pairs := request["path"].(string), []string{}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		pairs = append(pairs, name+"="+query[name])
	}
	asked := strings.Join(pairs, "&")
	if asked != "" || g.Once(10) {
		request["path"] = url + "?" + asked
	}
	if g.Once(6) {
		request["url_path"], request["query"] = url, asked
	}
}

// enter names the gateway, the listener or the route, or states the port and the
// scheme.
func (g requester) enter(input, request map[string]any, path Path) {
	gateway := map[string]any{"namespace": path.Gateway.Namespace, "name": path.Gateway.Name}
	if g.Once(2) {
		gateway["listener"] = path.Listener.Name
	}
	switch g.IntN(100) {
	case 0:
		gateway["name"] = "nowhere"
	case 1:
		gateway["listener"] = "none"
	}
	if !g.Once(6) || len(g.w.Gateways) > 1 && !g.Once(6) {
		input["gateway"] = gateway
	}
	if g.Once(2) {
		request["scheme"] = strings.ToLower(path.Listener.Protocol)
		if g.Once(8) {
			request["scheme"] = g.One([]string{"http", "https", "HTTPS"})
		}
	}
	if g.Once(2) {
		input["destination"] = map[string]any{"port": path.Listener.Port}
		if g.Once(8) {
			input["destination"] = map[string]any{"port": []int{80, 443, 8080, 9}[g.IntN(4)]}
		}
	}
	if path.Route.Name != "" && g.Once(8) {
		input["route"] = map[string]any{"namespace": path.Route.Namespace, "name": path.Route.Name, "rule": path.Route.rule(path.Rule)}
		if g.Once(2) {
			input["route"].(map[string]any)["kind"] = path.Route.kind()
		}
	}
}

// identify adds an identity, or none.
func (g requester) identify(input map[string]any) {
	auth := map[string]any{}
	switch g.IntN(8) {
	case 0:
	case 1:
		auth["identity"] = nil
	default:
		auth["identity"] = g.identity()
	}
	if g.Once(2) {
		account := map[string]any{}
		if g.Once(2) {
			account["plan"] = g.One([]string{"gold", "silver"})
		}
		if g.Once(2) {
			account["quota"] = []any{1, 5, "many", "many"}[g.IntN(4)]
		}
		auth["metadata"] = map[string]any{"account": account}
	}
	if len(auth) > 0 || g.Once(2) {
		input["auth"] = auth
	}
}

// identity draws attributes of an identity; the text of each object and list is the same
// however it is written.
func (g requester) identity() map[string]any {
	identity := map[string]any{}
	for _, attribute := range []struct {
		key    string
		values []any
	}{
		{"sub", []any{"alice", "alice", "bob", "dev", g.One(random.Users)}},
		{"groups", []any{[]any{"dev"}, []any{"ops", "dev"}, []any{}, []any{"ops"}, "dev"}},
		{"age", []any{7, 40, "old", "old"}},
		{"staff", []any{true, false, "true"}},
		{"nick", []any{nil, "al"}},
		{"0", []any{"zero"}},
		{"meta", []any{map[string]any{"a": 1}, map[string]any{}}},
		{"note", []any{"a\u0007b", "ab"}},
		{"token", []any{"YWxpY2U6c2VjcmV0"}},
		{"metadata", []any{map[string]any{"annotations": map[string]any{"example.com/role": g.One([]string{"admin", "guest"})}}}},
	} {
		if g.Once(2) || attribute.key == "sub" && g.Once(2) {
			identity[attribute.key] = attribute.values[g.IntN(len(attribute.values))]
		}
	}
	if g.Once(20) {
		identity["anonymous"] = true
	}
	return identity
}

package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var (
	gateMethods  = []string{"GET", "POST", "DELETE"}
	gatePaths    = []string{"/", "/books", "/books/7", "/books/7/x", "/bookshop", "/a.b/c"}
	gatePrefixes = append([]string{"/books/"}, gatePaths...)
	// Regular expressions with something that they match.
	pathExpressions  = map[string]string{"/books/[0-9]+": "/books/7", "/b.*": "/bookshop", "/books|/x": "/x", "/(a|b).*/.*": "/a.b/c"}
	valueExpressions = map[string]string{"^a.*$": "ab", "^(a|b)$": "b", "(?i)^A$": "a", "[^a-z]": "B"}

	// What selectors find in some requests, with values to compare it with.
	selections = map[string][]string{
		"request.method":                                       gateMethods,
		"request.path":                                         {"/books", "/books/7", "^/b", "?", `\?`},
		"request.url_path":                                     gatePaths,
		"request.query":                                        {"", "a=1", "a"},
		"request.headers.x-tenant":                             {"", "a", "b", "^a", "(?i)^B$"},
		"context.request.http.method":                          gateMethods,
		"context.source.address":                               {"10.0.0.9", `^10\.`},
		"source.address":                                       {"10.0.0.9", "", "192"},
		"auth.identity.sub":                                    {"alice", "bob", "", "b$", "(?i)^ALICE$", "[^ -~]"},
		"auth.identity.groups":                                 {"dev", "ops", `["dev"]`, `["ops","dev"]`, "[]"},
		"auth.identity.groups.0":                               {"dev", "ops", ""},
		"auth.identity.groups.9":                               {"dev", ""},
		"auth.identity.groups.#":                               {"0", "1", "2", ""},
		"auth.identity.age":                                    {"7", "40", "old", "^[0-9]+$"},
		"auth.identity.staff":                                  {"true", "false", ""},
		"auth.identity.nick":                                   {"", "null", "al"},
		"auth.identity.sub.0":                                  {"", "a"},
		"auth.identity.missing.there":                          {"", "x"},
		"auth.identity.0":                                      {"zero", ""},
		"auth.identity.meta":                                   {`{"a":1}`, "{}", ""},
		"auth.identity.meta.a":                                 {"1", ""},
		"auth.metadata.account.plan":                           {"gold", "silver", ""},
		"auth.authorization.c.allow":                           {"true", "false"},
		"auth.authorization.c.level":                           {"40", ""},
		"auth.identity.anonymous":                              {"true", ""},
		"auth.identity.sub.@strip":                             {"alice", "bob"},
		`auth.identity.note.@strip`:                            {"ab", ""},
		"auth.identity.sub.@case:lower":                        {"alice"},
		`auth.identity.metadata.annotations.example\.com/role`: {"admin", "", "guest"},
		`request.path.@extract:{"sep":"/","pos":1}`:            {"books", "bookshop", "a.b", ""},
		`request.path.@extract:{"sep":"/","pos":2}`:            {"7", "c", ""},
		"auth.identity.sub.@case:upper":                        {"ALICE", "BOB", "alice"},
		`auth.identity.sub.@replace:{"old":"b","new":"r"}`:     {"ror", "alice"},
		"auth.identity.sub.@base64:encode":                     {"YWxpY2U=", "Ym9i"},
		"auth.identity.token.@base64:decode":                   {"alice:secret", ""},
		`auth.identity.token.@base64:decode.@extract:{"sep":":","pos":0}.@case:upper`: {"ALICE", ""},
	}
	// Values in requests, as selectors; those in braces are templates.
	templates = []string{
		"user-{auth.identity.sub}", "{request.method} {request.path}", "{auth.identity.sub.@case:upper}!", "of {auth.identity.groups.#}", "{request.missing}",
	}
	foundAlways = []string{
		"request.method", "request.path", "request.url_path", `request.path.@extract:{"sep":"/","pos":1}`, "context.request.http.method",
	}
	foundOften = append([]string{"auth.identity.sub", "auth.identity.groups", "auth.identity.meta", "auth.identity.age", "auth.identity.staff"}, foundAlways...)
)

// Generate makes a random directory for the point gateway, path to content,
// and what it means: routes that requests can tell apart, policies that look at
// requests, and what their reviews need.
func Generate(seed uint64) (map[string]string, *World) {
	g := newGenerator(seed, 13)
	g.rich = true
	g.reviewed()
	g.hierarchy()
	for _, r := range g.w.Routes {
		for _, rule := range r.Rules {
			for range g.IntN(3) {
				if r.GRPC {
					rule.Matches = append(rule.Matches, g.grpcMatch())
				} else {
					rule.Matches = append(rule.Matches, g.match())
				}
			}
		}
	}
	for range 3 + g.IntN(8) {
		g.policy()
	}
	g.resolvePatterns()
	return g.write(), g.w
}

// reviewed makes the documents that access reviews are decided by.
func (g *generator) reviewed() {
	g.Kubernetes()
	if g.Once(2) {
		g.Everything()
	}
	if g.Once(4) {
		g.Origin()
	}
	if g.Once(4) {
		g.World.Denials.GeneratePolicies(g.Source)
	}
}

func (g *generator) match() *RouteMatch {
	m := &RouteMatch{}
	switch g.IntN(6) {
	case 0: // it says nothing of the path
	case 1:
		m.PathType, m.Path = "Exact", g.One(gatePaths)
	case 2:
		m.PathType, m.Path = "RegularExpression", g.One(slices.Sorted(maps.Keys(pathExpressions)))
	default:
		m.PathType, m.Path = g.One([]string{"", "PathPrefix"}), g.One(gatePrefixes)
	}
	if g.Once(3) {
		m.Method = g.One(gateMethods)
	}
	if g.Once(4) {
		m.Headers = g.pairs([]string{"X-Tenant", "x-day"})
	}
	if g.Once(5) {
		m.Query = g.pairs([]string{"a", "b"})
	}
	return m
}

// Names of gRPC, and expressions with what they match.
var (
	grpcServices    = []string{"books.v1.Library", "books.v1.Shop", "a", "Health"}
	grpcMethods     = []string{"Get", "List", "Watch"}
	grpcExpressions = map[string]string{"books[.]v[0-9]+[.]Library": "books.v1.Library", "(Get|List)": "List", "a|Health": "Health", ".*": "x"}
)

func (g *generator) grpcMatch() *RouteMatch {
	m := &RouteMatch{}
	if !g.Once(4) {
		m.GRPC = &GRPCMatch{Regular: g.Once(3)}
		services, methods := grpcServices, grpcMethods
		if m.GRPC.Regular {
			services = slices.Sorted(maps.Keys(grpcExpressions))
			methods = services
		}
		which := g.IntN(3)
		if which < 2 {
			m.GRPC.Service = g.One(services)
		}
		if which > 0 {
			m.GRPC.Method = g.One(methods)
		}
	}
	if g.Once(4) {
		m.Headers = g.pairs([]string{"X-Tenant", "x-day"})
	}
	return m
}

func (g *generator) pairs(names []string) []RoutePair {
	var pairs []RoutePair
	for _, name := range names[:1+g.IntN(len(names))] {
		pair := RoutePair{Name: name, Value: g.One([]string{"a", "b", "1"})}
		if g.Once(4) {
			pair.Value, pair.Regular = g.One(slices.Sorted(maps.Keys(valueExpressions))), true
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// resolvePatterns sees to it that all references are resolved on all paths: each
// stands beside its pattern, which only an unset takes away.
func (g *generator) resolvePatterns() {
	if g.w.resolved() {
		return
	}
	for _, p := range g.w.Policies {
		p.Unset = slices.DeleteFunc(p.Unset, func(key string) bool { return strings.HasPrefix(key, "patterns.") })
		if len(p.Unset) == 0 && len(p.keys()) == 0 {
			p.Unset = []string{"rules.metadata.a"}
		}
	}
	g.w.forget()
	if !g.w.resolved() {
		panic(fmt.Sprintf("seed %d: a reference to a pattern is not resolved", g.w.seed))
	}
}

// resolved reports whether every reference to a pattern is, on every path.
func (w *World) resolved() bool {
	for _, path := range w.Paths() {
		f := w.fold(path, "AuthPolicy")
		for _, rule := range f.Rules {
			for _, name := range references(plainValue(rule)) {
				if f.Rules["patterns."+name] == nil {
					return false
				}
			}
		}
	}
	return true
}

func references(value any) []string {
	var names []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			names = append(names, references(item)...)
		}
	case map[string]any:
		if name := text(v["patternRef"]); name != "" {
			names = append(names, name)
		}
		for _, item := range v {
			names = append(names, references(item)...)
		}
	}
	return names
}

// forget forgets what was computed of a world that has changed.
func (w *World) forget() {
	w.paths, w.folds, w.reported = nil, map[string]*Fold{}, map[*Policy][]Condition{}
}

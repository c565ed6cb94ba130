package gateway

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// RouteMatch is one match of a route's rule for a hostname; its JSON is what Rego reads of
// a match of an HTTPRoute.
type RouteMatch struct {
	Route   string                     `json:"route"` // the target string of the rule
	Type    string                     `json:"type"`
	Path    string                     `json:"path"`
	Method  string                     `json:"method"`
	Headers []tables.GatewayValueMatch `json:"headers"`
	Query   []tables.GatewayValueMatch `json:"query"`
	Policy  string                     `json:"policy"` // the ID of its steps, empty for none
	// Tie is a number that the matches of routes of several namespaces share where no
	// criterion of precedence before age orders them; zero: the match ties with none.
	Tie int `json:"tie,omitempty"`
	// Age orders routes from a cluster by their creation; nil for others.
	Age *int `json:"age,omitempty"`
	// GRPC is the method that a match of a GRPCRoute requires. Without a type every method
	// matches.
	GRPC tables.GatewayGRPCMethod `json:"-"`

	from *tables.GatewayRoute
	rule [2]int // the rule's and the match's position
}

// ListenerTable is the policy of each path through a listener, by the target string of its
// rule, and the matches by the kind of their route and by hostname, in the order in which
// they are tried.
type ListenerTable struct {
	Paths   map[string]string
	Matches map[string]map[string][]RouteMatch
}

// OrderRoutes returns the table of each listener, by the indexes of gateway and listener.
// The table has been checked.
func OrderRoutes(t *tables.Gateway) map[[2]int]*ListenerTable {
	all := make(map[[2]int]*ListenerTable)
	for i := range t.Gateways {
		for j := range t.Gateways[i].Listeners {
			all[[2]int{i, j}] = &ListenerTable{
				Paths:   make(map[string]string),
				Matches: map[string]map[string][]RouteMatch{tables.KindHTTPRoute: {}, tables.KindGRPCRoute: {}},
			}
		}
	}
	hosts := make([]hostnames, len(t.Routes))
	for i := range t.Routes {
		hosts[i] = hostnamesOf(t.Routes[i].Hostnames)
	}
	for i := range t.Paths {
		p := &t.Paths[i]
		all[[2]int{p.Gateway, p.Listener}].add(t, p, hosts[p.Route])
	}
	for _, listener := range all {
		numberAll(listener.Matches)
	}
	return all
}

// add adds a path through the listener, of a route with hostnames.
func (l *ListenerTable) add(t *tables.Gateway, p *tables.GatewayPath, hosts hostnames) {
	route := &t.Routes[p.Route]
	target := t.RuleName(*p)
	policy := ""
	if steps := t.Effective[p.Effective[tables.KindAuthPolicy]].Steps; steps != nil {
		policy = steps.ID
	}
	l.Paths[target] = policy
	matches := l.Matches[route.Kind]
	for _, host := range hosts.common(t.Gateways[p.Gateway].Listeners[p.Listener].Hostname) {
		for i, m := range route.Rules[p.Rule].Matches {
			m.GRPC = cmp.Or(m.GRPC, new(tables.GatewayGRPCMethod))
			matches[host] = append(matches[host], RouteMatch{
				GRPC: *m.GRPC, Route: target, Type: m.PathType, Path: m.Path, Method: m.Method,
				Headers: notNil(m.Headers), Query: notNil(m.Query), Policy: policy,
				from: route,
				rule: [2]int{p.Rule, i},
			})
		}
	}
}

// numberAll sorts the matches of a listener and marks those that can tie. Where there are
// both kinds of routes, a route of one kind can tie with any of the other.
func numberAll(all map[string]map[string][]RouteMatch) {
	mixed := len(all[tables.KindHTTPRoute]) > 0 && len(all[tables.KindGRPCRoute]) > 0
	for kind, compare := range precedences {
		ties := 0
		for _, host := range slices.Sorted(maps.Keys(all[kind])) {
			list := all[kind][host]
			slices.SortFunc(list, func(a, b RouteMatch) int { return cmp.Or(compare(a, b), compareAfter(a, b)) })
			ties = numberTies(list, compare, ties)
			for i := range list {
				if mixed && list[i].from.Cluster {
					list[i].Age = &list[i].from.Created
				}
			}
		}
	}
}

// precedences compare matches for one hostname by the criteria before the age of their
// routes, by the kind of the routes.
var precedences = map[string]func(a, b RouteMatch) int{tables.KindHTTPRoute: comparePrecedence, tables.KindGRPCRoute: compareGRPC}

// numberTies marks the matches that can tie, and returns the last number it gave.
func numberTies(list []RouteMatch, compare func(a, b RouteMatch) int, last int) int {
	for len(list) > 0 {
		n := 1
		several := false // namespaces
		for n < len(list) && compare(list[0], list[n]) == 0 {
			several = several || list[n].from.Namespace != list[0].from.Namespace
			n++
		}
		if several {
			last++
			for i := range list[:n] {
				list[i].Tie = last
				if list[i].from.Cluster {
					list[i].Age = &list[i].from.Created
				}
			}
		}
		list = list[n:]
	}
	return last
}

func notNil(list []tables.GatewayValueMatch) []tables.GatewayValueMatch {
	return append([]tables.GatewayValueMatch{}, list...)
}

// pathRanks is the order of path matches: a regular expression says more than a
// prefix, and less than the path itself.
var pathRanks = map[string]int{"Exact": 0, "RegularExpression": 1, "PathPrefix": 2}

// compareAfter puts first what the Gateway API gives precedence when matches are equal:
// see the rules of HTTPRoute and GRPCRoute in its specification.
func compareAfter(a, b RouteMatch) int {
	return cmp.Or(
		cmp.Compare(a.from.Created, b.from.Created),
		strings.Compare(a.from.Namespace+"/"+a.from.Name, b.from.Namespace+"/"+b.from.Name),
		slices.Compare(a.rule[:], b.rule[:]),
	)
}

// compareGRPC compares matches of GRPCRoutes: the one that names more comes first.
func compareGRPC(a, b RouteMatch) int {
	length := func(text string) int { return len([]rune(text)) }
	return cmp.Or(
		cmp.Compare(length(b.GRPC.Service), length(a.GRPC.Service)),
		cmp.Compare(length(b.GRPC.Method), length(a.GRPC.Method)),
		cmp.Compare(len(b.Headers), len(a.Headers)),
	)
}

// comparePrecedence compares matches of HTTPRoutes.
func comparePrecedence(a, b RouteMatch) int {
	exact := 0
	if a.Type != "Exact" && a.Type == b.Type {
		exact = cmp.Compare(len([]rune(b.Path)), len([]rune(a.Path)))
	}
	return cmp.Or(
		cmp.Compare(pathRanks[a.Type], pathRanks[b.Type]),
		exact,
		cmp.Compare(emptiness(a.Method), emptiness(b.Method)),
		cmp.Compare(len(b.Headers), len(a.Headers)),
		cmp.Compare(len(b.Query), len(a.Query)),
	)
}

func emptiness(text string) int {
	if text == "" {
		return 1
	}
	return 0
}

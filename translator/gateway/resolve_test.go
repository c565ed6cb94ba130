package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// gatewayHeader is the header of a document of this family.
func gatewayHeader(kind, namespace, name string) syntax.Header {
	return syntax.Header{
		Family: document.FamilyGateway, Kind: kind, Namespace: namespace, Name: name,
		At: diag.Position{File: kind + "-" + namespace + "-" + name, Line: 2},
	}
}

func routeOf(namespace, name string, parents ...document.ParentRef) *document.Route {
	return &document.Route{Header: gatewayHeader(tables.KindHTTPRoute, namespace, name), Parents: parents, Rules: []document.RouteRule{{Name: "rule-1"}}}
}

func parentOf(kind, namespace, name string) document.ParentRef {
	return document.ParentRef{Kind: syntax.Text{Value: kind}, Namespace: syntax.Text{Value: namespace}, Name: syntax.Text{Value: name}}
}

// A route in namespace "shop" with a parentRef to Gateway net/edge, and whether a
// listener of it accepts the route.
func TestListenersAccept(t *testing.T) {
	named := func(values ...string) *syntax.Selector {
		return &syntax.Selector{Requirements: []syntax.Requirement{{Key: labelNamespace, Operator: "In", Values: values}}}
	}
	rows := []struct {
		name     string
		listener document.Listener
		hosts    []string
		edit     func(*document.ParentRef)
		accepted bool
		hint     string
	}{
		{"all namespaces", document.Listener{From: "All"}, nil, nil, true, ""},
		{"its own namespace only", document.Listener{From: "Same"}, nil, nil, false, `its own namespace "net" only`},
		{"no namespace", document.Listener{From: "None"}, nil, nil, false, "no namespace"},
		{"a selector that fits", document.Listener{From: "Selector", Namespaces: named("bank", "shop")}, nil, nil, true, ""},
		{"a selector that does not", document.Listener{From: "Selector", Namespaces: named("bank")}, nil, nil, false, `does not fit namespace "shop"`},
		{"a selector that is missing", document.Listener{From: "Selector"}, nil, nil, false, "does not fit"},
		{"TCP", document.Listener{From: "All", Protocol: "TCP"}, nil, nil, false, "protocol is TCP"},
		{"HTTPS", document.Listener{From: "All", Protocol: "HTTPS"}, nil, nil, true, ""},
		{"kinds with HTTPRoute", document.Listener{From: "All", Kinds: []string{"GRPCRoute", "HTTPRoute"}}, nil, nil, true, ""},
		{"kinds without", document.Listener{From: "All", Kinds: []string{"GRPCRoute"}}, nil, nil, false, "kinds has no HTTPRoute"},
		{"an HTTPRoute of another group", document.Listener{From: "All", Kinds: []string{"example.com/HTTPRoute"}}, nil, nil, false, "kinds has no HTTPRoute"},
		{"the port", document.Listener{From: "All"}, nil, func(p *document.ParentRef) { p.Port = 80 }, true, ""},
		{"another port", document.Listener{From: "All"}, nil, func(p *document.ParentRef) { p.Port = 81 }, false, "its port is 80"},
		{"the listener", document.Listener{From: "All"}, nil, func(p *document.ParentRef) { p.Section.Value = "http" }, true, ""},

		{"no hostname on either side", document.Listener{From: "All"}, nil, nil, true, ""},
		{"a hostname of the route", document.Listener{From: "All"}, []string{"a.example.com"}, nil, true, ""},
		{"a hostname of the listener", document.Listener{From: "All", Hostname: "a.example.com"}, nil, nil, true, ""},
		{"equal hostnames", document.Listener{From: "All", Hostname: "a.example.com"}, []string{"b.example.com", "a.example.com"}, nil, true, ""},
		{"other hostnames", document.Listener{From: "All", Hostname: "a.example.com"}, []string{"b.example.com"}, nil, false, "b.example.com"},
		{"a name under the listener's", document.Listener{From: "All", Hostname: "*.example.com"}, []string{"x.a.example.com"}, nil, true, ""},
		{"the listener's own end", document.Listener{From: "All", Hostname: "*.example.com"}, []string{"example.com"}, nil, false, "example.com"},
		{"a name that only ends alike", document.Listener{From: "All", Hostname: "*.example.com"}, []string{"badexample.com"}, nil, false, "badexample.com"},
		{"a name under the route's", document.Listener{From: "All", Hostname: "a.example.com"}, []string{"*.example.com"}, nil, true, ""},
		{"both have many", document.Listener{From: "All", Hostname: "*.a.example.com"}, []string{"*.example.com"}, nil, true, ""},
		{"both have many, the other way", document.Listener{From: "All", Hostname: "*.example.com"}, []string{"*.a.example.com"}, nil, true, ""},
		{"both have many, apart", document.Listener{From: "All", Hostname: "*.b.example.com"}, []string{"*.a.example.com"}, nil, false, "*.a.example.com"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			l := row.listener
			l.Name.Value, l.Port = "http", 80
			if l.Protocol == "" {
				l.Protocol = "HTTP"
			}
			parent := parentOf(tables.KindGateway, "net", "edge")
			if row.edit != nil {
				row.edit(&parent)
			}
			route := routeOf("shop", "api", parent, parent)
			route.Hostnames = row.hosts
			gateway := &document.Gateway{Header: gatewayHeader(tables.KindGateway, "net", "edge"), Listeners: []document.Listener{l}}
			resolved, list := resolveGatewayDocuments([]syntax.Document{gateway, route})
			if got, want := len(resolved.Routes[0].Listeners), map[bool]int{true: 1, false: 0}[row.accepted]; got != want {
				t.Errorf("got %d listeners, want %d", got, want)
			}
			if row.accepted != (count(list, diag.RouteNotAccepted) == 0) || list.HasErrors() {
				t.Errorf("got %v", list)
			}
			if !row.accepted && !strings.Contains(list[0].Hint, row.hint) {
				t.Errorf("got hint %q, want %q in it", list[0].Hint, row.hint)
			}
		})
	}
}

// A selector that no API server accepts selects nothing, and is reported once.
func TestListenerSelectorIsRefused(t *testing.T) {
	gateway := &document.Gateway{Header: gatewayHeader(tables.KindGateway, "net", "edge"), Listeners: []document.Listener{{
		Name: syntax.Text{Value: "http"}, Protocol: "HTTP", From: "Selector",
		Namespaces: &syntax.Selector{Requirements: []syntax.Requirement{{Key: labelNamespace, Operator: "In"}}},
	}}}
	resolved, list := resolveGatewayDocuments([]syntax.Document{
		gateway, routeOf("shop", "a", parentOf(tables.KindGateway, "net", "edge")), routeOf("shop", "b", parentOf(tables.KindGateway, "net", "edge")),
	})
	if got := count(list, diag.Value); got != 1 || len(resolved.Routes[0].Listeners) > 0 {
		t.Errorf("got %d diagnostics and %v, want one and no listener", got, resolved.Routes[0].Listeners)
	}
}

// Routes by the routes that are their parents, and the first of each circle.
func TestCircles(t *testing.T) {
	rows := []struct {
		name   string
		routes string // "a:b c" is a route with two parents
		cycles []string
		kinds  int
	}{
		{"none", "a:b b:c c:", nil, 2},
		{"itself", "a:a", []string{"a"}, 0},
		{"two", "a:b b:a", []string{"a, b"}, 0},
		{"three, and one that leads there", "a:b b:c c:a d:a", []string{"a, b, c"}, 1},
		{"two circles in one", "a:b b:a c c:b", []string{"a, b, c"}, 0},
		{"two circles apart", "a:b b:a c:d d:c", []string{"a, b", "c, d"}, 0},
		{"one leads to the other", "a:b b:a c c:d d:c", []string{"a, b", "c, d"}, 1},
		{"a parent that is not there", "a:x", nil, 1},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, list := resolveGatewayDocuments(routesOf(row.routes))
			var cycles []string
			for _, d := range list {
				if d.Code == diag.Cycle {
					_, names, _ := strings.Cut(d.Message, ": ")
					cycles = append(cycles, strings.ReplaceAll(names, "n/", ""))
				}
			}
			if !slices.Equal(cycles, row.cycles) {
				t.Errorf("got circles %q, want %q", cycles, row.cycles)
			}
			if got := count(list, diag.ParentKind); got != row.kinds {
				t.Errorf("got %d diagnostics %s, want %d", got, diag.ParentKind, row.kinds)
			}
		})
	}
}

func routesOf(text string) []syntax.Document {
	var out []syntax.Document
	var last *document.Route
	for word := range strings.FieldsSeq(text) {
		name, parent, ok := strings.Cut(word, ":")
		if !ok {
			parent = word
		} else {
			last = routeOf("n", name)
			out = append(out, last)
		}
		if parent != "" {
			last.Parents = append(last.Parents, parentOf(tables.KindHTTPRoute, "n", parent))
		}
	}
	return out
}

// A circle of very many routes is found without a stack that overflows, and reported in
// few words.
func TestLongCircle(t *testing.T) {
	const n = 50_000
	documents := make([]syntax.Document, n)
	for i := range documents {
		documents[i] = routeOf("n", fmt.Sprintf("r%06d", i), parentOf(tables.KindHTTPRoute, "n", fmt.Sprintf("r%06d", (i+1)%n)))
	}
	_, list := resolveGatewayDocuments(documents)
	if len(list) != 1 || list[0].Code != diag.Cycle || len(list[0].Message) > 300 {
		t.Errorf("got %d diagnostics, want one short %s", len(list), diag.Cycle)
	}
}

// What a policy is attached to, and why it is rejected.
func TestTargets(t *testing.T) {
	gateway := &document.Gateway{Header: gatewayHeader(tables.KindGateway, "net", "edge"), Listeners: []document.Listener{{Name: syntax.Text{Value: "http"}}, {Name: syntax.Text{Value: "https"}}}}
	route := routeOf("net", "api")
	rows := []struct {
		name      string
		namespace string
		target    document.Target
		mistaken  bool
		want      string
	}{
		{"a gateway", "net", document.Target{Kind: tables.KindGateway, Name: syntax.Text{Value: "edge"}}, false, "edge -1"},
		{"a listener", "net", document.Target{Kind: tables.KindGateway, Name: syntax.Text{Value: "edge"}, Section: syntax.Text{Value: "https"}}, false, "edge 1"},
		{"a route", "net", document.Target{Kind: tables.KindHTTPRoute, Name: syntax.Text{Value: "api"}}, false, "api -1"},
		{"a rule", "net", document.Target{Kind: tables.KindHTTPRoute, Name: syntax.Text{Value: "api"}, Section: syntax.Text{Value: "rule-1"}}, false, "api 0"},
		{"a gateway called like a route", "net", document.Target{Kind: tables.KindGateway, Name: syntax.Text{Value: "api"}}, false, "TargetNotFound"},
		{"another namespace", "shop", document.Target{Kind: tables.KindGateway, Name: syntax.Text{Value: "edge"}}, false, "TargetNotFound"},
		{"no such listener", "net", document.Target{Kind: tables.KindGateway, Name: syntax.Text{Value: "edge"}, Section: syntax.Text{Value: "rule-1"}}, false, "TargetNotFound"},
		{"with mistakes", "net", document.Target{Kind: tables.KindGateway, Name: syntax.Text{Value: "edge"}}, true, "Invalid"},
		{"with mistakes in the target", "net", document.Target{}, true, "Invalid"},
		{"not there, with mistakes", "net", document.Target{Kind: tables.KindGateway, Name: syntax.Text{Value: "x"}}, true, "TargetNotFound"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			policy := &document.InheritedPolicy{Header: gatewayHeader("AuthPolicy", row.namespace, "p"), Target: row.target, Mistaken: row.mistaken}
			second := *policy
			second.At.Line = 9
			resolved, list := resolveGatewayDocuments([]syntax.Document{gateway, route, policy, &second})
			p := resolved.InheritedPolicies[0]
			got := string(p.Rejected)
			switch {
			case got != "":
			case p.Gateway != nil:
				got = fmt.Sprint(p.Gateway.Name, " ", p.Section)
			case p.Route != nil:
				got = fmt.Sprint(p.Route.Name, " ", p.Section)
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if missing := count(list, diag.TargetNotFound) == 1; missing != (row.want == "TargetNotFound") {
				t.Errorf("got %v", list)
			}
			if got := resolved.InheritedPolicies[1].Rejected; got != tables.Conflicted || count(list, diag.Duplicate) != 1 {
				t.Errorf("declared twice: got %q and %v, want %s", got, list, tables.Conflicted)
			}
		})
	}
}

func resolveGatewayDocuments(documents []syntax.Document) (*resolution, diag.List) {
	d := new(directory.Names).NewDirectory(documents, directory.Options{})
	return resolve(d), d.List
}

// count returns how many diagnostics have the code.
func count(list diag.List, code diag.Code) int {
	n := 0
	for _, d := range list {
		if d.Code == code {
			n++
		}
	}
	return n
}

// What a listener does with a route is found once, and not for each parentRef: the work is that of the
// listeners and the parentRefs, and not of their product.
func TestManyParentRefsAndListeners(t *testing.T) {
	const many = 500
	gateway := &document.Gateway{Header: gatewayHeader(tables.KindGateway, "net", "edge")}
	route := routeOf("net", "r")
	route.Hostnames = []string{"h1.example.com", "other.example.com"}
	for i := range many {
		gateway.Listeners = append(gateway.Listeners, document.Listener{
			Name: syntax.Text{Value: fmt.Sprint("l", i)}, Protocol: "HTTP", Port: 1, Hostname: fmt.Sprintf("h%d.example.com", i), From: "All",
		})
		parent := parentOf(tables.KindGateway, "net", "edge")
		parent.Port = 1 + i%2
		route.Parents = append(route.Parents, parent)
	}
	var out *resolution
	allocations := testing.AllocsPerRun(1, func() { out, _ = resolveGatewayDocuments([]syntax.Document{gateway, route}) })
	if got := len(out.Routes[0].Listeners); got != 1 {
		t.Errorf("the route is on %d listeners, want 1", got)
	}
	if allocations > 50*many {
		t.Errorf("got %v allocations for %d parentRefs and as many listeners", allocations, many)
	}
}

package diff_test

import (
	"slices"
	"strings"
	"testing"
)

// A path of a GRPCRoute has a witness, which is a call of its method.
func TestMethodsHaveWitnesses(t *testing.T) {
	documents := []string{
		"{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge, namespace: net}, spec: {gatewayClassName: any," +
			" listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}}",
		"{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: api, namespace: books}, spec: {parentRefs: [{name: edge, namespace: net}]," +
			" hostnames: [api.books.example], rules: [{name: read, matches: [{method: {service: books.v1.Books, method: Get}}]}]}}",
		"{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: w, namespace: books}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: GRPCRoute, name: api}," +
			" rules: {authorization: {who: {patternMatching: {patterns: [{selector: auth.identity.group, operator: eq, value: editors}]}}}}}}",
	}
	edited := append(documents[:2:2], strings.Replace(documents[2], "value: editors", "value: writers", 1))
	report := compare(t, documents, edited)
	if len(report.Classes) != 1 || len(report.Classes[0].Transitions) == 0 {
		t.Errorf("got %+v, want one class with a transition", report.Classes)
	}
}

// A route that comes or goes concerns its own path alone; two routes whose ages change places
// concern both.
func TestOrderOfPaths(t *testing.T) {
	gateway := "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge, namespace: net}, spec: {gatewayClassName: any," +
		" listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}}"
	route := func(name, created string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: " + name + ", namespace: books, creationTimestamp: \"" + created + "\"}," +
			" spec: {parentRefs: [{name: edge, namespace: net}], rules: [{name: all}]}}"
	}
	early, late := "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
	tests := []struct {
		name string
		a, b []string
		want string
	}{
		{"one more", []string{route("b", early), route("d", late)}, []string{route("a", early), route("b", early), route("c", "2026-01-02T00:00:00Z"), route("d", late)}, "a added, c added"},
		{"one less", []string{route("a", early), route("b", late)}, []string{route("b", late)}, "a removed"},
		{"ages change places", []string{route("a", early), route("b", late)}, []string{route("a", late), route("b", early)}, "a changed, b changed"},
		{"ages that keep the order", []string{route("a", early), route("b", late)}, []string{route("a", early), route("b", "2026-03-01T00:00:00Z")}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report := compare(t, append(test.a, gateway), append(test.b, gateway))
			var causes []string
			for _, k := range report.Groups {
				for _, c := range k.Causes {
					causes = append(causes, c.Name+" "+c.What)
				}
			}
			slices.Sort(causes)
			if got := strings.Join(causes, ", "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A condition that leaves out one path has a witness when it comes or goes.
func TestPathsOfConditionsHaveWitnesses(t *testing.T) {
	documents := func(when string) []string {
		return []string{
			"{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge, namespace: net}, spec: {gatewayClassName: any," +
				" listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}}",
			"{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: api, namespace: books}, spec: {parentRefs: [{name: edge, namespace: net}]," +
				" rules: [{name: all}]}}",
			"{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: w, namespace: books}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: api}," +
				" rules: {authorization: {who: {" + when + "patternMatching: {patterns: [{selector: auth.identity.group, operator: eq, value: editors}]}}}}}}",
		}
	}
	const when = "when: [{selector: request.path, operator: neq, value: /health}], "
	for name, sides := range map[string][2][]string{"goes": {documents(when), documents("")}, "comes": {documents(""), documents(when)}} {
		report := compare(t, sides[0], sides[1])
		if len(report.Classes) != 1 || len(report.Classes[0].Transitions) == 0 {
			t.Errorf("%s: got %+v, want one class with a transition", name, report.Classes)
		}
	}
}

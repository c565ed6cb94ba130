package change_test

import (
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

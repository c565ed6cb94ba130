package api

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/server/api/aggregated"
	"github.com/writ-policy/writ/server/api/openapi"
	"github.com/writ-policy/writ/server/auth"
)

// aggregatedRoutes are the endpoints of the listener that an API server aggregates. All of
// them require a user whom the API server names, the probes as well.
func aggregatedRoutes(a *aggregated.API, probes []route) []route {
	op := openapi.Operation{Tag: "Aggregated API", Refusal: "Status"}
	objects := op
	objects.IsOfRevision = true
	routes := []route{
		{
			methods: "GET", pattern: aggregated.ResourcePath, role: auth.Authenticated, handler: a.List(),
			about: objects.For("Lists or watches the namespaces that the user may reach.", nil, openapi.Name("Object")).With(aggregated.Parameters()...),
		},
		{
			methods: "GET", pattern: aggregated.ResourcePath + "/:name", role: auth.Authenticated, handler: a.Get(),
			about: objects.For("Shows a namespace that the user may reach.", nil, openapi.Name("Object")).With(openapi.Parameter{Name: "name", Description: "The name of the namespace."}),
		},
	}
	documents := a.Documents()
	for _, path := range slices.Sorted(maps.Keys(documents)) {
		routes = append(routes, route{
			methods: "GET", pattern: path, role: auth.Authenticated, handler: documents[path],
			about: op.For("Describes the API, as an API server does.", nil, openapi.Name("Object")),
		})
	}
	for _, probe := range probes {
		probe.role, probe.about.Refusal = auth.Authenticated, op.Refusal
		routes = append(routes, probe)
	}
	return routes
}

package api

import (
	"net/http"
	"strings"
	"sync"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/openapi"
	"github.com/writ-policy/writ/server/auth"
)

// describe returns the endpoint with the OpenAPI document of the routes and its own. The
// document is made when it is first read.
func describe(title string, routes []route) route {
	own := route{
		methods: "GET HEAD", pattern: openapi.Path, role: auth.Decisions,
		about: inOperation.For("Returns this document.", nil, openapi.Name("Object")),
	}
	document := sync.OnceValue(func() []byte {
		var endpoints []openapi.Endpoint
		for _, d := range append(routes, own) {
			for method := range strings.FieldsSeq(d.methods) {
				if method != http.MethodHead { // it is that of GET without the body
					endpoints = append(endpoints, openapi.Endpoint{Method: method, Pattern: d.pattern, Role: d.role, Operation: d.about})
				}
			}
		}
		return openapi.Document(title, endpoints)
	})
	own.handler = func(w http.ResponseWriter, _ *http.Request) {
		exchange.Write(w, http.StatusOK, exchange.JSON, document())
	}
	return own
}

// Package api is the HTTP server of decisions: its routes, and what happens around each
// request. Package exchange below it answers requests, with one package a protocol
// (kubernetes, origin, dashboard, admin); the canonical protocol, in which requests and
// decisions are as package decision has them, is in this package. It knows neither OPA
// nor documents.
//
// # Design
//
// gin is used in this package alone: protocols are handlers of net/http, which take
// the parts of a path from http.Request.PathValue.
//
// Every route goes through one wrapper (middleware.go), which bounds, counts, logs and
// recovers, instead of a chain of middleware: the webhook endpoint serves thousands of
// requests a second and pays for every link of a chain.
//
// A list of items that is too long for a body is sent and answered as lines
// (stream.go): each line, the time and the number of streams have bounds, the whole has
// not.
package api

// Package api answers HTTP: one adapter a protocol, and no policy. Bytes of a protocol
// become a request, decision.Policies decide it, and the decision is written in the
// protocol's form. It knows neither OPA nor documents.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// An adapter loads the active revision once (precondition.go) when it has the whole
// request, and calls everything below with it. The alternative, asking for the active
// revision where it is used, could answer one request from two revisions.
//
// Every route goes through one wrapper (endpoint.go), which bounds, counts, logs and
// recovers, instead of a chain of middleware: the webhook endpoint serves thousands of
// requests a second and pays for every link of a chain. For the same reason a body is
// checked once and then cut into pieces (decision.Value), never decoded into a tree
// and encoded again; what is echoed is the bytes received.
//
// A list of items that is too long for a body is sent and answered as lines
// (visibility_stream.go): each line, the time and the number of streams have bounds,
// the whole has not.
//
// An evaluation error is a denial with HTTP 200: an API server repeats a request that
// is answered with 500, and its user waits.
package api

// Package exchange holds what the endpoints of all protocols share: reading a request
// and its body within bounds, loading the active revision, deciding in time, and
// writing the answer or the refusal. A protocol adds the form of its requests and
// answers. The package knows no protocol, no router and no document.
//
// # Design
//
// A protocol's function returns the bytes of an answer or a Refusal and never writes
// to the connection, so each request is answered exactly once, and a protocol is tested
// without a server. A body is checked once and then cut into pieces (decision.Value),
// never decoded into a tree and encoded again.
package exchange

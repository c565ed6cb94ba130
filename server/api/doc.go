// Package api is the HTTP doors: one adapter a protocol, and no policy. Bytes of
// a protocol come in, a decision.Request goes to a decision.Reviewer, and its
// decision goes out in the protocol's own form. It knows neither OPA nor the
// cache nor documents.
//
// # Design
//
// Every route goes through one wrapper (guard.go), which bounds, counts, logs
// and recovers, instead of a chain of middleware: the webhook door is asked
// thousands of times a second and pays for every link of a chain. For the same
// reason a body is checked once and then cut into pieces (decision.Value), never
// decoded into a tree and encoded again; what is echoed is the bytes received.
//
// A list of items that is too long for a body comes and goes as lines
// (visibility_stream.go): bounded by line, by time and by number, not as a whole.
//
// Trouble on a door of decisions is an answer, denied, with HTTP 200: an API
// server holds up its user's request to try again what answers 500.
package api

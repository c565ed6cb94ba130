// Package assertion is the kind of documents that state what holds for every request:
// their decoder and the classes of requests that they name. Documents come in; assertions
// go out. The package must not know how an assertion is proven, nor what documents grant.
//
// # Terms
//
//   - A class is a set of requests: a mapping from keys of a request to values.
//   - A form is what an assertion states of its class: never, always, within and so on.
//   - A principal is "user:NAME" or "group:NAME".
package assertion

// Package verify proves assertions, or finds a request that breaks one. Assertions and the
// statements of a revision come in; a report goes out. The package must not know how
// documents are read or how an engine evaluates a bundle: a judge decides the requests that
// it constructs.
//
// # Terms
//
//   - A goal is what one request would show that breaks an assertion: an outcome in each of
//     one or two worlds.
//   - A decider is the statement that decides a request in a world.
//   - A witness is a request that breaks an assertion, and its decision.
//
// # Design
//
// An assertion is broken if a request has some outcome, and an outcome has a deciding
// statement: so each statement that reaches the class is tried as the decider, with the
// statements before it avoided. The search for a request is that of package statement; a
// class is one more condition to fit, and what is left out of it one more to avoid.
//
// Who asks is chosen first. A request that breaks an assertion still breaks it if it holds
// fewer principals, as long as it holds a subject of each decider and fits what the class
// requires: other principals only add statements that must be avoided. So only smallest sets
// of principals are tried, and of the principals that documents do not name one for each
// kind that the class tells apart.
//
// A statement that reads what no list expresses is first avoided and then ignored. If no
// request is found when it is ignored, the assertion holds. If one is found only then, the
// engine decides variants of it, and if none breaks the assertion, the verdict is unknown.
package verify

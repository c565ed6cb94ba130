// Package rule states which requests the entries of access rules and deny policies match. It
// is the only Go package that does: engine, statements, footprint, lint and generated tests
// ask it. Rows of tables come in, and requests as words; answers of three values go out. The
// package must not know bindings, subjects or who decides.
//
// # Terms
//
//   - Words are a request as one vocabulary spells it: the entries that match it.
//   - A List is the entries of a rule for one attribute.
//   - A Rule is alternatives; a request matches all lists of one of them.
//
// # Design
//
// Everything that a vocabulary knows about spelling (plurals, case, verbs that requests carry,
// verbs that stand for a subresource, "*/sub") is applied to the request, once. What is left
// for the rule is the membership of words in lists, so that the lists of a rule alone give
// what it matches, what it tells apart, and what it covers. The alternative, to apply the
// spelling to the entries of rules, was rejected: there are more rules than requests.
//
// Whether one rule covers another is answered about entries, not about requests: "covers" may
// be false for an entry that is covered, and "touches" true for one that is not touched, but
// never the other way round, so that a warning that nothing is lost is always true. To
// enumerate requests has no end for patterns and "*".
package rule

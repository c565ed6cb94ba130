// Package projection reduces requests to what documents can tell apart: requests with
// equal projections get equal decisions, apart from text that repeats values of the
// request. A footprint and the subjects of bindings come in, keys go out. The package does
// not decide.
//
// # Design
//
// A value that some rule names is part of the key as it is. Of all other values the key
// has which patterns they match, and otherwise only that there is one. The key begins
// each value with its length plus two, so that the marks of an absent and of an unnamed
// value cannot be those of a named one. The alternative, a short hash, could let one
// request take the decision of another.
//
// What is not certain is kept: without a footprint, and for subjects with a rule that can
// read anything, the whole request is the key.
package projection

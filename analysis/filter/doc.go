// Package filter makes the condition under which rows of a table are visible or allowed, and
// says it in the languages of databases and of API servers. Tables and statements come in;
// a condition goes out, exact or not at all. The package must not decide a request, and must
// not know who asks.
//
// # Terms
//
//   - A tree is a condition on one row; a test is a leaf of it.
//   - A pattern is one of a document. A column is where rows have a value.
//   - A construct is what a target cannot say exactly.
//
// # Design
//
// There is one tree for all targets. It is made from the tables that the engine decides by,
// and from statements, whose stages it completes where an attribute is open. Columns are
// bound before anything is printed, so that what no row has becomes a constant, and only
// what is left is refused. The rejected alternative is OPA's partial evaluation of the
// generated Rego: its compiler refuses patterns, labels and most negations.
//
// A condition is true or false for every row: each test states what a missing value means.
// The alternative, a condition that may be NULL, is wrong as soon as an application negates
// it.
package filter

// Package directory is all documents of a directory together: in the order of their
// positions, every identity once, with what has come or gone since the last time.
// Decoded documents come in; the families follow references among them and add
// diagnostics. It must not know any family, and never changes a document.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// Documents are put in the order of their positions first, so that neither the
// order of files nor that of goroutines shows in a diagnostic. Every lookup goes
// through a map, which is kept and follows the documents that come and go. Comparing
// documents pair by pair was rejected: directories hold a hundred thousand.
package directory

// Package mutants measures how good assertions and tests are: it changes one document in one
// place, so that more is permitted, and looks whether an assertion or a test notices. Files come
// in; a score and the changes that nothing noticed go out. The package must not know how an
// assertion is proven.
//
// # Terms
//
//   - A site is a place of a document and an operator that widens it there.
//   - A mutant is the directory with one site changed. It is killed if an assertion or a test gets
//     worse, and survives otherwise.
//
// # Design
//
// A document is changed as a value and written in its place as one line, so that the lines of
// other documents stay as they are. That it decides otherwise is left to the comparison of
// revisions: an operator may be applied where it changes nothing, which is an equivalent mutant.
package mutants

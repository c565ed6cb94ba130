// Package tables is the data model that every later package reads: what the documents
// of each family come to, and its JSON form in a bundle. The families fill the
// tables; engine, commands and builders read them. It must not know how documents
// are written, nor how a decision is made.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// The types stand here and not beside the code that fills them, so that a reader of
// the engine does not have to know a compiler phase, and so that a table can be
// decoded from a bundle without any document.
package tables

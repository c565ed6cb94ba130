// Package cel reads CEL expressions: what comes in is text, what goes out is what is
// wrong with it and where, a merge condition that can be asked, or Rego. It knows
// which variables an expression may name and nothing else of documents.
//
// # Design
//
// cel-go parses and checks, and evaluates merge conditions, which are about documents
// and asked when these are compiled. What is asked of requests becomes Rego, since a
// bundle has no built-ins of its own: a condition becomes two rules, when it is true
// and when it is false, so that what fails is neither. What Rego says directly (a field
// compared, a prefix, has) it says, so that its rule index can be used; the rest calls
// the library's package writ.cel, whose values carry failures, a missing key apart
// from every other, through operators and macros as CEL does.
//
// The numbers of a request are what JSON says: one that is whole is an int, however it
// is written, since 1 and 1.0 are one number in JSON and in Rego. So a double that is
// whole is one only as long as it is not put in a list or a map with other things.
// Doubles are computed in decimal; one that is not finite is an error. To read beyond
// the end of a list is to read a missing key.
//
// Left out, and told at the character: uint, bytes, messages, optional values,
// format and quote, time zones by their names. A key of a map that is no string, int
// or bool is an error. Random expressions are compared with cel-go, whose parsed form
// is the measure: its checked form takes a function of what is read by an index, as
// int(x["a"]), for that of the first type that fits.
package cel

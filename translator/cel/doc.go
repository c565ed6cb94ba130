// Package cel compiles CEL expressions. The input is the text of an expression. The
// output is a mistake with its position, a merge condition that can be evaluated, or
// Rego. The package knows which variables an expression may read, and nothing else
// about documents.
//
// # Design
//
// cel-go parses and checks all expressions. It also evaluates merge conditions, which
// concern documents and are needed when the documents are compiled. Conditions on
// requests become Rego, because a bundle must not need custom built-in functions. Each
// condition becomes two rules, one for true and one for false, so that an evaluation
// error is neither. What Rego expresses directly (a comparison, a prefix, has) is
// emitted as such, so that OPA's rule index applies. Everything else calls the
// library's package writ.cel. Its values carry errors, with missing keys as a class of
// their own, through operators and macros as CEL does.
//
// The numbers of a request follow JSON: a whole number is an int in any spelling,
// because 1 and 1.0 are the same number in JSON and in Rego. Therefore a whole double
// keeps its type only until it is put in a list or map with values of other types.
// Doubles are computed in decimal; a result that is not finite is an error. Reading
// beyond the end of a list is treated as reading a missing key.
//
// Not supported, and reported with their position: uint, bytes, messages, optional
// values, format and quote, and time zones by name. Keys of maps must be of type
// string, int or bool. A test compares random expressions with cel-go's evaluation of
// the parsed form. The checked form is not suitable: for int(x["a"]) it selects the
// first overload that fits.
package cel

// Package syntax parses policy files to nodes with positions, and provides families with
// the cursor that reads their fields. It reads one file at a time and returns the
// documents that the functions of registered kinds decode, and diagnostics. It must not
// know any family.
//
// # Design
//
// YAML and JSON become one tree of nodes first, and every family decodes that
// tree by hand. Decoding into Go structs by reflection was rejected: reflection
// knows neither the column of a value nor the difference between an absent field and
// a null one, and its messages speak of Go types.
//
// A YAML file is cut at its document markers and each document parsed alone. A
// marker at the start of a line ends a document in every YAML context (the text
// of a block scalar is indented, and quoted text may not hold one), so the cut is
// exact. One unclosed bracket is then a mistake of one document, anchors stay
// inside theirs, and one big file can use all cores.
//
// Scalars are resolved by the YAML 1.2 core schema: "yes", "on" and "1_000" are
// strings. Text that different readers would read differently (line separators
// within a line, a byte order mark in the middle) is rejected, because what a
// reviewer takes for a comment must not be a rule.
//
// Every mapping is read through a [Cursor] that records which fields were asked for.
// Any other field is an error, so a family cannot forget to be strict.
package syntax

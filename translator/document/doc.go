// Package document turns the text of policy files into typed documents that
// remember where each value stands. Text comes in one file at a time; documents
// and diagnostics go out. What only several documents together tell (references,
// duplicates, aggregation) is left to translator/resolve, and what a document
// means for a request to translator/lower.
//
// # Design
//
// YAML and JSON become one tree of nodes first, and every family decodes that
// tree by hand. Decoding into Go structs by reflection was refused: it knows
// neither the column of a value nor the difference between an absent field and
// a null one, and its messages speak of Go types.
//
// A YAML file is cut at its document markers and each document parsed alone. A
// marker at the start of a line ends a document in every YAML context (the text
// of a block scalar is indented, and quoted text may not hold one), so the cut is
// exact; it makes one unclosed bracket a mistake of one document, keeps anchors
// inside theirs, and lets one big file use all cores.
//
// Scalars are resolved by the YAML 1.2 core schema: "yes", "on" and "1_000" are
// strings. Text that different readers would read differently (line separators
// within a line, a byte order mark in the middle) is refused, because what a
// reviewer takes for a comment must not be a rule.
//
// Every mapping is read through a cursor that knows which fields were asked for.
// A field nobody asked for is an error, so a family cannot forget to be strict.
package document

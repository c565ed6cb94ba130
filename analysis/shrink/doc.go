// Package shrink takes from documents what a log does not use. The documents of a directory
// and the decisions about the events of a log come in; the smaller texts go out, with what
// was changed and why. The package must not know where logs come from, nor decide requests.
//
//   - grant: a subject of a binding with a rule of its role
//   - cell: one value of each list of a rule, the least that a rule can grant
//   - part: one of the rules that a rule becomes
//
// # Design
//
// Events with the same grants, verb, resource and names are one class, so that memory grows
// with the documents and not with the log. Subjects and rules are chosen first, then cells,
// and what is not needed by a class alone is taken back: the result has nothing that can
// go. Rules are made of cells at the end.
//
// An exact search for the fewest entries was rejected: its time grows without bound, and
// its choice between two grants could not be predicted.
package shrink

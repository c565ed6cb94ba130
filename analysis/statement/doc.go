// Package statement states what documents grant and deny: each statement is a rule joined
// with its subjects and its place. Tables come in; statements, and requests that fit some
// of them and not others, go out. The package must not know who compares statements or
// asks about them.
//
// # Terms
//
//   - A principal is "user:NAME" or "group:NAME".
//   - A World has the statements of one revision.
//   - A Search constructs a request, stage by stage: each stage chooses one of its parts.
//   - An opaque statement reads what no list expresses: a pod, CEL or an extension.
//
// # Design
//
// A search goes attribute by attribute over the values that statements name, one other
// value, and one value for each region of their patterns. Of the values of an attribute
// only those that leave the fewest exceptions are tried: the conditions on further
// attributes do not depend on the choice, except where the key of a stage says so. The
// search is therefore complete and short. The rejected alternative walks the product of
// the values of all attributes: it does not depend on the form of rules, but its cost
// grows with the revision.
package statement

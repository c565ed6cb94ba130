// Package reach finds who can become whom (Find). The statements of one revision and what
// decides by its documents come in; the paths from subjects to targets go out, each hop with
// its requests and with the lines that grant them. The package must not know where it was
// asked, nor how documents are read.
//
// # Terms
//
//   - An identity is who a request says it is: a user and groups.
//   - An edge is a way to another identity: requests that must all be allowed, and whom they
//     lead to. A hop is an edge as one identity takes it.
//   - A world is a revision with the changes that hops made to it.
//   - A class states how certain a hop is: certain, assumed or possible.
//
// # Design
//
// Whether a request is allowed is a question to package question, over the same statements
// as who-can: denials, conditions and pod security are not stated a second time. The answer
// is kept by the conditions that decide it, so that subjects with the same grants are asked
// about once, in whatever world. Sets of identities that one edge leads to are one node, and so
// are the hops in all namespaces of those who hold the same grant for the whole cluster. Distances
// are counted from each target backwards, class by class and by the number of changes that are
// left. The rejected alternative, a search from each subject, walks the same hops once for every
// subject.
//
// Worlds multiply with the documents that may be changed, so that three things keep them few.
// A role that a user binds to itself grants nothing to others: other identities are looked for
// in the world without that binding, and in a namespace it leads to hops of that namespace
// alone. An identity that may do everything changes documents before it becomes another one,
// which is then idle. Groups that only grant are impersonated together. The paths that are left
// out have no fewer hops and no better class than one that is kept. Hops are looked for one after
// another from all subjects, and no further from a subject that reaches each goal with certainty.
package reach

// Package lists answers in which namespaces a subject may do something. A question, the
// policies of a revision and the namespaces of a cluster come in; a list goes out, and pages
// of it. It knows no protocol and no cluster.
//
// # Design
//
// A namespace is listed because of a decision, not because of a grant: the condition that
// filters are made of is decided for each namespace with its labels, and only the names of
// objects stay open. The rejected alternative, a decision for each namespace, takes a hundred
// times as long, and does not find a role that is for some names only.
//
// Pages are of one list, which is kept: a list that is made again for each page could leave
// out what has moved between them.
package lists

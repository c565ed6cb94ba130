// Package cluster reads, for a review, what its cluster knows and the review does
// not say: the pod behind exec, attach and portforward, and the labels of a
// namespace. Requests come in, and go out with the answers, or with why there is
// none; which of them are wanted, and what follows, is decided elsewhere.
//
// # Design
//
// Nothing is kept from one request to the next. A pod may be replaced under its
// name, or get an ephemeral container, between two reviews; an informer would
// answer faster, by what was true a moment ago, and would hold every pod of every
// cluster. Pods are read as the bytes that the API server sends, not through Go
// types: a field that these types do not know, or that has another type than
// theirs, reaches the policies as it is, and hides nothing.
//
// The reads come back as reviews where the cluster's API server asks this very
// server. So they have places of their own, of each cluster, which a read that
// has come back never takes: of those, no namespace is read.
package cluster

// Package cluster fetches facts that a review does not contain from its cluster: the
// pod of an exec, attach or portforward, the labels of a namespace, and labels and node of
// the object that a review names. The input is a request and the facts that are missing. The
// output is the request with the facts, or with the reason why they are not available. The
// package does not know which facts are needed or what follows from them.
//
// # Design
//
// Nothing is cached between requests. Between two reviews a pod may be replaced under
// its name, or get an ephemeral container. The rejected alternative, an informer, would
// answer faster but from the past, and would hold every pod of every cluster in memory.
// Pods are decoded from the bytes of the API server and not through Go types, so that a
// field that those types do not know, or with an unexpected type, is still visible to
// the policies.
//
// If the cluster's API server uses this server as its authorizer, each fetch results in
// a review here. Fetches therefore have a limit of their own per cluster, and a review
// about our own fetch never fetches labels.
package cluster

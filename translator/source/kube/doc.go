// Package kube reads documents from a cluster: the objects of the kinds that writ knows,
// listed and watched through the API server. It returns the same snapshots as package
// source: a file is one object, its path is kube:KIND/NAMESPACE/NAME, and its content is
// the object as JSON without what only servers fill in, the status of sessions excepted. It
// must not interpret documents.
//
// # Design
//
// A snapshot has all kinds or is an error: a list that fails, or that the API server
// forbids, is never an empty one, because the missing objects could be denials. A kind that
// the API server does not serve has no objects, and discovery is believed only while the
// API server is ready: one that starts does not serve its custom resources yet.
//
// Without a watch each kind is listed once. With one, client-go's Reflector keeps a mirror
// of each kind, so that a changed object costs one event. The mirrors hold the bytes of
// objects and not their trees, and a change that leaves these bytes as they are, such as a
// new status of a role, is not reported. The rejected alternative, a shared informer, would hold
// every object twice and hide whether the API server can be reached.
package kube

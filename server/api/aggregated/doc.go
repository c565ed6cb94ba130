// Package aggregated answers an API server, which aggregates the API access.writ.dev: the
// resource accessiblenamespaces has the namespaces that a user may reach. A list of package
// lists comes in; objects, tables and events of Kubernetes go out. The package decides
// nothing and knows neither clusters nor documents.
//
// # Design
//
// A request comes from the API server, whose certificate and headers auth.FrontProxy checks
// before a handler runs. parse turns its query, with the types and validations of
// k8s.io/apimachinery, into a question about the user; make lists the namespaces, as the
// endpoint /v1/lists does, by the same function; a form writes them.
//
// Each list has a number, its resourceVersion: lists.Versions keeps the newest list of each
// user and question for a minute. A watch begins with the list that its client has, and
// afterwards keeps the one that was sent last. When a revision is activated, a namespace
// changes, or a grant begins or ends by its date, it makes the list again and sends the
// differences: what a user may do is computed in one way alone. A list that is not kept is the
// error 410, upon which clients list again.
//
// Memory is bounded by the number of watches, in all and for a user, by the items of the
// lists that all of them keep, and by the bounds of lists.Pages and lists.Versions. A list
// holds pointers to the namespaces of the cluster, which all lists share. Only some lists are
// made at a time: after a revision, a thousand watches wait for their turn, so that decisions
// have the other processors.
//
// The generic server of k8s.io/apiserver is not used: it would add 690 packages to the 1,180 of
// the command, the client of etcd and the types of every resource among them, for one resource
// that is read only.
package aggregated

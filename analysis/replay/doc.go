// Package replay decides recorded requests by one or two revisions and reports which
// outcomes change. Logs come in: writ's own records, requests, OPA decision logs and
// Kubernetes audit events; a report goes out. The package must not know where logs and
// revisions come from.
//
// # Design
//
// Records are decided by workers that share the set of audit events that have been counted
// and the use of rules, which is as large as the documents. Each worker has a tally of the
// rest; tallies are added at the end, as are the reports of shards, so that the order of
// the records does not matter. Memory is bounded by the number of groups and not by the
// log: a group keeps its least request as the example.
//
// The rejected alternative keeps the records that change, to sort them later. It shows
// each one, but a log of a day does not fit into memory.
package replay

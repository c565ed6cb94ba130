// Package directory combines the decoded documents of a directory: in the order of their
// positions, one for each identity, with the changes since the last time. The families
// follow references among them and add diagnostics. The package must not know any family
// and does not modify documents.
//
// # Design
//
// Documents are sorted by their positions first, so that diagnostics depend neither on
// the order of files nor on that of goroutines. Every lookup uses a map, which is
// updated with the documents that are added and removed. Comparing documents in pairs
// was rejected, because a directory can have a hundred thousand.
package directory

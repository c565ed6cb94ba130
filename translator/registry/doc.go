// Package registry lists the kinds of documents of all families and decodes files with
// them. It must not know what any kind means.
//
// Not part of the promised API; see package writ.
package registry

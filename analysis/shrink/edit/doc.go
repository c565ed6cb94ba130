// Package edit changes files of documents and keeps every other byte of them: values go
// from lists, documents from files, and comments go with the line that they belong to.
// Nodes with positions come in, texts and patches go out. The package must not know what
// documents mean.
//
// # Design
//
// A change is a range of bytes with its replacement. Decoding a file and writing it again
// was rejected: no writer of YAML keeps indentation, quotes and comments. What the package
// does not recognise in the text is an error, so that the caller leaves it as it is.
package edit

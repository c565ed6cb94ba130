// Package editor answers what an editor asks about a policy directory while its files are
// being typed: what is wrong, what a code means, which role a binding names and which
// bindings name a role, and what can be typed at a place. The text of open files comes in
// and takes the place of what is stored; positions are those of diagnostics. The package
// knows no protocol.
//
// # Design
//
// A directory is analysed as a whole after every change, because what a document means
// depends on the others; the translator keeps what has not changed. Completion reads the
// lines before the cursor instead of a decoded document, since a document that is being
// typed rarely decodes.
package editor

// Package lsp serves editors by the Language Server Protocol: messages come in and go out,
// and package editor answers them. It converts positions to UTF-16 and paths to URIs, and
// knows nothing about documents.
//
// # Design
//
// One goroutine analyses the directory. Edits that arrive during an analysis are analysed
// together after it, so that fast typing does not build up a queue. A translation is never
// interrupted, since the next one would have to begin anew. Notifications are handled in
// their order; a request waits for the analysis of the text that it is about, and may be
// cancelled meanwhile.
package lsp

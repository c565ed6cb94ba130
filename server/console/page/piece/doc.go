// Package piece has the parts that views of the web console share, as functions that return
// HTML: marks, places of documents, excerpts, fields of forms, tables and links to pages. It
// knows nothing of views.
package piece

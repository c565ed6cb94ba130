// Package page is the web console: it renders what a console.Viewer answers as HTML. It is
// given requests of browsers and returns documents, assets and redirects. It knows
// nothing of policies, and nothing below package view.
//
// # Design
//
// Each view is one URL, and the server renders it whole: the state is in the path and in the
// query, so that back, reload and another browser show the same picture. A framework in the
// browser needs a second model of the data, and files that are built and not reviewed.
//
// HTML is written by functions of Go, beside the data that they show: a view that does not fit
// its data does not compile. html/template calls methods by their names, so that a program with
// it keeps every method of its types and is a fifth larger. What html/template has more is that
// it escapes scripts and styles by their own rules. A page has neither: the policy for its
// content forbids them, and package html has no way to write them. What is left are texts and
// attributes, which are escaped, and addresses, which are those of this server or "#".
//
// Scripts add comfort: completion, live changes, copying, the keyboard and the theme.
// Navigation is the browser's own; a script only replaces the content of main when a new
// revision is served. Pictures are SVG: Go computes numbers, and elements have
// them as attributes, so that no value reaches a document unescaped.
//
// The page is the outermost handler. It answers for its own paths and passes all others
// on with the credentials of the session, so that the endpoints behind it authenticate a
// browser as they authenticate any other caller. A session keeps the token itself, in
// memory: the session ends when the token does, because the token is verified again for
// each request.
package page

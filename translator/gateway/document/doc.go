// Package document holds the documents of gateways, routes and inherited policies, and
// decodes them. Nodes come in; typed documents that remember positions, and
// diagnostics, go out. It must not know other documents than the one it decodes:
// references are followed in a later phase.
package document

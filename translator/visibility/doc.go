// Package visibility is the family of monitoring policies and metric sources: how
// their documents are decoded, how references among them are followed, the tables they
// come to, and the Rego and the generated tests written for them. It must not know
// other families.
//
// Not part of the promised API; see package writ.
package visibility

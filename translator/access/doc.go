// Package access is the family of roles and bindings, of Kubernetes and of Origin:
// how their documents are decoded, how references among them are followed, the tables
// they come to, and the Rego and the generated tests written for them. It must not
// know other families, save for the extensions that rules name.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// Kubernetes and Origin are one package, because they share the tables, the order of
// decision and what is kept between two runs. Two packages were rejected: each would
// import the other for that.
package access

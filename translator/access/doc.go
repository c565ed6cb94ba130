// Package access is the family of roles and bindings, of Kubernetes and of Origin: it
// decodes their documents, follows references among them, lowers them to tables, and
// emits Rego and generated tests. It must not know other families, except for the
// extensions that rules name.
//
// # Design
//
// Kubernetes and Origin are one package, because they share the tables, the order of
// decision and what is kept between two runs. Two packages were rejected: each would
// import the other for that.
package access

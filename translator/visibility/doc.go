// Package visibility is the family of monitoring policies and metric sources: it decodes
// their documents, follows references among them, lowers them to tables, and emits Rego
// and generated tests. It must not know other families.
package visibility

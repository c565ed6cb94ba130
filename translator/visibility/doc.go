// Package visibility is the family of monitoring policies and metric sources: their
// documents, how they are decoded, and the Rego and the generated tests written for
// them. It must not know other families.
package visibility

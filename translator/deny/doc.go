// Package deny is the family of deny policies and of the escalations that override
// them: how their documents are decoded, how references among them are followed, the
// tables they come to, and the Rego and the generated tests written for them. It must
// not know other families.
//
// # Design
//
// Deny policies become rules and not data: OPA's rule index then finds the few that
// can hold for a request. Data that a library walks was rejected, because each request
// would pay for each policy.
package deny

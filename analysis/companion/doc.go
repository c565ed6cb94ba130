// Package companion prints what no authorizer can see of a write: the conditions of documents
// on the object, as ValidatingAdmissionPolicies of Kubernetes. The statements of one revision
// come in; policies, their digest and what they cannot say go out. The package must not decide
// a request, and must not know clusters.
//
// # Terms
//
//   - A part is a statement as CEL: the writes that it covers, and its condition on the object.
//   - A part is conditional for an operation if the object decides whether it matches.
//   - A validation refuses the writes of one part. A refusal says why one is missing.
//   - A slice is one policy with its binding.
//
// # Design
//
// A validation is exact or it is not printed, for each operation by itself. One of a denial
// fails where the denial matches and no allowing part of an earlier step does; one of a
// conditional allowing part fails where neither that nor any other allowing part matches. So
// all validations together refuse exactly the writes that a decision about the object does not
// allow, among those that a condition decides. All conditions are on one version of the object,
// and every version must pass: an update has the one before it and the one after it.
//
// The rejected alternative is one expression for the whole decision: its message cannot name
// the rule, and one construct that CEL lacks would take all others with it.
package companion

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
//   - A hit is a rule that a review fits. It is certain, or matches some objects.
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
// While the policies are in force, a review may be answered for all objects (Answer). Why no
// write then passes that the decision on the object does not allow: take a deferred allow.
//
//   - If a denial decides for the object, its validation fails, as no earlier allowing part
//     matches. It is printed: Answer requires it of each denial that matches some objects, and of
//     each certain one after an allowing part that matches some.
//   - If nothing matches the object, no allowing hit is certain, and Answer has required the
//     validation of a conditional one, which fails as no allowing part matches.
//   - An answer of no opinion differs from the denial without deferring only for objects that no
//     denial matches, by the first case.
//
// A hit whose part is not printed for the operation, or has a problem, makes the answer strict,
// whatever its restrictions are; so does one through a session, which admission does not know.
// The conditions of deny policies on the name of a new object deny nothing at a review: all of
// them must be printed. Conditions that exclude each other are not noticed: the review allows,
// and the validations refuse every object.
//
// The operations: an update, also of a status, is UPDATE, and a delete is DELETE. A deletion of
// a collection is a DELETE of each object. A patch is UPDATE; a patch or an update that creates
// its object is CREATE, and the API server sends a review of create besides, which is answered
// as any other. Reviews are strict for users whom the policies leave out, and for all that
// policies are not asked about: other verbs and subresources, admission policies and reviews
// themselves, and, as the caller must know, what an aggregated API server serves.
//
// The rejected alternative is one expression for the whole decision: its message cannot name
// the rule, and one construct that CEL lacks would take all others with it.
package companion

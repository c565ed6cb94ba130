// Package oracle decides requests the slow and obvious way: it loops over every
// binding, policy and rule and does what the meaning of the documents says,
// sentence by sentence. It shares nothing with the translator, the Rego
// library or the engine, so that all of them can be held against it.
//
// It also writes random policy directories, together with the World they mean,
// and random requests. Equal seeds give equal worlds.
//
// # Design
//
// Decide knows nothing of YAML: a World is plain structs, and what writes them
// out as documents is a one-way street. Reading the documents back would need a
// second decoder with the same mistakes.
//
// Generate and GenerateDeny make different worlds of one seed; Requests fits its
// requests to either. The point visibility has documents, requests and decisions
// of its own, and so a world of its own: Views. Section numbers in its comments
// are those of the family's specification.
//
// Gateways are the world of gateways and their policies: GenerateInheritance makes
// hierarchies whose policies say little of requests, for what is in effect where,
// and GenerateGateways such as tell requests apart, for the point gateway. CEL and
// Rego come from tables beside what they mean in Go. Where the specification is
// silent, comments name what is followed.
//
// A Number says how exact a door must be: what is divided, or summed from
// fractions, comes rounded to binary.
//
// The order of an aggregated role's rules is not determined in a ring of
// aggregated roles, so the generator leaves no ring with more than one rule.
package oracle

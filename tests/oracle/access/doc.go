// Package access decides requests at the point access: deny policies first, then
// the roles and bindings of Kubernetes and Origin.
//
// # Design
//
// Generate and GenerateDeny make different worlds of one seed; Requests fits its
// requests to either.
//
// The order of an aggregated role's rules is not determined in a cycle of
// aggregated roles, so the generator leaves no cycle with more than one rule.
package access

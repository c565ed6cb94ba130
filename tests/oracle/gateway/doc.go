// Package gateway computes which gateway policies are in effect on which path, and
// decides requests at the point gateway.
//
// GenerateInheritance makes hierarchies whose policies look little at requests, to
// compare what is in effect where. Generate makes policies that distinguish
// requests. CEL and Rego come from tables beside what they mean in Go. Where the
// specification is silent, comments name the rule that is followed.
package gateway

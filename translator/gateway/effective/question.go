package effective

import "github.com/writ-policy/writ/translator/tables"

// Question is a query for effective policies: for the policy of a target or,
// with Reach, Replaced or Policies set, for a list over all paths.
type Question struct {
	// Kind is AuthPolicy, RateLimitPolicy or TokenRateLimitPolicy.
	Kind string
	// Target and Via have the form Kind/namespace/name or
	// Kind/namespace/name#section. Via may be empty.
	Target, Via string
	// Reach is the key of a rule; the answer lists the paths on which it is enforced.
	Reach string
	// Replaced selects the rules that another policy replaced. Policy, as
	// namespace/name, restricts the list to one policy; empty means all.
	Replaced bool
	Policy   string
	// Policies asks for all policies of the kind with their conditions. An empty Kind is all
	// kinds.
	Policies bool
}

// Answer returns the answer as a value for json.Marshal. It returns an *Error if the question
// is malformed or names an unknown target.
func Answer(g *tables.Gateway, q Question) (any, error) {
	switch {
	case q.Policies:
		return FindPolicies(g, q.Kind)
	case q.Reach != "":
		return FindReach(g, q.Kind, q.Reach)
	case q.Replaced:
		return FindReplaced(g, q.Kind, q.Policy)
	}
	return Find(g, Query{Kind: q.Kind, Target: q.Target, Via: q.Via})
}

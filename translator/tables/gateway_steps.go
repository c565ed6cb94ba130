package tables

// GatewaySteps are the parts of an effective AuthPolicy that the gateway point evaluates,
// in the order of evaluation.
type GatewaySteps struct {
	// ID is derived from the content of the effective policy, so that a change of another
	// policy does not change it.
	ID string
	// Policies are the locators of the policies with a rule in force, sorted.
	Policies []string
	// Patterns are the names of the rules of patterns, by pattern.
	Patterns map[string]string
	// When decides whether the policy applies; nil means that it always applies.
	When *NamedRule
	// Authenticates is true if there are authentication rules. Anonymous are those that
	// accept a request without an identity, by key.
	Authenticates bool
	Anonymous     []*NamedRule
	// Unauthenticated and Unauthorized are the responses of denials; nil is the
	// default.
	Unauthenticated, Unauthorized *NamedRule
	// Authorization are the authorization rules by priority, then key.
	Authorization []*NamedRule
	// Items are the items of the response by priority, then key.
	Items []*NamedRule
}

// NamedRule is a rule in force and the name of its evaluation.
type NamedRule struct {
	// Name is the policy's locator and the rule's key, with a number if several rules of
	// the policy have that key.
	Name   string
	Policy string // locator
	Key    string
	Source string // file:line
	Rule   *GatewayRule
}

// ShortName returns the rule's name within its group.
func (r *NamedRule) ShortName() string {
	path := RulePath(r.Key)
	return path[len(path)-1]
}

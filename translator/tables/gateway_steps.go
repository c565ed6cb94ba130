package tables

// GatewaySteps is what the gateway point evaluates of an effective AuthPolicy, in the
// order of its evaluation.
type GatewaySteps struct {
	// ID names the effective policy by its content, so that a change of another policy
	// does not rename it.
	ID string
	// Policies are the locators of the policies with a rule in force, sorted.
	Policies []string
	// Patterns are the names of the rules of patterns, by pattern.
	Patterns map[string]string
	// When decides whether the policy applies; nil: it always does.
	When *NamedRule
	// Authenticates is true where there are authentication rules. Anonymous are those
	// that let a request without an identity through, by key.
	Authenticates bool
	Anonymous     []*NamedRule
	// Unauthenticated and Unauthorized are the responses of denials; nil: the default.
	Unauthenticated, Unauthorized *NamedRule
	// Authorization are the authorization rules by priority, then key.
	Authorization []*NamedRule
	// Items are the items of the response by priority, then key.
	Items []*NamedRule
}

// NamedRule is a rule in force and the name of its evaluation.
type NamedRule struct {
	// Name is the policy's locator and the rule's key, with a number where several
	// rules of the policy in force have that key.
	Name   string
	Policy string // locator
	Key    string
	Source string // file:line
	Rule   *GatewayRule
}

// ShortName is the rule's own name within its group.
func (r *NamedRule) ShortName() string {
	path := RulePath(r.Key)
	return path[len(path)-1]
}

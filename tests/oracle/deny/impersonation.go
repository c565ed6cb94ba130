package deny

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// ImpersonationRule is one of a policy's impersonationRules, its entries as written.
type ImpersonationRule struct {
	Modes, IdentityResources, Identities, ExtraKeys []string
	Namespaces                                      Filter
	ActionVerbs, TargetResources, TargetAPIGroups   []string
	Reason                                          string
	Source                                          string
}

// Modes are the ways to impersonate. The last one has no check of
// actions.
var Modes = []string{"user-info", "serviceaccount", "arbitrary-node", "associated-node", "legacy"}

// check is what a verb of impersonation asks: about an identity, about an action while
// impersonating, or something that cannot be read.
type check struct {
	identity, action bool
	mode, verb       string // verb is that of an action
}

// checkOf returns what a verb asks; impersonates is false if it has nothing to do with
// impersonation.
func checkOf(verb string) (c check, impersonates bool) {
	words := strings.Split(verb, ":")
	constrained := Modes[:4]
	switch {
	case verb == "impersonate":
		return check{identity: true, mode: "legacy"}, true
	case len(words) == 1:
		return check{}, false
	case words[0] == "impersonate":
		if len(words) == 2 && slices.Contains(constrained, words[1]) {
			return check{identity: true, mode: words[1]}, true
		}
		return check{}, true
	case words[0] == "impersonate-on":
		if len(words) == 3 && slices.Contains(constrained, words[1]) && words[2] != "" {
			return check{action: true, mode: words[1], verb: words[2]}, true
		}
		return check{}, true
	}
	return check{}, false
}

// denies reports whether the rule denies a request in one of its forms.
func (rule *ImpersonationRule) denies(forms []oracle.Request) oracle.Truth {
	for _, r := range forms {
		if truth := rule.fits(r); truth != oracle.No {
			return truth // the namespace is the same for all forms
		}
	}
	return oracle.No
}

func (rule *ImpersonationRule) fits(r oracle.Request) oracle.Truth {
	c, impersonates := checkOf(r.Verb)
	switch {
	case !impersonates:
		return oracle.No
	case rule.unconditional():
		return oracle.Yes
	case !c.identity && !c.action:
		return oracle.No
	case len(rule.Modes) > 0 && !slices.Contains(rule.Modes, c.mode):
		return oracle.No
	case len(rule.ActionVerbs) > 0:
		return oracle.Of(c.action && rule.fitsAction(c.verb, r))
	case !rule.looksAtIdentity():
		return oracle.Yes
	case !c.identity || !rule.fitsIdentity(r):
		return oracle.No
	case rule.Namespaces.empty():
		return oracle.Yes
	}
	return rule.Namespaces.fits(r)
}

// unconditional rules have no condition at all.
func (rule *ImpersonationRule) unconditional() bool {
	return len(rule.Modes)+len(rule.ActionVerbs) == 0 && !rule.looksAtIdentity()
}

func (rule *ImpersonationRule) looksAtIdentity() bool {
	return len(rule.IdentityResources)+len(rule.Identities)+len(rule.ExtraKeys) > 0 || !rule.Namespaces.empty()
}

// fitsIdentity compares whose identity it is. The API server asks about "*" before it
// asks about several values one by one.
func (rule *ImpersonationRule) fitsIdentity(r oracle.Request) bool {
	holds := func(globs []string, value string) bool {
		return len(globs) == 0 || value == "*" || fitsAny(globs, value)
	}
	return (len(rule.IdentityResources) == 0 || slices.Contains(rule.IdentityResources, r.Resource)) &&
		holds(rule.Identities, r.Name) && holds(rule.ExtraKeys, r.Subresource)
}

func (rule *ImpersonationRule) fitsAction(verb string, r oracle.Request) bool {
	target := Rule{Resources: rule.TargetResources}
	return oracle.Has(rule.ActionVerbs, "*", verb) &&
		(len(rule.TargetResources) == 0 || target.fitsResource(r)) &&
		(len(rule.TargetAPIGroups) == 0 || oracle.Has(rule.TargetAPIGroups, "*", r.APIGroup))
}

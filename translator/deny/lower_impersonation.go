package deny

import (
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// Impersonation: newer API servers ask verbs that begin with impersonatePrefix on
// resources of authenticationGroup, where older ones ask the core group. While
// impersonating, they ask verbs that begin with actionPrefix as well.
const (
	impersonate         = "impersonate"
	impersonatePrefix   = "impersonate:"
	actionPrefix        = "impersonate-on:"
	authenticationGroup = "authentication.k8s.io"
)

// legacy is the mode of the verb impersonate; it has no check of actions.
const legacy = "legacy"

// modes are the ways of impersonation.
var modes = []string{"user-info", "serviceaccount", "arbitrary-node", "associated-node", legacy}

// impersonationRule lowers an entry. One with a condition on the identity is about
// identities, one with verbs of actions about actions, one with modes alone about both.
func impersonationRule(index int, r *ImpersonationRule) tables.ImpersonationRule {
	out := tables.ImpersonationRule{Rule: index, Source: r.At.Source(), Reason: r.Reason}
	looksAtIdentity := len(r.IdentityResources)+len(r.Identities)+len(r.ExtraKeys) > 0 || r.Namespaces != nil
	if len(r.Modes)+len(r.ActionVerbs) == 0 && !looksAtIdentity {
		return out
	}
	entryModes := r.Modes
	if len(entryModes) == 0 {
		entryModes = modes
	}
	if len(r.ActionVerbs) == 0 {
		out.Identity = impersonatedIdentity(r, entryModes)
	}
	constrained := slices.DeleteFunc(tables.Once(entryModes), func(mode string) bool { return mode == legacy })
	if !looksAtIdentity && len(constrained) > 0 || len(r.ActionVerbs) > 0 {
		out.Action = &tables.ImpersonatedAction{
			Modes: constrained, Verbs: words(r.ActionVerbs), Resources: resources(r.TargetResources, nil), Groups: words(r.TargetAPIGroups),
		}
	}
	return out
}

func impersonatedIdentity(r *ImpersonationRule, modes []string) *tables.ImpersonatedIdentity {
	identity := &tables.ImpersonatedIdentity{
		Resources: tables.Once(r.IdentityResources), Names: orSeveral(r.Identities), ExtraKeys: orSeveral(r.ExtraKeys), Namespaces: r.Namespaces,
	}
	for _, mode := range tables.Once(modes) {
		if mode == legacy {
			identity.Verbs = append(identity.Verbs, impersonate)
		} else {
			identity.Verbs = append(identity.Verbs, impersonatePrefix+mode)
		}
	}
	return identity
}

// several is the literal "*" by which an API server asks about several values at once. It
// asks one by one only if that is denied.
var several, _, _ = tables.ParsePathGlob(`\*`)

// orSeveral adds several to globs, if there are any.
func orSeveral(globs []tables.PathGlob) []tables.PathGlob {
	if len(globs) == 0 {
		return nil
	}
	return append(slices.Clone(globs), several)
}

// impersonationResources are the resources that an entry names.
func impersonationResources(r *tables.ImpersonationRule) []string {
	var names []string
	if r.Identity != nil {
		names = append(names, r.Identity.Resources...)
	}
	if r.Action != nil {
		for _, resource := range r.Action.Resources {
			names = append(names, resource.Resources...)
		}
	}
	return names
}

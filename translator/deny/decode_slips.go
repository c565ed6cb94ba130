package deny

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// slips warns about words of one rule that match no request of Kubernetes' own API groups:
// a denial with such a word does not deny. Resources of other groups are not known.
type slips struct {
	d      *syntax.Decoder
	groups []string
	// own is set if all groups are Kubernetes' own, so that every word must be known;
	// some if at least one is, or may be.
	own, some bool
}

// warnOfSlips checks all words of one of rules.
func warnOfSlips(d *syntax.Decoder, verbs, groups, resources, subresources []*syntax.Node) {
	s := newSlips(d, syntax.Values(groups))
	s.verbs(verbs)
	s.apiGroups(groups)
	s.resources(resources)
	if !slices.Contains(syntax.Values(resources), "userextras") { // its subresources are keys
		s.subresources(subresources)
	}
}

// hasErrors reports whether an error was found after the first diagnostics: words that are
// reported as malformed are not looked at again.
func hasErrors(d *syntax.Decoder, first int) bool { return d.Diags[first:].HasErrors() }

// newSlips returns the check of a rule about these groups. A misspelt group counts as the
// one that was meant. The core group and that of authentication stand for each other in
// impersonation.
func newSlips(d *syntax.Decoder, groups []string) *slips {
	s := &slips{d: d, own: len(groups) > 0}
	for _, group := range groups {
		if near, found := vocabulary.NearGroup(group); found && !vocabulary.IsGroup(group) {
			group = near
		}
		if group == "" || group == authenticationGroup {
			s.groups = append(s.groups, "", authenticationGroup)
		}
		s.groups = append(s.groups, group)
		s.own = s.own && vocabulary.IsGroup(group)
		s.some = s.some || group == "*" || vocabulary.IsGroup(group)
	}
	return s
}

// verbs warns about verbs. Custom verbs exist: only one that is near a known verb is
// reported where a group may have them.
func (s *slips) verbs(items []*syntax.Node) {
	known := append(slices.Clone(vocabulary.AnyVerbs), vocabulary.URLVerbs...)
	for _, n := range items {
		s.d.Examples(n, vocabulary.AnyVerbs)
		isImpersonation := strings.HasPrefix(n.Value, impersonatePrefix) || strings.HasPrefix(n.Value, actionPrefix)
		if n.Value == "*" || isImpersonation || slices.Contains(known, n.Value) {
			continue
		}
		near := vocabulary.Near(n.Value, known)
		if near == "" && s.own {
			near = diag.Suggest(n.Value, known)
		}
		switch {
		case near != "" && s.some:
			s.d.Warn(n, diag.UnknownVerb, didYouMean(near), "Kubernetes does not know the verb %s: no request of an API server has it", syntax.Quote(n.Value))
		case s.own:
			s.d.Warn(n, diag.UnknownVerb, "a verb of your own stays as it is", "Kubernetes does not know the verb %s", syntax.Quote(n.Value))
		}
	}
}

// apiGroups warns about groups that look like one of Kubernetes. The name of a group of
// others has a dot.
func (s *slips) apiGroups(items []*syntax.Node) {
	for _, n := range items {
		if n.Value == "*" || vocabulary.IsGroup(n.Value) {
			continue
		}
		near, found := vocabulary.NearGroup(n.Value)
		switch {
		case found && near == "":
			s.d.Warn(n, diag.UnknownGroup, `write "", the name of the core group`, "Kubernetes does not have the API group %s: no request of an API server has it", syntax.Quote(n.Value))
		case found:
			s.d.Warn(n, diag.UnknownGroup, didYouMean(near), "Kubernetes does not have the API group %s: no request of an API server has it", syntax.Quote(n.Value))
		case strings.Contains(n.Value, "/"):
			s.d.Warn(n, diag.UnknownGroup, "write the group without its version", "API group %s has a slash: no request has it", syntax.Quote(n.Value))
		}
	}
}

// resources warns about resources, which may have a subresource.
func (s *slips) resources(items []*syntax.Node) {
	for _, n := range items {
		resource, sub, narrow := strings.Cut(n.Value, "/")
		if resource != "*" && resource != "" {
			s.resource(n, resource)
		}
		if narrow && resource != "userextras" {
			s.subresource(n, sub)
		}
	}
}

func (s *slips) resource(n *syntax.Node, resource string) {
	known := vocabulary.Resources(s.groups)
	if slices.Contains(known, resource) {
		return
	}
	const missing = "no API group of the rule has the resource %s in Kubernetes: no request of an API server has it"
	all := vocabulary.Resources([]string{"*"})
	near := vocabulary.NearResource(resource, known)
	if near == "" && s.own {
		near = vocabulary.NearResource(resource, all)
	}
	group, isServed := vocabulary.GroupOf(resource)
	switch {
	case s.own && isServed:
		s.d.Warn(n, diag.UnknownResource, "its API group is "+syntax.Quote(group), missing, syntax.Quote(resource))
	case near != "" && slices.Contains(known, near):
		s.d.Warn(n, diag.UnknownResource, didYouMean(near), missing, syntax.Quote(resource))
	case near != "":
		hint := didYouMean(near)
		if group, isServed := vocabulary.GroupOf(near); isServed {
			hint += " its API group is " + syntax.Quote(group)
		}
		s.d.Warn(n, diag.UnknownResource, hint, missing, syntax.Quote(resource))
	case resource != strings.ToLower(resource):
		s.d.Warn(n, diag.UnknownResource, "write the plural in lower case, as in the URL of the API",
			"resource %s has capitals: no request has it", syntax.Quote(resource))
	case s.own:
		s.d.Warn(n, diag.UnknownResource, "add the API group that has it", missing, syntax.Quote(resource))
	}
}

// subresources warns about entries of a list of subresources.
func (s *slips) subresources(items []*syntax.Node) {
	for _, n := range items {
		s.subresource(n, n.Value)
	}
}

func (s *slips) subresource(n *syntax.Node, sub string) {
	if sub == "" || sub == "*" || !s.some || vocabulary.IsSubresource(sub) {
		return
	}
	const missing = "Kubernetes does not have the subresource %s: no request of an API server has it"
	near := vocabulary.NearSubresource(sub)
	switch {
	case near != "":
		s.d.Warn(n, diag.UnknownResource, didYouMean(near), missing, syntax.Quote(sub))
	case s.own:
		s.d.Warn(n, diag.UnknownResource, "", missing, syntax.Quote(sub))
	}
}

// warnOfCapability warns about a name that is not a capability of Linux.
func warnOfCapability(d *syntax.Decoder, n *syntax.Node, name string) {
	if slices.Contains(vocabulary.Capabilities, name) {
		return
	}
	hint := ""
	if near := diag.Suggest(name, vocabulary.Capabilities); near != "" {
		hint = didYouMean(near)
	}
	d.Warn(n, diag.UnknownCapability, hint, "Linux does not have the capability %s: no container adds it", syntax.Quote(name))
}

func didYouMean(near string) string { return "did you mean " + syntax.Quote(near) + "?" }

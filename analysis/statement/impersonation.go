package statement

import (
	"reflect"
	"strings"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// impersonationRule is an entry of the impersonationRules of a deny policy.
type impersonationRule struct {
	scope
	r    *tables.ImpersonationRule
	fits rule.Rule
}

const legacyMode = "legacy"

// Match implements Condition.
func (i *impersonationRule) Match(at stage, r *Request) uint8 {
	if at > stageNamespace {
		return i.scope.Match(at, r)
	}
	return bitsOf(i.fits, at, r)
}

func isAction(r *Request) bool { return strings.HasPrefix(strings.ToLower(r.Verb), rule.ActionPrefix) }

// A rule about an identity in some namespaces is not about actions.
func (i *impersonationRule) filter() *tables.NamespaceFilter {
	if i.r.Identity == nil {
		return nil
	}
	return i.r.Identity.Namespaces
}

func (i *impersonationRule) last() stage { return max(stageNamespace, i.scope.last()) }

// Mention implements Condition.
func (i *impersonationRule) Mention(v *Values) {
	i.scope.Mention(v)
	v.verbs.Add(rule.Impersonate)
	for _, lists := range i.fits {
		v.verbs.Add(lists[0].Any...)
		v.addLists(lists[1:], true)
	}
	if a := i.r.Action; a != nil {
		for _, mode := range a.Modes {
			v.verbs.Add(rule.ActionPrefix + mode + ":get")
		}
	}
}

// Describe implements Condition.
func (i *impersonationRule) Describe(s *JSON) {
	entry := new(Impersonation)
	if d := i.r.Identity; d != nil {
		entry.Modes, entry.IdentityResources = modesBut(modesOf(d.Verbs), identityModes), d.Resources
		entry.Identities, entry.ExtraKeys = writtenGlobs(d.Names), writtenGlobs(d.ExtraKeys)
		entry.Namespaces = namespacesOf(d.Namespaces)
	}
	if a := i.r.Action; a != nil && i.r.Identity == nil {
		entry.Modes = modesBut(a.Modes, identityModes-1) // legacy has no check of actions
		entry.ActionVerbs, entry.TargetResources, entry.TargetAPIGroups = rule.AnyWord(a.Verbs), entryTexts(a.Resources), a.Groups
	}
	s.Rule, s.AppliesTo = &Row{Impersonation: entry}, scopeOf(i.policy)
}

// identityModes is how many modes a check of an identity may have.
const identityModes = 5

// modesBut returns nil for all modes, which documents need not write.
func modesBut(modes []string, all int) []string {
	if len(modes) == all {
		return nil
	}
	return modes
}

// writtenGlobs returns the patterns that a document has: the last one of the table stands for
// several values at once.
func writtenGlobs(globs []tables.PathGlob) []string {
	return GlobTexts(globs[:max(0, len(globs)-1)])
}

// modesOf returns the modes of impersonation that the verbs of a rule stand for.
func modesOf(verbs []string) []string {
	var modes []string
	for _, verb := range verbs {
		if mode, ok := strings.CutPrefix(verb, rule.IdentityPrefix); ok {
			modes = append(modes, mode)
		} else {
			modes = append(modes, legacyMode)
		}
	}
	return modes
}

func entryTexts(list []tables.DenyResource) []string {
	var out []string
	for _, e := range list {
		for _, resource := range rule.AnyWord(e.Resources) {
			switch {
			case e.NeedsSubresource:
				out = append(out, resource+"/*")
			case len(e.Subresources) == 1 && e.Subresources[0] != "":
				out = append(out, resource+"/"+e.Subresources[0])
			default:
				out = append(out, resource)
			}
		}
	}
	return out
}

// Without implements Condition.
func (i *impersonationRule) Without(other Condition) Condition {
	if o, ok := other.(*impersonationRule); ok && i.scope.equals(o.scope) &&
		reflect.DeepEqual(i.r.Identity, o.r.Identity) && reflect.DeepEqual(i.r.Action, o.r.Action) {
		return nil
	}
	return i
}

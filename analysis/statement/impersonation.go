package statement

import (
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// impersonationRule is an entry of the impersonationRules of a deny policy.
type impersonationRule struct {
	scope
	r *tables.ImpersonationRule
}

const (
	impersonate    = "impersonate"
	identityPrefix = "impersonate:"
	actionPrefix   = "impersonate-on:"
	legacyMode     = "legacy"
)

// Match implements Condition.
func (i *impersonationRule) Match(at stage, r *Request) uint8 {
	switch at {
	case stageTarget:
		return Bit(i.r.Identity == nil && i.r.Action == nil || i.matchIdentityTarget(r) || i.matchActionTarget(r))
	case stageVerb:
		return Bit(slices.ContainsFunc(formsOf(r.Verb, r.Subresource), func(f form) bool { return i.matchVerb(f.verb, r) }))
	case stageGroup:
		return Bit(!isAction(r) || i.r.Action == nil || i.r.Action.Groups == nil || slices.Contains(i.r.Action.Groups, r.Group))
	case stageName:
		return Bit(isAction(r) || i.r.Identity == nil || matchGlobs(i.r.Identity.Names, r.Name))
	case stageNamespace:
		return Bit(isAction(r) || i.r.Identity == nil || matchFilter(i.r.Identity.Namespaces, r))
	}
	return Bit(i.scope.Match(at, r))
}

func isAction(r *Request) bool { return strings.HasPrefix(strings.ToLower(r.Verb), actionPrefix) }

func (i *impersonationRule) matchVerb(verb string, r *Request) bool {
	if i.r.Identity == nil && i.r.Action == nil {
		return verb == impersonate || strings.HasPrefix(verb, identityPrefix) || strings.HasPrefix(verb, actionPrefix)
	}
	if mode, action, ok := strings.Cut(strings.TrimPrefix(verb, actionPrefix), ":"); ok && strings.HasPrefix(verb, actionPrefix) {
		a := i.r.Action
		return action != "" && !strings.Contains(action, ":") && a != nil && slices.Contains(a.Modes, mode) &&
			(a.Verbs == nil || slices.Contains(a.Verbs, action)) && i.matchActionTarget(r)
	}
	return i.r.Identity != nil && slices.Contains(i.r.Identity.Verbs, verb) && i.matchIdentityTarget(r)
}

func (i *impersonationRule) matchIdentityTarget(r *Request) bool {
	d := i.r.Identity
	return d != nil && r.Path == "" && (len(d.Resources) == 0 || matchDenied(d.Resources, r.Resource)) &&
		(matchGlobs(d.ExtraKeys, r.Subresource) || matchGlobs(d.ExtraKeys, strings.ToLower(r.Subresource)))
}

func (i *impersonationRule) matchActionTarget(r *Request) bool {
	a := i.r.Action
	if a == nil || len(a.Resources) == 0 {
		return a != nil
	}
	return matchEntries(a.Resources, r.Resource, r.Subresource) || matchEntries(a.Resources, r.Resource, strings.ToLower(r.Subresource))
}

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
	v.folds = true
	i.scope.Mention(v)
	v.verbs.Add(impersonate)
	if d := i.r.Identity; d != nil {
		v.verbs.Add(d.Verbs...)
		for _, resource := range d.Resources {
			v.addKind(resource)
		}
		v.subresources.addGlobs(d.ExtraKeys)
		v.names.addGlobs(d.Names)
		v.addFilter(d.Namespaces)
	}
	if a := i.r.Action; a != nil {
		for _, mode := range a.Modes {
			for _, verb := range append(slices.Clone(a.Verbs), "get") {
				v.verbs.Add(actionPrefix + mode + ":" + verb)
			}
		}
		v.groups.Add(a.Groups...)
		mentionEntries(v, a.Resources)
	}
}

// Describe implements Condition.
func (i *impersonationRule) Describe(s *JSON) {
	entry := make(map[string]any)
	set := func(key string, list []string) {
		if len(list) > 0 {
			entry[key] = list
		}
	}
	if d := i.r.Identity; d != nil {
		set("modes", modesBut(modesOf(d.Verbs), identityModes))
		set("identityResources", d.Resources)
		set("identities", writtenGlobs(d.Names))
		set("extraKeys", writtenGlobs(d.ExtraKeys))
		if d.Namespaces != nil {
			entry["namespaces"] = filterJSON(d.Namespaces)
		}
	}
	if a := i.r.Action; a != nil && i.r.Identity == nil {
		set("modes", modesBut(a.Modes, identityModes-1)) // legacy has no check of actions
		set("actionVerbs", anyWord(a.Verbs))
		set("targetResources", entryTexts(a.Resources))
		set("targetAPIGroups", a.Groups)
	}
	s.Rule, s.AppliesTo = map[string]any{"impersonation": entry}, scopeOf(i.policy)
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
		if mode, ok := strings.CutPrefix(verb, identityPrefix); ok {
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
		for _, resource := range anyWord(e.Resources) {
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

package change

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

func (i *impersonationRule) match(at stage, r *request) uint8 {
	switch at {
	case stageTarget:
		return one(i.r.Identity == nil && i.r.Action == nil || i.matchIdentityTarget(r) || i.matchActionTarget(r))
	case stageVerb:
		return one(slices.ContainsFunc(formsOf(r.verb, r.subresource), func(f form) bool { return i.matchVerb(f.verb, r) }))
	case stageGroup:
		return one(!isAction(r) || i.r.Action == nil || i.r.Action.Groups == nil || slices.Contains(i.r.Action.Groups, r.group))
	case stageName:
		return one(isAction(r) || i.r.Identity == nil || matchGlobs(i.r.Identity.Names, r.name))
	case stageNamespace:
		return one(isAction(r) || i.r.Identity == nil || matchFilter(i.r.Identity.Namespaces, r))
	}
	return one(i.scope.match(at, r))
}

func isAction(r *request) bool { return strings.HasPrefix(strings.ToLower(r.verb), actionPrefix) }

func (i *impersonationRule) matchVerb(verb string, r *request) bool {
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

func (i *impersonationRule) matchIdentityTarget(r *request) bool {
	d := i.r.Identity
	return d != nil && r.path == "" && (len(d.Resources) == 0 || matchDenied(d.Resources, r.resource)) &&
		(matchGlobs(d.ExtraKeys, r.subresource) || matchGlobs(d.ExtraKeys, strings.ToLower(r.subresource)))
}

func (i *impersonationRule) matchActionTarget(r *request) bool {
	a := i.r.Action
	if a == nil || len(a.Resources) == 0 {
		return a != nil
	}
	return matchEntries(a.Resources, r.resource, r.subresource) || matchEntries(a.Resources, r.resource, strings.ToLower(r.subresource))
}

func (i *impersonationRule) last() stage { return max(stageNamespace, i.scope.last()) }

func (i *impersonationRule) mention(v *values) {
	v.folds = true
	i.scope.mention(v)
	v.verbs.add(impersonate)
	if d := i.r.Identity; d != nil {
		v.verbs.add(d.Verbs...)
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
				v.verbs.add(actionPrefix + mode + ":" + verb)
			}
		}
		v.groups.add(a.Groups...)
		mentionEntries(v, a.Resources)
	}
}

func (i *impersonationRule) describe(s *Statement) {
	entry := make(map[string]any)
	set := func(key string, list []string) {
		if len(list) > 0 {
			entry[key] = list
		}
	}
	if d := i.r.Identity; d != nil {
		set("modes", modesOf(d.Verbs))
		set("identityResources", d.Resources)
		set("identities", globTexts(d.Names))
		set("extraKeys", globTexts(d.ExtraKeys))
		if d.Namespaces != nil {
			entry["namespaces"] = filterJSON(d.Namespaces)
		}
	}
	if a := i.r.Action; a != nil && i.r.Identity == nil {
		set("modes", a.Modes)
		set("actionVerbs", anyWord(a.Verbs))
		set("targetResources", entryTexts(a.Resources))
		set("targetAPIGroups", a.Groups)
	}
	s.Rule, s.AppliesTo = map[string]any{"impersonation": entry}, scopeOf(i.policy)
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

func (i *impersonationRule) without(other condition) condition {
	if o, ok := other.(*impersonationRule); ok && i.scope.equals(o.scope) &&
		reflect.DeepEqual(i.r.Identity, o.r.Identity) && reflect.DeepEqual(i.r.Action, o.r.Action) {
		return nil
	}
	return i
}

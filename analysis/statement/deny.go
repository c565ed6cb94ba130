package statement

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// scope is the appliesTo of a deny policy.
type scope struct {
	policy  *tables.DenyPolicy
	tenants tables.Tenants
}

func matchGlobs(globs []tables.PathGlob, value string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g tables.PathGlob) bool { return matchGlob(g, value) })
}

// matchGlob compares the ends of the value first: most patterns are a literal or a prefix.
func matchGlob(g tables.PathGlob, value string) bool {
	return g.MatchesAll() || strings.HasPrefix(value, g.Prefix()) && strings.HasSuffix(value, g.Suffix()) && g.Match(value)
}

func (s scope) of() scope { return s }

func (s scope) Match(at stage, r *Request) bool {
	p := s.policy
	switch at {
	case StageCluster:
		return matchGlobs(p.Clusters, r.Cluster)
	case stageTenant:
		return matchGlobs(p.Tenants, s.tenants.Of(r.Cluster, r.Tenant))
	case stageSession:
		return r.Escalation != "" && slices.Contains(p.ReferredBy, r.Escalation) ||
			matchGlobs(p.Sessions, r.Session) && matchGlobs(p.EscalationRefs, r.Escalation)
	}
	return true
}

func (s scope) last() stage {
	switch p := s.policy; {
	case len(p.Sessions)+len(p.EscalationRefs) > 0:
		return stageSession
	case len(p.Tenants) > 0:
		return stageTenant
	case len(p.Clusters) > 0:
		return StageCluster
	}
	return 0
}

func (s scope) Mention(v *Values) {
	p := s.policy
	v.Clusters.addGlobs(p.Clusters)
	v.tenants.addGlobs(p.Tenants)
	if len(p.Tenants) > 0 {
		v.Clusters.Add(slices.Sorted(maps.Keys(s.tenants))...)
		v.tenantsOf = s.tenants
	}
	v.sessions.addGlobs(p.Sessions)
	v.escalations.addGlobs(p.EscalationRefs)
	v.escalations.Add(p.ReferredBy...)
}

func (s scope) equals(o scope) bool {
	return reflect.DeepEqual(scopeOf(s.policy), scopeOf(o.policy)) && (len(s.policy.Tenants) == 0 || maps.Equal(s.tenants, o.tenants))
}

// form is a spelling of verb and subresource that a denial must match as well.
type form struct{ verb, sub string }

// formsOf returns the forms of verb and subresource of a request.
func formsOf(verb, sub string) []form {
	lower := strings.ToLower(verb)
	forms := []form{{verb, sub}}
	add := func(f form) {
		if !slices.Contains(forms, f) {
			forms = append(forms, f)
		}
	}
	add(form{lower, sub})
	add(form{verb, strings.ToLower(sub)})
	add(form{lower, strings.ToLower(sub)})
	if sub == "" && (lower == "exec" || lower == "proxy") {
		add(form{verb, lower})
		add(form{lower, lower})
		if lower == "exec" {
			add(form{"create", lower})
		}
	}
	return forms
}

// matchDenied reports whether an entry of a deny policy matches some form of a resource.
func matchDenied(entries []string, resource string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool {
		return entry == resource || entry == strings.ToLower(entry) && isKind(entry, resource)
	})
}

// denyRule is a rule of a deny policy.
type denyRule struct {
	scope
	r *tables.DenyRule
}

// Match implements Condition.
func (d *denyRule) Match(at stage, r *Request) uint8 {
	switch at {
	case stageTarget:
		if r.Path != "" {
			return 0
		}
		bits := Bit(d.matchResource(r.Resource, r.Subresource) || d.matchResource(r.Resource, strings.ToLower(r.Subresource))) * bitPlain
		if r.Subresource == "" {
			bits |= Bit(d.matchResource(r.Resource, "exec")) * bitExec
			bits |= Bit(d.matchResource(r.Resource, "proxy")) * bitProxy
		}
		return bits
	case stageVerb:
		return d.actions(r, func(*tables.DenyAction) bool { return true })
	case stageGroup:
		return d.actions(r, func(a *tables.DenyAction) bool { return a.Groups == nil || slices.Contains(a.Groups, r.Group) })
	case stageName:
		if r.Name == "" {
			return Bit(!d.r.NeedsName)
		}
		return Bit(matchGlobs(d.r.Names, r.Name))
	case stageNamespace:
		return Bit(matchFilter(d.r.Namespaces, r))
	}
	return Bit(d.scope.Match(at, r))
}

// actions returns a bit for each action that matches some form of the request.
func (d *denyRule) actions(r *Request, matches func(*tables.DenyAction) bool) uint8 {
	var bits uint8
	for _, f := range formsOf(r.Verb, r.Subresource) {
		if !d.matchResource(r.Resource, f.sub) {
			continue
		}
		for i := range d.r.Actions {
			a := &d.r.Actions[i]
			if strings.HasPrefix(f.verb, a.VerbPrefix) && (a.Verbs == nil || slices.Contains(a.Verbs, f.verb)) && matches(a) {
				bits |= 1 << i
			}
		}
	}
	return bits
}

func (d *denyRule) matchResource(resource, sub string) bool {
	return matchEntries(d.r.Resources, resource, sub)
}

func matchEntries(entries []tables.DenyResource, resource, sub string) bool {
	for i := range entries {
		e := &entries[i]
		if e.NeedsSubresource && sub == "" || e.Subresources != nil && !slices.Contains(e.Subresources, sub) {
			continue
		}
		if e.Resources == nil || matchDenied(e.Resources, resource) {
			return true
		}
	}
	return false
}

// matchFilter matches a namespace. Unknown labels match: a denial must not be escaped by
// leaving them out.
func matchFilter(f *tables.NamespaceFilter, r *Request) bool {
	if f == nil {
		return true
	}
	if r.Namespace == "" { // no label is known of what is not in a namespace
		return matchGlobs(f.Patterns, "")
	}
	if len(f.Patterns) > 0 && matchGlobs(f.Patterns, r.Namespace) {
		return true
	}
	return len(f.Terms) > 0 && (r.NamespaceLabels == nil || slices.ContainsFunc(f.Terms, func(term []tables.LabelRequirement) bool {
		return !slices.ContainsFunc(term, func(q tables.LabelRequirement) bool { return !holdsRequirement(q, r.NamespaceLabels) })
	}))
}

func holdsRequirement(q tables.LabelRequirement, labels map[string]string) bool {
	value, ok := labels[q.Key]
	switch q.Operator {
	case "In":
		return ok && slices.Contains(q.Values, value)
	case "NotIn":
		return !ok || !slices.Contains(q.Values, value)
	case "Exists":
		return ok
	}
	return !ok // DoesNotExist
}

func (d *denyRule) filter() *tables.NamespaceFilter { return d.r.Namespaces }

func (d *denyRule) last() stage {
	last := stageGroup
	if len(d.r.Names) > 0 {
		last = stageName
	}
	if d.r.Namespaces != nil {
		last = stageNamespace
	}
	return max(last, d.scope.last())
}

// Mention implements Condition.
func (d *denyRule) Mention(v *Values) {
	v.folds = true
	d.scope.Mention(v)
	for i := range d.r.Actions {
		a := &d.r.Actions[i]
		for _, verb := range a.Verbs {
			v.addWord(&v.verbs, verb)
		}
		if a.VerbPrefix != "" {
			v.verbs.Add(a.VerbPrefix + "user-info")
		}
		v.groups.Add(a.Groups...)
	}
	mentionEntries(v, d.r.Resources)
	v.names.addGlobs(d.r.Names)
	v.addFilter(d.r.Namespaces)
}

// Describe implements Condition.
func (d *denyRule) Describe(s *JSON) { s.Rule, s.AppliesTo = d.rule(), scopeOf(d.policy) }

func mentionEntries(v *Values, entries []tables.DenyResource) {
	for i := range entries {
		for _, resource := range entries[i].Resources {
			v.addKind(resource)
		}
		for _, sub := range entries[i].Subresources {
			v.addWord(&v.subresources, sub)
		}
	}
}

// rule returns the rule as documents write it. Actions beyond the first one follow from
// it: they are the newer forms of impersonation.
func (d *denyRule) rule() map[string]any {
	action := &d.r.Actions[0]
	rule := map[string]any{"verbs": anyWord(action.Verbs), "apiGroups": anyWord(action.Groups)}
	var resources []string
	for _, e := range d.r.Resources {
		for _, resource := range anyWord(e.Resources) {
			switch {
			case e.NeedsSubresource:
				resources = append(resources, resource+"/*")
			case isPlainEntry(d.r.Resources, e):
				resources = append(resources, resource)
				if e.Subresources != nil {
					rule["subresources"] = e.Subresources
				}
			default:
				resources = append(resources, resource+"/"+e.Subresources[0])
			}
		}
	}
	rule["resources"] = resources
	if len(d.r.Names) > 0 {
		rule["resourceNames"] = GlobTexts(d.r.Names)
	}
	if d.r.Namespaces != nil {
		rule["namespaces"] = filterJSON(d.r.Namespaces)
	}
	return rule
}

// isPlainEntry reports whether e has the entries without a slash: they come last, all
// in one. An entry with a slash has one resource and one subresource that is not empty.
func isPlainEntry(all []tables.DenyResource, e tables.DenyResource) bool {
	return reflect.DeepEqual(all[len(all)-1], e) && (len(e.Resources) != 1 || len(e.Subresources) != 1 || e.Subresources[0] == "")
}

func anyWord(list []string) []string {
	if list == nil {
		return []string{"*"}
	}
	return list
}

func filterJSON(f *tables.NamespaceFilter) map[string]any {
	out := make(map[string]any)
	if len(f.Patterns) > 0 {
		out["patterns"] = GlobTexts(f.Patterns)
	}
	var terms []any
	for _, term := range f.Terms {
		var expressions []any
		for _, q := range term {
			e := map[string]any{"key": q.Key, "operator": q.Operator}
			if len(q.Values) > 0 {
				e["values"] = q.Values
			}
			expressions = append(expressions, e)
		}
		terms = append(terms, map[string]any{"matchExpressions": expressions})
	}
	if terms != nil {
		out["selectorTerms"] = terms
	}
	return out
}

// Without implements Condition.
func (d *denyRule) Without(other Condition) Condition {
	o, ok := other.(*denyRule)
	if !ok || !d.scope.equals(o.scope) || !reflect.DeepEqual(d.r.Namespaces, o.r.Namespaces) ||
		!reflect.DeepEqual(d.r.Names, o.r.Names) || len(d.r.Actions) != 1 || len(o.r.Actions) != 1 ||
		len(d.r.Resources) != 1 || len(o.r.Resources) != 1 ||
		!reflect.DeepEqual(d.r.Resources[0].Subresources, o.r.Resources[0].Subresources) ||
		d.r.Resources[0].NeedsSubresource != o.r.Resources[0].NeedsSubresource {
		if ok && reflect.DeepEqual(d.rule(), o.rule()) && d.scope.equals(o.scope) {
			return nil
		}
		return d
	}
	verbs, groups := anyWord(d.r.Actions[0].Verbs), anyWord(d.r.Actions[0].Groups)
	resources := anyWord(d.r.Resources[0].Resources)
	in := func(list []string) func(string) bool {
		return func(v string) bool { return HasWord(anyWord(list), v) }
	}
	if !reduce(dimension{&verbs, in(o.r.Actions[0].Verbs)}, dimension{&groups, in(o.r.Actions[0].Groups)},
		dimension{&resources, in(o.r.Resources[0].Resources)}) {
		return nil
	}
	reduced := *d.r
	reduced.Actions = []tables.DenyAction{{Verbs: wordsOf(verbs), Groups: wordsOf(groups)}}
	reduced.Resources = slices.Clone(d.r.Resources)
	reduced.Resources[0].Resources = wordsOf(resources)
	return &denyRule{d.scope, &reduced}
}

// wordsOf returns the words of a table of deny rules for a list in which "*" stands for any
// word: nil then. It is the inverse of anyWord.
func wordsOf(list []string) []string {
	if slices.Contains(list, "*") {
		return nil
	}
	return list
}

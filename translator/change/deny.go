package change

import (
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// scope is the appliesTo of a deny policy.
type scope struct{ policy *tables.DenyPolicy }

func matchGlobs(globs []tables.PathGlob, value string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g tables.PathGlob) bool { return matchGlob(g, value) })
}

// matchGlob compares the ends of the value first: most patterns are a literal or a prefix.
func matchGlob(g tables.PathGlob, value string) bool {
	return g.MatchesAll() || strings.HasPrefix(value, g.Prefix()) && strings.HasSuffix(value, g.Suffix()) && g.Match(value)
}

func (s scope) match(at stage, r *request) bool {
	p := s.policy
	switch at {
	case stageCluster:
		return matchGlobs(p.Clusters, r.cluster)
	case stageTenant:
		return matchGlobs(p.Tenants, r.tenant)
	case stageSession:
		return r.escalation != "" && slices.Contains(p.ReferredBy, r.escalation) ||
			matchGlobs(p.Sessions, r.session) && matchGlobs(p.EscalationRefs, r.escalation)
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
		return stageCluster
	}
	return 0
}

func (s scope) mention(v *values) {
	p := s.policy
	v.clusters.addGlobs(p.Clusters)
	v.tenants.addGlobs(p.Tenants)
	v.sessions.addGlobs(p.Sessions)
	v.escalations.addGlobs(p.EscalationRefs)
	v.escalations.add(p.ReferredBy...)
}

func (s scope) equals(o scope) bool { return reflect.DeepEqual(scopeOf(s.policy), scopeOf(o.policy)) }

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

func (d *denyRule) match(at stage, r *request) uint8 {
	switch at {
	case stageTarget:
		if r.path != "" {
			return 0
		}
		bits := one(d.matchResource(r.resource, r.subresource) || d.matchResource(r.resource, strings.ToLower(r.subresource))) * bitPlain
		if r.subresource == "" {
			bits |= one(d.matchResource(r.resource, "exec")) * bitExec
			bits |= one(d.matchResource(r.resource, "proxy")) * bitProxy
		}
		return bits
	case stageVerb:
		return d.actions(r, func(*tables.DenyAction) bool { return true })
	case stageGroup:
		return d.actions(r, func(a *tables.DenyAction) bool { return a.Groups == nil || slices.Contains(a.Groups, r.group) })
	case stageName:
		if r.name == "" {
			return one(!d.r.NeedsName)
		}
		return one(matchGlobs(d.r.Names, r.name))
	case stageNamespace:
		return one(matchFilter(d.r.Namespaces, r))
	}
	return one(d.scope.match(at, r))
}

// actions returns a bit for each action that matches some form of the request.
func (d *denyRule) actions(r *request, matches func(*tables.DenyAction) bool) uint8 {
	var bits uint8
	for _, f := range formsOf(r.verb, r.subresource) {
		if !d.matchResource(r.resource, f.sub) {
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
func matchFilter(f *tables.NamespaceFilter, r *request) bool {
	if f == nil {
		return true
	}
	if r.namespace == "" {
		return slices.ContainsFunc(f.Patterns, func(g tables.PathGlob) bool {
			text, literal := g.Literal()
			return g.MatchesAll() || literal && text == ""
		})
	}
	if len(f.Patterns) > 0 && matchGlobs(f.Patterns, r.namespace) {
		return true
	}
	return len(f.Terms) > 0 && (r.namespaceLabels == nil || slices.ContainsFunc(f.Terms, func(term []tables.LabelRequirement) bool {
		return !slices.ContainsFunc(term, func(q tables.LabelRequirement) bool { return !holdsRequirement(q, r.namespaceLabels) })
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

func (d *denyRule) mention(v *values) {
	v.folds = true
	d.scope.mention(v)
	for i := range d.r.Actions {
		a := &d.r.Actions[i]
		for _, verb := range a.Verbs {
			v.addWord(&v.verbs, verb)
		}
		if a.VerbPrefix != "" {
			v.verbs.add(a.VerbPrefix + "user-info")
		}
		v.groups.add(a.Groups...)
	}
	mentionEntries(v, d.r.Resources)
	v.names.addGlobs(d.r.Names)
	v.addFilter(d.r.Namespaces)
}

func (d *denyRule) describe(s *Statement) { s.Rule, s.AppliesTo = d.rule(), scopeOf(d.policy) }

func mentionEntries(v *values, entries []tables.DenyResource) {
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
func (d *denyRule) rule() any {
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
		rule["resourceNames"] = globTexts(d.r.Names)
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
		out["patterns"] = globTexts(f.Patterns)
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

func (d *denyRule) without(other condition) condition {
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
		return func(v string) bool { return hasWord(anyWord(list), v) }
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

// wordsOf is the inverse of anyWord.
func wordsOf(list []string) []string {
	if slices.Contains(list, "*") {
		return nil
	}
	return list
}

// podRule is the pod security of a deny policy. What the pod is decides, so the
// statement is opaque.
type podRule struct {
	scope
	p *tables.PodSecurity
}

func (p *podRule) match(at stage, r *request) uint8 {
	sub := func(s string) bool { return slices.Contains(p.p.Subresources, s) }
	switch at {
	case stageTarget:
		if r.path != "" || !isKind("pods", r.resource) {
			return 0
		}
		if r.subresource == "" {
			return one(sub("exec"))*bitExec | one(sub("proxy"))*bitProxy
		}
		return one(sub(r.subresource) || sub(strings.ToLower(r.subresource)))
	case stageVerb:
		return one(slices.ContainsFunc(formsOf(r.verb, r.subresource), func(f form) bool { return sub(f.sub) }))
	case stageGroup:
		return one(r.group == "")
	}
	return one(p.scope.match(at, r))
}

func (p *podRule) last() stage { return max(stageGroup, p.scope.last()) }

func (p *podRule) mention(v *values) {
	v.folds = true
	p.scope.mention(v)
	v.addKind("pods")
	v.groups.add("")
	v.addFilter(p.p.ExemptNamespaces)
	for _, sub := range p.p.Subresources {
		v.addWord(&v.subresources, sub)
	}
	v.verbs.add("exec", "proxy")
}

func (p *podRule) describe(s *Statement) { s.Rule, s.AppliesTo = p.rule(), scopeOf(p.policy) }

func (p *podRule) rule() any { return map[string]any{"podSecurity": podJSON(p.p)} }

func podJSON(p *tables.PodSecurity) map[string]any {
	weights := make(map[string]int)
	for _, f := range p.Factors {
		if f.Weight > 0 {
			weights[f.Name] = f.Weight
		}
	}
	var thresholds []any
	for _, t := range p.Thresholds {
		thresholds = append(thresholds, map[string]any{"maxScore": t.MaxScore, "action": t.Action})
	}
	out := map[string]any{"subresources": p.Subresources, "riskFactors": weights, "thresholds": thresholds}
	if len(p.BlockFactors) > 0 {
		out["blockFactors"] = p.BlockFactors
	}
	exemptions := make(map[string]any)
	if p.ExemptNamespaces != nil {
		exemptions["namespaces"] = filterJSON(p.ExemptNamespaces)
	}
	if len(p.ExemptLabels) > 0 {
		exemptions["podLabels"] = p.ExemptLabels
	}
	if len(exemptions) > 0 {
		out["exemptions"] = exemptions
	}
	if p.FailOpen {
		out["failMode"] = "open"
	}
	return out
}

func (p *podRule) without(other condition) condition {
	if o, ok := other.(*podRule); ok && p.scope.equals(o.scope) && reflect.DeepEqual(p.rule(), o.rule()) {
		return nil
	}
	return p
}

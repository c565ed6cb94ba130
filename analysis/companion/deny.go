package companion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// denyParts returns the rules of deny policies, and refuses pod security.
func (b *builder) denyParts(d *tables.Deny) (out []*part) {
	for i := range d.Policies {
		p := &d.Policies[i]
		scope, unknown, inScope := b.scope(p)
		if !inScope {
			continue
		}
		if p.Pod != nil {
			b.refused = append(b.refused, Refusal{codePodSecurity, p.Source, "DenyPolicy " + p.Name, "pod security reads the pod of an exec, which admission does not see"})
		}
		for j := range p.Rules {
			r := &p.Rules[j]
			t := denyText(r)
			if t.match = allOf(scope, t.match); unknown != nil {
				t.refuse(unknown.code, unknown.reason)
			}
			out = append(out, &part{text: t, step: tables.StepDenyPolicy, deny: true, title: fmt.Sprintf("DenyPolicy %s (rule %d; %s)", p.Name, r.Rule, r.Source), source: r.Source,
				what: "the name of the object", isDated: p.Dates != nil || len(p.Sessions)+len(p.EscalationRefs) > 0 && b.hasSessions})
		}
	}
	return out
}

// scope returns where a policy applies as CEL. It returns false for one that never does.
func (b *builder) scope(p *tables.DenyPolicy) (scope string, unknown *problem, ok bool) {
	for _, dimension := range []struct {
		globs       []tables.PathGlob
		value, flag string
	}{{p.Clusters, b.Cluster, "--cluster"}, {p.Tenants, b.Tenant, "--tenant"}} {
		isAny := len(dimension.globs) == 0 || slices.ContainsFunc(dimension.globs, tables.PathGlob.MatchesAll)
		switch {
		case isAny:
		case dimension.value == "":
			unknown = &problem{codeClusterUnknown, "it applies to some clusters or tenants, and " + dimension.flag + " does not say which one this is"}
		case !slices.ContainsFunc(dimension.globs, func(g tables.PathGlob) bool { return g.Match(dimension.value) }):
			return "", nil, false
		}
	}
	scope = allOf(matchesGlob("variables.session", p.Sessions), matchesGlob("variables.escalation", p.EscalationRefs))
	if len(p.ReferredBy) > 0 && scope != "" {
		scope = anyOf(scope, isIn("variables.escalation", p.ReferredBy))
	}
	return scope, unknown, true
}

// denyText returns a rule of a deny policy.
func denyText(r *tables.DenyRule) *text {
	t := &text{at: states(func(verb string) bool {
		return slices.ContainsFunc(r.Actions, func(a tables.DenyAction) bool { return hasVerb(&a, verb) })
	})}
	var actions, targets []string
	for i := range r.Actions {
		a := &r.Actions[i]
		on := [operations]bool{}
		for op, verbs := range operationVerbs {
			on[op] = hasVerb(a, verbs[0]) || hasVerb(a, verbs[len(verbs)-1])
		}
		if on == ([operations]bool{}) {
			continue
		}
		group := ""
		if a.Groups != nil {
			group = isIn("variables.group", a.Groups)
		}
		actions = append(actions, allOf(isOperation(on), group))
		t.problemOfGroups(r, on)
	}
	t.resources = make(map[string]bool)
	for i := range r.Resources {
		target := &r.Resources[i]
		words := resourceWords(target.Resources)
		resource, sub := "", ""
		if target.Resources != nil {
			resource = isIn("variables.resource", words)
		}
		if target.Subresources != nil {
			sub = isIn("variables.sub", target.Subresources)
		}
		if target.NeedsSubresource {
			sub = allOf(sub, `variables.sub != ""`)
		}
		targets = append(targets, allOf(resource, sub))
		if target.Resources == nil {
			t.resources = nil
		}
		for _, word := range words {
			if t.resources != nil {
				t.resources[word] = true
			}
		}
	}
	t.match = allOf(anyOf(actions...), anyOf(targets...), inNamespaces(r.Namespaces))
	if len(r.Names) > 0 {
		t.conditionalAt(create)
		t.deleteByName(codePatchApart)
		name := matchesGlob("variables.name", r.Names)
		if r.NeedsName {
			name = allOf(`variables.name != ""`, name)
		}
		t.facts = name
	}
	return t
}

// problemOfGroups refuses an operation of which one action has one verb, and another action in
// another group the other one.
func (t *text) problemOfGroups(r *tables.DenyRule, on [operations]bool) {
	for op, verbs := range operationVerbs {
		for i := range r.Actions {
			if on[op] && hasVerb(&r.Actions[i], verbs[0]) != hasVerb(&r.Actions[i], verbs[len(verbs)-1]) {
				t.at[op].problem = &problem{codePatchApart, "it matches one of " + strings.Join(verbs, " and ") + " and not the other, which admission does not tell apart"}
			}
		}
	}
}

func hasVerb(a *tables.DenyAction, verb string) bool {
	return a.VerbPrefix == "" && (a.Verbs == nil || slices.Contains(a.Verbs, verb))
}

// resourceWords returns the resources that entries of a deny policy match: for an entry in lower
// case every word of its kind.
func resourceWords(entries []string) (out []string) {
	for _, entry := range entries {
		out = append(out, entry)
		if strings.ToLower(entry) == entry {
			out = append(out, rule.Resources(entry)...)
		}
	}
	return tables.Entries(out)
}

// inNamespaces is the condition on the namespace.
func inNamespaces(f *tables.NamespaceFilter) string {
	if f == nil {
		return ""
	}
	named := "false"
	if len(f.Patterns) > 0 {
		named = matchesGlob("variables.space", f.Patterns)
	}
	var terms []string
	for _, term := range f.Terms {
		all := elements.Map(term, func(q tables.LabelRequirement) string { return requirement(&q) })
		terms = append(terms, allOf(all...))
	}
	return anyOf(named, both(`variables.space != ""`, "("+anyOf(terms...)+")"))
}

func requirement(q *tables.LabelRequirement) string {
	const labels = "variables.namespaceLabels"
	present := quote(q.Key) + " in " + labels
	listed := present + " && " + isIn(labels+"["+quote(q.Key)+"]", q.Values)
	switch q.Operator {
	case tables.In:
		return listed
	case tables.NotIn:
		return not(listed)
	case tables.Exists:
		return present
	default: // DoesNotExist
		return not(present)
	}
}

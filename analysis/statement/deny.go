package statement

import (
	"maps"
	"reflect"
	"slices"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// scope is the appliesTo of a deny policy.
type scope struct {
	policy  *tables.DenyPolicy
	tenants tables.Tenants
	in      rule.Rule
}

func newScope(p *tables.DenyPolicy, tenants tables.Tenants) scope {
	return scope{p, tenants, rule.Scope(p)}
}

func (s scope) of() scope { return s }

func (s scope) Match(at stage, r *Request) uint8 {
	of := attributesOf[at]
	if at < StageCluster || of == 0 {
		return 1
	}
	w := rule.Words{Request: rule.Request{Scope: s.tenants.In(r.Scope)}}
	return Bit(alive(s.in, &w, of) != 0)
}

func (s scope) last() (last stage) {
	for i, globs := range s.policy.Scope() {
		if len(*globs) > 0 {
			last = max(last, stageOf(i))
		}
	}
	return last
}

func (s scope) Mention(v *Values) {
	for _, lists := range s.in {
		v.addLists(lists, true)
	}
	if s.readsTenants() {
		v.Clusters().Add(slices.Sorted(maps.Keys(s.tenants))...)
		v.tenants = s.tenants
	}
}

// readsTenants reports whether the scope depends on the tenants of clusters.
func (s scope) readsTenants() bool { return len(s.policy.Tenants) > 0 }

func (s scope) equals(o scope) bool {
	return reflect.DeepEqual(scopeOf(s.policy), scopeOf(o.policy)) && (!s.readsTenants() || maps.Equal(s.tenants, o.tenants))
}

// denyRule is a rule of a deny policy.
type denyRule struct {
	scope
	r    *tables.DenyRule
	fits rule.Rule
}

func newDenyRule(in scope, r *tables.DenyRule) *denyRule { return &denyRule{in, r, rule.Deny(r)} }

// Match implements Condition.
func (d *denyRule) Match(at stage, r *Request) uint8 {
	if at > stageNamespace {
		return d.scope.Match(at, r)
	}
	return bitsOf(d.fits, at, r)
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
	d.scope.Mention(v)
	for _, lists := range d.fits {
		v.addLists(lists, true)
	}
}

// Describe implements Condition.
func (d *denyRule) Describe(s *JSON) { s.Rule, s.AppliesTo = d.rule(), scopeOf(d.policy) }

// rule returns the rule as documents write it. Actions beyond the first one follow from
// it: they are the newer forms of impersonation.
func (d *denyRule) rule() *Row {
	action := &d.r.Actions[0]
	written := &Row{Verbs: rule.AnyWord(action.Verbs), APIGroups: rule.AnyWord(action.Groups), Namespaces: namespacesOf(d.r.Namespaces)}
	for _, e := range d.r.Resources {
		for _, resource := range rule.AnyWord(e.Resources) {
			switch {
			case e.NeedsSubresource:
				written.Resources = append(written.Resources, resource+"/*")
			case isPlainEntry(d.r.Resources, e):
				written.Resources = append(written.Resources, resource)
				if e.Subresources != nil {
					written.Subresources = e.Subresources
				}
			default:
				written.Resources = append(written.Resources, resource+"/"+e.Subresources[0])
			}
		}
	}
	if len(d.r.Names) > 0 {
		written.ResourceNames = GlobTexts(d.r.Names)
	}
	return written
}

// isPlainEntry reports whether e has the entries without a slash: they come last, all
// in one. An entry with a slash has one resource and one subresource that is not empty.
func isPlainEntry(all []tables.DenyResource, e tables.DenyResource) bool {
	return reflect.DeepEqual(all[len(all)-1], e) && (len(e.Resources) != 1 || len(e.Subresources) != 1 || e.Subresources[0] == "")
}

// namespacesOf returns a filter as documents write it, nil for none.
func namespacesOf(f *tables.NamespaceFilter) *Namespaces {
	if f == nil {
		return nil
	}
	out := new(Namespaces)
	if len(f.Patterns) > 0 {
		out.Patterns = GlobTexts(f.Patterns)
	}
	for _, term := range f.Terms {
		var written Term
		for _, q := range term {
			written.MatchExpressions = append(written.MatchExpressions, Expression{q.Key, q.Operator, q.Values})
		}
		out.SelectorTerms = append(out.SelectorTerms, written)
	}
	return out
}

// Without implements Condition.
func (d *denyRule) Without(other Condition) Condition {
	o, ok := other.(*denyRule)
	if !ok || !d.scope.equals(o.scope) {
		return d
	}
	left := rule.WithoutDeny(d.r, o.r)
	if left == nil || left == d.r && reflect.DeepEqual(d.rule(), o.rule()) {
		return nil
	}
	return newDenyRule(d.scope, left)
}

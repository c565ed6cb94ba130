package match

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// Form is a spelling of a request: roles of the Origin family accept more than one, and
// deny policies are matched against all of them.
type Form struct{ Verb, Subresource, Resource string }

// Denials indexes deny policies by resource, in order to find out whether any of them
// concerns a request. It is immutable and safe for concurrent use.
type Denials struct {
	policies    []tables.DenyPolicy
	escalations []tables.Escalation // those that sessions own included, some twice
	byResource  map[string][]denial
	anywhere    []denial // of rules that match every resource
	pods        []*tables.DenyPolicy
	// impersonation states that a policy has rules about impersonation.
	impersonation bool
	dated         []datedPolicy
}

// datedPolicy is a policy that begins or ends, with the index of it alone.
type datedPolicy struct {
	dates *dates.Period
	alone *Denials
}

// denial is a rule with one of its resources.
type denial struct {
	policy   *tables.DenyPolicy
	rule     *tables.DenyRule
	resource *tables.DenyResource
}

// NewDenials indexes the deny policies of the tables. It returns nil, which stands for
// unknown policies, if the list has no tables of deny policies.
func NewDenials(list tables.List) *Denials {
	t := tables.Of[*tables.Deny](list)
	if t == nil {
		return nil
	}
	d := DenialsOf(t.Policies)
	d.escalations = slices.Concat(t.Escalations, t.Owned)
	for i := range t.Policies {
		if p := &t.Policies[i]; p.Dates != nil {
			d.dated = append(d.dated, datedPolicy{p.Dates, DenialsOf(t.Policies[i : i+1])})
		}
	}
	return d
}

// DenialsOf indexes policies.
func DenialsOf(policies []tables.DenyPolicy) *Denials {
	d := &Denials{policies: policies, byResource: make(map[string][]denial)}
	for i := range policies {
		policy := &policies[i]
		for j := range policy.Rules {
			d.addRule(policy, &policy.Rules[j])
		}
		d.impersonation = d.impersonation || len(policy.Impersonation) > 0
		if policy.Pod != nil {
			d.pods = append(d.pods, policy)
		}
	}
	return d
}

// Policies returns the policies; none if they are unknown.
func (d *Denials) Policies() []tables.DenyPolicy {
	if d == nil {
		return nil
	}
	return d.policies
}

// Escalations returns the escalations that may be active, some twice; none if they are
// unknown.
func (d *Denials) Escalations() []tables.Escalation {
	if d == nil {
		return nil
	}
	return d.escalations
}

func (d *Denials) addRule(policy *tables.DenyPolicy, rule *tables.DenyRule) {
	for i := range rule.Resources {
		added := denial{policy, rule, &rule.Resources[i]}
		if added.resource.Resources == nil {
			d.anywhere = append(d.anywhere, added)
		}
		for _, resource := range added.resource.Resources {
			d.byResource[resource] = append(d.byResource[resource], added)
		}
	}
}

// CanConcern reports whether a rule or the pod security of a policy can match the request
// as written or one of its other forms, in scope by the request or by a valid session of its
// user. It returns true if only Rego can decide, as for the labels of namespaces. False means
// that compiled.deny has neither rules nor pods for the request.
func (d *Denials) CanConcern(r *decision.Request, others []Form, valid []*tables.Session) bool {
	if d == nil {
		return true
	}
	a := asked{r, valid}
	return d.canMatch(a, Form{r.Verb, r.Subresource, r.Resource}) ||
		slices.ContainsFunc(others, func(f Form) bool { return d.canMatch(a, f) })
}

// asked is a request with the valid sessions of its user.
type asked struct {
	*decision.Request
	sessions []*tables.Session
}

// HasDates reports whether a policy begins or ends to hold at some time.
func (d *Denials) HasDates() bool { return d != nil && len(d.dated) > 0 }

// Around returns a span narrowed about an instant by the policies that can concern the
// request at another time, as CanConcern reports.
func (d *Denials) Around(span dates.Span, at dates.Instant, r *decision.Request, others []Form, valid []*tables.Session) dates.Span {
	if d == nil {
		return span
	}
	for _, p := range d.dated {
		if p.alone.CanConcern(r, others, valid) {
			span = span.Around(at, p.dates)
		}
	}
	return span
}

func (d *Denials) canMatch(r asked, f Form) bool {
	switch {
	case d.impersonation && strings.HasPrefix(f.Verb, "impersonate"):
		return true // Rego matches the rules about impersonation
	case r.Path != "":
		return false // other rules are about resources
	}
	matches := func(n denial) bool { return n.canMatch(r, f) }
	return slices.ContainsFunc(d.byResource[f.Resource], matches) || slices.ContainsFunc(d.anywhere, matches) ||
		f.Resource == "pods" && r.APIGroup == "" && slices.ContainsFunc(d.pods, func(p *tables.DenyPolicy) bool {
			return slices.Contains(p.Pod.Subresources, f.Subresource) && inScope(p, r)
		})
}

// canMatch reports whether the rule can match the form; the resource is known to match.
func (n denial) canMatch(r asked, f Form) bool {
	return matchesSubresource(n.resource, f.Subresource) &&
		slices.ContainsFunc(n.rule.Actions, func(a tables.DenyAction) bool { return matchesAction(&a, f.Verb, r.APIGroup) }) &&
		(!n.rule.NeedsName || r.Name != "") &&
		(len(n.rule.Names) == 0 || matchesAny(n.rule.Names, r.Name)) &&
		canMatchNamespace(n.rule.Namespaces, r.Namespace) &&
		inScope(n.policy, r)
}

func matchesSubresource(resource *tables.DenyResource, subresource string) bool {
	return (!resource.NeedsSubresource || subresource != "") &&
		(resource.Subresources == nil || slices.Contains(resource.Subresources, subresource))
}

func matchesAction(a *tables.DenyAction, verb, group string) bool {
	return (a.Verbs == nil || slices.Contains(a.Verbs, verb)) && strings.HasPrefix(verb, a.VerbPrefix) &&
		(a.Groups == nil || slices.Contains(a.Groups, group))
}

// canMatchNamespace reports whether a filter matches the namespace by its name, or can
// match it by its labels.
func canMatchNamespace(f *tables.NamespaceFilter, namespace string) bool {
	return f == nil || len(f.Terms) > 0 && namespace != "" || matchesAny(f.Patterns, namespace)
}

// inScope reports whether the policy applies to the request's cluster and tenant, and to its
// session and escalation or those of a valid session. An escalation that refers to the policy
// replaces session and escalation, and so does a valid session.
func inScope(p *tables.DenyPolicy, r asked) bool {
	if !isEmptyOrMatches(p.Clusters, r.Cluster) || !isEmptyOrMatches(p.Tenants, r.Tenant) {
		return false
	}
	held := func(session, escalation string) bool {
		return slices.Contains(p.ReferredBy, escalation) ||
			isEmptyOrMatches(p.Sessions, session) && isEmptyOrMatches(p.EscalationRefs, escalation)
	}
	return held(r.Session, r.Escalation) || slices.ContainsFunc(r.sessions, func(s *tables.Session) bool {
		return slices.Contains(s.Policies, p.Name) || held(s.Name, s.Owner)
	})
}

func isEmptyOrMatches(globs []tables.PathGlob, value string) bool {
	return len(globs) == 0 || matchesAny(globs, value)
}

// maxMatched is the length of the longest value that is matched here. The evaluation of
// longer ones may take long, and OPA's is bounded.
const maxMatched = 1024

// matchesAny reports whether one of the patterns matches a value. It returns true for a
// value that is too long.
func matchesAny(globs []tables.PathGlob, value string) bool {
	return len(value) > maxMatched || slices.ContainsFunc(globs, func(g tables.PathGlob) bool {
		if literal, ok := g.Literal(); ok {
			return literal == value
		}
		return strings.HasPrefix(value, g.Prefix()) && strings.HasSuffix(value, g.Suffix()) && g.Match(value)
	})
}

package match

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// Denials indexes deny policies by resource, in order to find out whether any of them
// concerns a request. It is immutable and safe for concurrent use.
type Denials struct {
	policies    []tables.DenyPolicy
	escalations []tables.Escalation // those that sessions own included, some twice
	resources   map[string][]string
	byResource  map[string][]*denial
	anywhere    []*denial // of rules that match every resource
	// impersonation states that a policy has rules about impersonation.
	impersonation bool
	dated         []datedPolicy
}

// datedPolicy is a policy that begins or ends, with the index of it alone.
type datedPolicy struct {
	dates *dates.Period
	alone *Denials
}

// Denial is a rule of a policy.
type Denial struct {
	Policy *tables.DenyPolicy
	Rule   *tables.DenyRule // nil for the pod security of the policy
}

// compare is the order in which denials are evaluated.
func (d *Denial) compare(other *Denial) int {
	return cmp.Or(cmp.Compare(d.Policy.Precedence, other.Policy.Precedence), cmp.Compare(d.Policy.Name, other.Policy.Name),
		cmp.Compare(d.Rule.Rule, other.Rule.Rule))
}

// denial is a rule of a policy, or its pod security, as it is matched.
type denial struct {
	Denial
	// bySession states that sessions count: the scope names sessions or escalations, or pods are
	// judged, for which sessions have overrides.
	bySession bool
	scope     rule.Rule
	rule      rule.Rule
}

// NewDenials indexes the deny policies of the tables. It returns nil, which stands for
// unknown policies, if the list has no tables of deny policies.
func NewDenials(list tables.List) *Denials {
	t := tables.Of[*tables.Deny](list)
	if t == nil {
		return nil
	}
	d := DenialsOf(t.Policies)
	d.escalations, d.resources = slices.Concat(t.Escalations, t.Owned), t.Resources
	for i := range t.Policies {
		if p := &t.Policies[i]; p.Dates != nil {
			d.dated = append(d.dated, datedPolicy{p.Dates, DenialsOf(t.Policies[i : i+1])})
		}
	}
	return d
}

// DenialsOf indexes policies.
func DenialsOf(policies []tables.DenyPolicy) *Denials {
	d := &Denials{policies: policies, byResource: make(map[string][]*denial)}
	for i := range policies {
		policy := &policies[i]
		scope, bySession := rule.Scope(policy), len(policy.Sessions)+len(policy.EscalationRefs) > 0
		for j := range policy.Rules {
			d.add(&denial{Denial{policy, &policy.Rules[j]}, bySession, scope, rule.Deny(&policy.Rules[j])}, policy.Rules[j].Resources)
		}
		d.impersonation = d.impersonation || len(policy.Impersonation) > 0
		if policy.Pod != nil {
			d.add(&denial{Denial{policy, nil}, true, scope, rule.Pod(policy.Pod)}, rule.PodTargets(policy.Pod))
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

// Resources returns the resources that policies name, by the lower-case words for the same kind;
// none if the policies are unknown.
func (d *Denials) Resources() map[string][]string {
	if d == nil {
		return nil
	}
	return d.resources
}

// add adds a rule by its resources.
func (d *Denials) add(added *denial, resources []tables.DenyResource) {
	for i := range resources {
		if resources[i].Resources == nil {
			d.anywhere = append(d.anywhere, added)
		}
		for _, resource := range resources[i].Resources {
			d.byResource[resource] = append(d.byResource[resource], added)
		}
	}
}

// CanConcern reports whether a rule or the pod security of a policy can match the request
// as written or one of its other forms, in scope by the request or by a valid session of its
// user. It returns true if only Rego can decide, as for the labels of namespaces. False means
// that compiled.deny has neither rules nor pods for the request.
func (d *Denials) CanConcern(r *decision.Request, f Forms, valid []Session) bool {
	switch {
	case d.isForRego(f):
		return true
	case d.isSilent(r):
		return false
	}
	a := askedOf(r, f, valid)
	return d.has(f, func(n *denial) bool { return n.rule.Match(&a.words) != rule.No && n.inScope(&a) != rule.No })
}

// isForRego reports whether Rego alone knows: policies that are unknown, and the rules about
// impersonation.
func (d *Denials) isForRego(f Forms) bool {
	return d == nil || d.impersonation && slices.ContainsFunc(f.Spellings, func(s rule.Spelling) bool { return strings.HasPrefix(s.Verb, rule.Impersonate) })
}

// isSilent reports whether no rule can match: all are about resources.
func (d *Denials) isSilent(r *decision.Request) bool {
	return r.Path != "" || len(d.byResource)+len(d.anywhere) == 0
}

// First returns the rule that denies the request at an instant, of several the first in the order
// of evaluation, or nil if none does. isKnown is false if only Rego can decide: if pods are
// judged, or if what a rule compares is not stated.
func (d *Denials) First(r *decision.Request, f Forms, valid []Session, at dates.Instant) (first *Denial, isKnown bool) {
	if d.isForRego(f) {
		return nil, false
	}
	if d.isSilent(r) {
		return nil, true
	}
	a := askedOf(r, f, valid)
	isUnknown := d.has(f, func(n *denial) bool {
		matches := n.rule.Match(&a.words)
		if matches == rule.No {
			return false
		}
		if matches = min(matches, n.inScope(&a)); matches == rule.No || !n.Policy.Dates.Holds(at) {
			return false
		}
		if n.Rule == nil || matches != rule.Yes {
			return true
		}
		if first == nil || n.compare(first) < 0 {
			first = &n.Denial
		}
		return false
	})
	if isUnknown {
		return nil, false
	}
	return first, true
}

// ReadsSessions reports whether what policies decide on a request that they can concern may
// depend on the valid sessions of its user. False is certain.
func (d *Denials) ReadsSessions(r *decision.Request, f Forms) bool {
	if d == nil || d.impersonation {
		return true
	}
	var a *asked // most directories have no such policy
	return d.has(f, func(n *denial) bool {
		if !n.bySession {
			return false
		}
		if a == nil {
			now := askedOf(r, f, nil)
			a = &now
		}
		return n.rule.Match(&a.words) != rule.No
	})
}

// has reports whether a rule about one of the resources of a request fits.
func (d *Denials) has(f Forms, fits func(*denial) bool) bool {
	for _, resource := range f.Resources {
		if slices.ContainsFunc(d.byResource[resource], fits) {
			return true
		}
	}
	return slices.ContainsFunc(d.anywhere, fits)
}

// Forms are the forms in which deny policies are matched: each spelling of verb and subresource
// with each resource.
type Forms struct {
	Spellings []rule.Spelling
	Resources []string
}

// FormsOf returns the forms of a request. named are the resources that policies name, by the
// words for the same kind: of the other words for the kind only those can match.
func FormsOf(r *decision.Request, named map[string][]string) Forms {
	if r.Path != "" {
		return Forms{rule.Spellings(r.Verb, ""), []string{""}}
	}
	return Forms{rule.Spellings(r.Verb, r.Subresource), tables.Once(append([]string{r.Resource}, named[strings.ToLower(r.Resource)]...))}
}

// asked is a request with its words and the valid sessions of its user.
type asked struct {
	words    rule.Words
	sessions []Session
}

// askedOf returns the words of a request. Rego reads the labels of namespaces, and compares
// patterns with long values: its evaluation is bounded.
func askedOf(r *decision.Request, f Forms, valid []Session) asked {
	in := requestOf(r)
	a := asked{rule.FormWords(&in, f.Spellings, f.Resources), valid}
	a.words.Open, a.words.Longest = rule.Set(rule.NamespaceLabels), maxMatched
	return a
}

// HasDates reports whether a policy begins or ends to hold at some time.
func (d *Denials) HasDates() bool { return d != nil && len(d.dated) > 0 }

// Around returns a span narrowed about an instant by the policies that can concern the
// request at another time, as CanConcern reports.
func (d *Denials) Around(span dates.Span, at dates.Instant, r *decision.Request, f Forms, valid []Session) dates.Span {
	if d == nil {
		return span
	}
	for _, p := range d.dated {
		if p.alone.CanConcern(r, f, valid) {
			span = span.Around(at, p.dates)
		}
	}
	return span
}

// inScope returns whether the policy applies to the request's cluster and tenant, and to its
// session and escalation or those of a valid session. A session that names the policy replaces
// session and escalation.
func (n *denial) inScope(a *asked) rule.Truth {
	out := n.scope.Match(&a.words)
	if !n.bySession {
		return out
	}
	for i := range a.sessions {
		s := &a.sessions[i]
		if out == rule.Yes {
			break
		}
		w := a.words
		w.Session, w.Escalation = s.Name, s.Owner
		if slices.Contains(s.Policies, n.Policy.Name) {
			w.Open |= rule.Referred
		}
		out = max(out, n.scope.Match(&w))
	}
	return out
}

// maxMatched is the length of the longest value that is matched here. The evaluation of
// longer ones may take long, and OPA's is bounded.
const maxMatched = 1024

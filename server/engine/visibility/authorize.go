package visibility

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// authorize decides what the principal may see, without items and numbers. It makes the
// decision of writ.visibility.authorization. It returns an error if ctx ends.
func (x *index) authorize(ctx context.Context, r *decision.VisibilityRequest, now time.Time) (decision.Authorization, error) {
	s := search{ctx: ctx, index: x, request: r, now: now, subjects: subjects(r)}
	v := s.decide()
	if err := decision.CheckContext(ctx); err != nil {
		return decision.Authorization{}, err
	}
	a := v.authorization(r)
	var room room
	naming := x.naming(s.subjects, &room)
	a.Expires, a.Documents = x.expires(naming, now), x.documents(r, naming)
	return a, nil
}

// verdict is the outcome of a search. rule is the rule that decides, nil if none does;
// its policy grants the action unless there is a reason for the opposite.
type verdict struct {
	rule   *rule
	reason string // of a denial
}

func (v verdict) isGranted() bool { return v.reason == "" }

// search finds the rule that decides a request. A search that ends because ctx has ended
// is incomplete.
type search struct {
	ctx      context.Context
	index    *index
	request  *decision.VisibilityRequest
	now      time.Time
	subjects []string
}

// decide decides by the rules of the principal, for a custom type or for a cluster.
func (s *search) decide() verdict {
	action := cmp.Or(s.request.Action, decision.ActionView)
	switch {
	case len(s.request.Names()) == 0:
		return verdict{reason: "no principal"} // groups alone are not a principal
	case action != decision.ActionView && action != decision.ActionViewMetrics:
		return verdict{reason: "unknown action " + action}
	case s.request.IsCustom():
		return s.decideCustom(action)
	}
	return s.decideCluster(action)
}

// decideCluster decides on the cluster itself and the standard types. The first denial
// decides, else the first policy that allows, even if it lacks the action.
func (s *search) decideCluster(action string) verdict {
	if s.request.Cluster.Name == "" {
		return verdict{reason: "no cluster given"}
	}
	if denial := s.first(s.index.tables.Denies, s.selecting); denial != nil {
		return denied(denial)
	}
	if allowance := s.first(s.index.tables.Allows, s.selecting); allowance != nil {
		return granted(allowance, action)
	}
	return verdict{reason: "No matching policies found"}
}

// decideCustom decides on a custom type: of a cluster, which must be visible, or of any.
func (s *search) decideCustom(action string) verdict {
	choose := s.showing
	if name := s.request.Cluster.Name; name != "" {
		if v := s.decideCluster(decision.ActionView); !v.isGranted() {
			v.reason = fmt.Sprintf("Access denied to cluster '%s': %s", name, v.reason)
			return v
		}
	} else {
		choose = s.listing
		if denial := s.first(s.index.tables.Denies, s.listingOrDefault); denial != nil {
			return denied(denial)
		}
	}
	if allowance := s.first(s.index.tables.Allows, choose); allowance != nil {
		return granted(allowance, action)
	}
	return verdict{reason: "No policy grants access to custom resource type: " + s.request.Type}
}

func denied(r *rule) verdict { return verdict{r, "Denied by policy " + r.policy.Name} }

func granted(r *rule, action string) verdict {
	if slices.Contains(r.Permissions, action) {
		return verdict{rule: r}
	}
	return verdict{r, fmt.Sprintf("Policy %s does not permit %s", r.policy.Name, action)}
}

// first returns the rule that choose returns for the first of the principal's active
// policies for which it is not nil. lists are the policies by subject.
func (s *search) first(lists map[string][]int, choose func(*policy) *rule) (found *rule) {
	end := len(s.index.policies)
	for _, subject := range s.subjects {
		for _, i := range lists[subject] {
			if i >= end || s.ctx.Err() != nil {
				break
			}
			p := &s.index.policies[i]
			if !p.isActive(s.now) {
				continue
			}
			if r := choose(p); r != nil {
				end, found = i, r
				break
			}
		}
	}
	return found
}

// isActive reports whether the policy has rules and its period includes now.
func (p *policy) isActive(now time.Time) bool {
	return p.Applies && !p.Disabled && !p.Malformed &&
		(p.NotBefore == nil || !now.Before(*p.NotBefore)) && (p.NotAfter == nil || !now.After(*p.NotAfter))
}

// selecting returns the first rule that selects the cluster, else the default.
func (s *search) selecting(p *policy) *rule {
	for i := range p.rules {
		if p.rules[i].selects(&s.request.Cluster) {
			return &p.rules[i]
		}
	}
	return p.byDefault
}

// showing returns the rule for the cluster if it has an entry for the type that is not
// hidden.
func (s *search) showing(p *policy) *rule {
	r := s.selecting(p)
	if r == nil {
		return nil
	}
	if entry := r.Entries[s.request.Type]; entry == nil || entry.Visibility == "none" {
		return nil
	}
	return r
}

// listing returns the first rule for the type on any cluster.
func (s *search) listing(p *policy) *rule {
	if i, ok := p.Listed[s.request.Type]; ok {
		return &p.rules[i]
	}
	return nil
}

func (s *search) listingOrDefault(p *policy) *rule {
	if r := s.listing(p); r != nil {
		return r
	}
	return p.byDefault
}

// selects reports whether one of the rule's selectors matches a cluster.
func (r *rule) selects(c *decision.Cluster) bool {
	return slices.Contains(r.Names, c.Name) ||
		r.pattern != nil && r.pattern.MatchString(c.Name) ||
		r.Labels != nil && tables.HasPairs(c.Labels, *r.Labels)
}

// authorization converts the verdict.
func (v verdict) authorization(r *decision.VisibilityRequest) decision.Authorization {
	a := decision.DeniedAuthorization(v.reason)
	if v.rule == nil {
		return a
	}
	p := v.rule.policy
	a.Policy = p.Name
	a.Matched = []decision.Matched{{
		Kind: "MonitorAccessPolicy", Namespace: p.Namespace, Name: p.Name, Rule: v.rule.number, Source: v.rule.Source,
	}}
	if !v.isGranted() {
		return a
	}
	a.Decision, a.Reason, a.Basis = decision.VisibleAll, "Allowed by policy "+p.Name, v.rule
	a.Permissions = append(a.Permissions, v.rule.Permissions...)
	filters := v.rule.filters
	if r.IsCustom() {
		filters = v.rule.customFilters[r.Type]
	}
	if len(filters) > 0 {
		a.Decision, a.Filters = decision.VisibleSome, filters
	}
	return a
}

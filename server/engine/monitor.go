package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

func (e *Engine) listing(now time.Time) decision.Listing {
	return decision.Listing{At: now, Revision: e.revision}
}

// ListPolicies lists the policies that name the principal.
func (e *Engine) ListPolicies(_ context.Context, who decision.Principal) decision.PolicyListing {
	now := e.now()
	out := decision.PolicyListing{Listing: e.listing(now), Policies: []decision.PolicySummary{}}
	for i := range e.views.tables.Policies {
		p := &e.views.tables.Policies[i]
		if source := namedBy(p, who); source != "" {
			out.Policies = append(out.Policies, summarize(p, source, now))
		}
	}
	// The tables are in the order of evaluation already.
	slices.SortStableFunc(out.Policies, func(a, b decision.PolicySummary) int {
		return cmp.Compare(denialsFirst(a.Deny), denialsFirst(b.Deny))
	})
	return out
}

func denialsFirst(deny bool) int {
	if deny {
		return 0
	}
	return 1
}

// namedBy is the first subject that names the principal, empty for none. The
// tables have service accounts among the users: a name that is in both lists is
// taken for the former.
func namedBy(p *tables.VisibilityPolicy, who decision.Principal) string {
	if who.User == "" {
		return ""
	}
	_, user := slices.BinarySearch(p.Users, who.User)
	_, account := slices.BinarySearch(p.ServiceAccounts, who.User)
	if user && !account {
		return "user"
	}
	for _, group := range who.Groups {
		if _, found := slices.BinarySearch(p.Groups, group); found && group != "" {
			return "group:" + group
		}
	}
	if account {
		return "serviceaccount"
	}
	return ""
}

func summarize(p *tables.VisibilityPolicy, source string, now time.Time) decision.PolicySummary {
	s := decision.PolicySummary{
		Namespace: p.Namespace, Name: p.Name, Priority: p.Priority, Deny: p.Deny, Enabled: !p.Disabled,
		NotBefore: p.NotBeforeText, NotAfter: p.NotAfterText, Default: p.Default,
		CustomTypes: []string{}, Hash: policyHash(p), Source: source, State: state(p, now),
	}
	for i := range p.Rules {
		for name, entry := range p.Rules[i].Entries {
			if entry.Custom {
				s.CustomTypes = append(s.CustomTypes, name)
			}
		}
	}
	slices.Sort(s.CustomTypes)
	s.CustomTypes = slices.Compact(s.CustomTypes)
	return s
}

// state tests in the order that evaluation does.
func state(p *tables.VisibilityPolicy, now time.Time) decision.PolicyState {
	switch {
	case p.Disabled:
		return decision.PolicyInactive
	case p.Malformed:
		return decision.PolicyError
	case p.NotBefore != nil && now.Before(*p.NotBefore):
		return decision.PolicyInactive
	case p.NotAfter != nil && now.After(*p.NotAfter):
		return decision.PolicyExpired
	}
	return decision.PolicyActive
}

// ListPermissions lists the principal's permissions on each cluster it may view.
func (e *Engine) ListPermissions(ctx context.Context, who decision.Principal, clusters []string, labels func(string) map[string]string) decision.PermissionListing {
	now := e.now()
	out := decision.PermissionListing{Listing: e.listing(now), Accessible: []decision.ClusterPermissions{}}
	if clusters == nil {
		clusters = e.views.clusters()
	}
	clusters = slices.Compact(slices.Sorted(slices.Values(clusters)))
	out.Candidates = len(clusters)
	for _, name := range clusters {
		r := &decision.VisibilityRequest{
			User: who.User, Groups: who.Groups, Cluster: decision.Cluster{Name: name, Labels: labels(name)},
		}
		a, err := e.authorize(ctx, r, now)
		if err != nil {
			out.EvaluationError, out.Accessible = err.Error(), nil
			return out
		}
		if a.Decision != decision.VisibleNone {
			out.Accessible = append(out.Accessible, decision.ClusterPermissions{
				Cluster: name, Permissions: slices.Sorted(slices.Values(a.Permissions)), Full: isFull(&a),
			})
		}
	}
	return out
}

func isFull(a *decision.Authorization) bool {
	return a.Decision == decision.VisibleAll &&
		slices.Contains(a.Permissions, decision.ActionView) && slices.Contains(a.Permissions, decision.ActionViewMetrics)
}

// clusters are all names that rules match by.
func (v *views) clusters() []string {
	var names []string
	for i := range v.tables.Policies {
		for j := range v.tables.Policies[i].Rules {
			names = append(names, v.tables.Policies[i].Rules[j].Names...)
		}
	}
	return names
}

// ListCustomTypes lists the types of metric sources the principal can discover.
func (e *Engine) ListCustomTypes(ctx context.Context, who decision.Principal) decision.TypeListing {
	now := e.now()
	out := decision.TypeListing{Listing: e.listing(now), Types: []decision.CustomType{}}
	for i := range e.views.tables.Sources {
		source := &e.views.tables.Sources[i]
		if source.Type == "" {
			continue
		}
		r := &decision.VisibilityRequest{User: who.User, Groups: who.Groups, Type: source.Type}
		a, err := e.authorize(ctx, r, now)
		if err != nil {
			out.EvaluationError, out.Types = err.Error(), nil
			return out
		}
		if rule, ok := a.Basis.(*viewRule); ok && a.Decision != decision.VisibleNone {
			out.Types = append(out.Types, customType(source, rule.entry(source.Type)))
		}
	}
	slices.SortFunc(out.Types, func(a, b decision.CustomType) int { return strings.Compare(a.Type, b.Type) })
	return out
}

func customType(source *tables.MetricSource, entry *viewEntry) decision.CustomType {
	t := decision.CustomType{
		Type: source.Type, Namespace: source.Namespace, Name: source.Name,
		APIVersion: source.APIVersion, Kind: source.Kind, Scope: source.Scope,
		Fields: source.Fields, Computed: source.Computed, Aggregations: []string{},
	}
	for i := range source.Aggregations {
		if name := source.Aggregations[i].Name; entry.allowsAggregation(name) {
			t.Aggregations = append(t.Aggregations, name)
		}
	}
	return t
}

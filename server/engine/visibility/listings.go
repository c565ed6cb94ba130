package visibility

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

func (p *Policies) listing(now time.Time) decision.Listing {
	return decision.Listing{At: now, Revision: p.revision}
}

// ListPolicies lists the policies that name the principal.
func (p *Policies) ListPolicies(_ context.Context, who decision.Principal) decision.PolicyListing {
	now := p.options.Now()
	listing := decision.PolicyListing{Listing: p.listing(now), Policies: []decision.PolicySummary{}}
	for i := range p.tables.Policies {
		policy := &p.tables.Policies[i]
		if source := namedBy(policy, who); source != "" {
			listing.Policies = append(listing.Policies, summarize(policy, source, now))
		}
	}
	// The tables are in the order of evaluation already.
	slices.SortStableFunc(listing.Policies, func(a, b decision.PolicySummary) int {
		return cmp.Compare(denialsFirst(a.Deny), denialsFirst(b.Deny))
	})
	return listing
}

func denialsFirst(deny bool) int {
	if deny {
		return 0
	}
	return 1
}

// namedBy returns the first subject that names the principal, or "". The tables list
// service accounts among the users as well, so a name in both lists is a service
// account.
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
			return tables.Group(group)
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
		CustomTypes: []string{}, Hash: hex.EncodeToString([]byte(hashOfPolicy(p))), Source: source, State: state(p, now),
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

// state checks the conditions in the order of evaluation.
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

// ListPermissions lists the principal's permissions on each cluster that it may view.
func (p *Policies) ListPermissions(ctx context.Context, who decision.Principal, clusters []string, labels func(string) map[string]string) decision.PermissionListing {
	now := p.options.Now()
	listing := decision.PermissionListing{Listing: p.listing(now), Accessible: []decision.ClusterPermissions{}}
	if clusters == nil {
		clusters = p.clusters()
	}
	clusters = slices.Compact(slices.Sorted(slices.Values(clusters)))
	listing.Candidates = len(clusters)
	for _, name := range clusters {
		if tables.CheckCluster(p.options.Cluster, name) != nil {
			continue // the documents of another cluster are not here
		}
		r := &decision.VisibilityRequest{
			User: who.User, Groups: who.Groups, Cluster: decision.Cluster{Name: name, Labels: labels(name)},
		}
		a, err := p.authorize(ctx, r, now)
		if err != nil {
			listing.EvaluationError, listing.Accessible = err.Error(), nil
			return listing
		}
		if a.Decision != decision.VisibleNone {
			listing.Accessible = append(listing.Accessible, decision.ClusterPermissions{
				Cluster: name, Permissions: slices.Sorted(slices.Values(a.Permissions)), Full: isFull(&a),
			})
		}
	}
	return listing
}

func isFull(a *decision.Authorization) bool {
	return a.Decision == decision.VisibleAll &&
		slices.Contains(a.Permissions, decision.ActionView) && slices.Contains(a.Permissions, decision.ActionViewMetrics)
}

// clusters returns all cluster names in rules.
func (x *index) clusters() []string {
	var names []string
	for i := range x.tables.Policies {
		for j := range x.tables.Policies[i].Rules {
			names = append(names, x.tables.Policies[i].Rules[j].Names...)
		}
	}
	return names
}

// ListCustomTypes lists the types of metric sources that the principal may view.
func (p *Policies) ListCustomTypes(ctx context.Context, who decision.Principal) decision.TypeListing {
	now := p.options.Now()
	listing := decision.TypeListing{Listing: p.listing(now), Types: []decision.CustomType{}}
	for i := range p.tables.Sources {
		source := &p.tables.Sources[i]
		if source.Type == "" {
			continue
		}
		r := &decision.VisibilityRequest{User: who.User, Groups: who.Groups, Type: source.Type}
		a, err := p.authorize(ctx, r, now)
		if err != nil {
			listing.EvaluationError, listing.Types = err.Error(), nil
			return listing
		}
		if rule, ok := a.Basis.(*rule); ok && a.Decision != decision.VisibleNone {
			listing.Types = append(listing.Types, customType(source, rule.entryOf(source.Type)))
		}
	}
	slices.SortFunc(listing.Types, func(a, b decision.CustomType) int { return strings.Compare(a.Type, b.Type) })
	return listing
}

func customType(source *tables.MetricSource, entry *entry) decision.CustomType {
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

package visibility

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/server/decision"
)

// Inactive returns why the i-th policy of the tables cannot decide a request: it is never
// valid, it is not valid now, or no selector of it matches. It returns "" for a policy that
// decides unless an earlier one does. Values of selectors are named if withValues is set.
func (p *Policies) Inactive(ctx context.Context, r *decision.VisibilityRequest, i int, withValues bool) string {
	policy, now := &p.policies[i], p.options.Now()
	switch {
	case policy.Malformed:
		return fmt.Sprintf("malformed: notBefore %q, notAfter %q", policy.NotBeforeText, policy.NotAfterText)
	case policy.Disabled:
		return "disabled: enabled is false"
	case policy.NotBefore != nil && now.Before(*policy.NotBefore):
		return "not yet valid: begins " + policy.NotBefore.UTC().Format(time.RFC3339)
	case policy.NotAfter != nil && now.After(*policy.NotAfter):
		return "expired: ended " + policy.NotAfter.UTC().Format(time.RFC3339)
	case !policy.Applies:
		return "applies to no cluster and to no type"
	}
	s := search{ctx: ctx, index: p.index, request: r, now: now}
	switch {
	case r.IsCustom() && r.Cluster.Name == "" && policy.Deny:
		if s.listingOrDefault(policy) != nil {
			return ""
		}
		return "has no rule for the type " + r.Type
	case r.IsCustom() && r.Cluster.Name == "":
		if s.listing(policy) != nil {
			return ""
		}
		return "has no rule that shows the type " + r.Type
	}
	selected := s.selecting(policy)
	switch {
	case selected == nil:
		return policy.selectors(withValues)
	case r.IsCustom() && !policy.Deny && s.showing(policy) == nil:
		return fmt.Sprintf("rule %d matches the cluster and does not show the type %s", selected.number, r.Type)
	}
	return ""
}

// selectors names the selectors of a policy that match no cluster like that of a request.
func (p *policy) selectors(withValues bool) string {
	var texts []string
	for i := range p.rules {
		r := &p.rules[i]
		var parts []string
		add := func(name, value string) {
			if withValues {
				name += " " + value
			}
			parts = append(parts, name)
		}
		if len(r.Names) > 0 {
			add("matchNames", "["+strings.Join(r.Names, ", ")+"]")
		}
		if r.Pattern != "" {
			add("matchPattern", r.Pattern)
		}
		if r.Labels != nil {
			labels := elements.Map(slices.Sorted(maps.Keys(*r.Labels)), func(key string) string { return key + ": " + (*r.Labels)[key] })
			add("matchLabels", "{"+strings.Join(labels, ", ")+"}")
		}
		texts = append(texts, fmt.Sprintf("rule %d: %s", r.number, strings.Join(parts, ", ")))
	}
	if len(texts) == 0 {
		texts = []string{"it has no rules"}
	}
	return "no selector matches the cluster: " + strings.Join(texts, "; ")
}

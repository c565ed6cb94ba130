package lower

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/resolve"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/visibility"
)

// lowerVisibility lowers MonitorAccessPolicies and MetricSources.
func lowerVisibility(r *resolve.Resolved) *tables.Visibility {
	out := &tables.Visibility{
		Policies: make([]tables.VisibilityPolicy, 0, len(r.MonitorAccessPolicies)),
		Sources:  make([]tables.MetricSource, 0, len(r.MetricSources)),
	}
	for _, p := range r.MonitorAccessPolicies {
		out.Policies = append(out.Policies, visibilityPolicy(p))
	}
	slices.SortFunc(out.Policies, func(a, b tables.VisibilityPolicy) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, s := range r.MetricSources {
		out.Sources = append(out.Sources, metricSource(s))
	}
	slices.SortFunc(out.Sources, func(a, b tables.MetricSource) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

func visibilityPolicy(p *visibility.MonitorAccessPolicy) tables.VisibilityPolicy {
	out := tables.VisibilityPolicy{
		Namespace:     p.Namespace,
		Name:          p.Name,
		Source:        source(p.At),
		Priority:      p.Priority,
		Deny:          p.Deny,
		Disabled:      p.Disabled,
		Default:       p.Default,
		DefaultSource: source(p.DefaultAt),
		Rules:         make([]tables.VisibilityRule, 0, len(p.Rules)),
	}
	var users, accounts []string
	for _, a := range p.ServiceAccounts {
		accounts = append(accounts, a.User())
	}
	for _, u := range p.Users {
		users = append(users, u.Value)
	}
	out.Users = sortedOnce(append(users, accounts...))
	out.ServiceAccounts = sortedOnce(accounts)
	var groups []string
	for _, g := range p.Groups {
		groups = append(groups, g.Value)
	}
	out.Groups = sortedOnce(groups)
	out.NotBefore, out.NotBeforeText = bound(&out, p.NotBefore)
	out.NotAfter, out.NotAfterText = bound(&out, p.NotAfter)
	for i := range p.Rules {
		out.Rules = append(out.Rules, visibilityRule(i, &p.Rules[i]))
	}
	return out
}

// bound is a time with its text. One that is none makes the policy malformed.
func bound(p *tables.VisibilityPolicy, m *visibility.Moment) (*time.Time, string) {
	if m == nil {
		return nil, ""
	}
	p.Malformed = p.Malformed || m.Time == nil
	return m.Time, m.Value
}

// sortedOnce is a list sorted, each entry once; never nil.
func sortedOnce(list []string) []string {
	out := slices.AppendSeq(make([]string, 0, len(list)), slices.Values(list))
	slices.Sort(out)
	return slices.Compact(out)
}

func visibilityRule(index int, r *visibility.ClusterRule) tables.VisibilityRule {
	out := tables.VisibilityRule{
		Rule:        index,
		Source:      source(r.At),
		Names:       once(r.Names),
		Pattern:     r.Pattern,
		Labels:      r.Labels,
		Permissions: []string{},
		Entries:     make([]tables.VisibilityEntry, 0, len(r.Entries)),
	}
	if r.View {
		out.Permissions = append(out.Permissions, "view")
	}
	if r.ViewMetrics {
		out.Permissions = append(out.Permissions, "viewMetrics")
	}
	for i := range r.Entries {
		out.Entries = append(out.Entries, visibilityEntry(&r.Entries[i]))
	}
	slices.SortFunc(out.Entries, func(a, b tables.VisibilityEntry) int { return strings.Compare(a.Type, b.Type) })
	return out
}

func visibilityEntry(e *visibility.VisibilityEntry) tables.VisibilityEntry {
	out := tables.VisibilityEntry{
		Type:         e.Type.Value,
		Custom:       !visibility.StandardType(e.Type.Value),
		Names:        criteria(e.Names),
		Namespaces:   criteria(e.Namespaces),
		Labels:       e.Labels,
		HideMasters:  e.HideMasters,
		HideByLabels: e.HideByLabels,
		Include:      once(texts(e.Include)),
		Exclude:      once(texts(e.Exclude)),
	}
	for _, f := range e.Fields {
		if out.Fields == nil {
			out.Fields = make(map[string]tables.Criteria, len(e.Fields))
		}
		out.Fields[f.Field.Value] = criteria(f.ValueFilter)
	}
	out.Visibility, out.Restricts = effectiveVisibility(e, out.Custom)
	return out
}

// effectiveVisibility is the visibility that counts, and whether the entry makes a decision
// partial. A criterion of any kind filters a custom type; a standard one under
// all keeps what it denies and nothing else.
func effectiveVisibility(e *visibility.VisibilityEntry, custom bool) (visibility string, restricts bool) {
	denies := len(e.Names.Denied)+len(e.Namespaces.Denied)+len(e.HideByLabels) > 0 || e.HideMasters
	visibility = e.Visibility
	if visibility == "" {
		visibility = "all"
		if e.Includes() {
			visibility = "filtered"
		}
	}
	if !custom {
		return visibility, visibility != "all" || denies
	}
	if visibility == "all" && (e.Includes() || denies) {
		visibility = "filtered"
	}
	return visibility, visibility == "filtered"
}

// criteria parts literals from globs.
func criteria(f visibility.ValueFilter) tables.Criteria {
	var out tables.Criteria
	out.Include, out.IncludePatterns = parted(f.Allowed)
	out.Exclude, out.ExcludePatterns = parted(f.Denied)
	return out
}

func parted(values []string) (literals, globs []string) {
	for _, value := range once(values) {
		if strings.ContainsAny(value, "*?") {
			globs = append(globs, value)
		} else {
			literals = append(literals, value)
		}
	}
	return literals, globs
}

func texts(list []syntax.Text) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Value)
	}
	return out
}

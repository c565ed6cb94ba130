package visibility

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

// lower lowers MonitorAccessPolicies and MetricSources.
func lower(r *resolution) *tables.Visibility {
	out := &tables.Visibility{
		Policies: make([]tables.VisibilityPolicy, 0, len(r.MonitorAccessPolicies)),
		Allows:   map[string][]int{},
		Denies:   map[string][]int{},
		Sources:  make([]tables.MetricSource, 0, len(r.MetricSources)),
		Types:    map[string]int{},
	}
	out.Policies = append(out.Policies, elements.Map(r.MonitorAccessPolicies, visibilityPolicy)...)
	slices.SortFunc(out.Policies, func(a, b tables.VisibilityPolicy) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	out.Sources = append(out.Sources, elements.Map(r.MetricSources, metricSource)...)
	slices.SortFunc(out.Sources, func(a, b tables.MetricSource) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	index(out)
	return out
}

// index fills the tables that find policies by subject and sources by type.
func index(v *tables.Visibility) {
	for i := range v.Policies {
		p := &v.Policies[i]
		if !p.Applies {
			continue
		}
		bySubject := v.Allows
		if p.Deny {
			bySubject = v.Denies
		}
		for _, subject := range p.SubjectKeys() {
			bySubject[subject] = append(bySubject[subject], i)
		}
	}
	for i := range v.Sources {
		if t := v.Sources[i].Type; t != "" {
			v.Types[t] = i
		}
	}
}

func visibilityPolicy(p *MonitorAccessPolicy) tables.VisibilityPolicy {
	out := tables.VisibilityPolicy{
		Namespace: p.Namespace,
		Name:      p.Name,
		Source:    p.At.Source(),
		Module:    emit.FileName(p.Namespace, p.Name),
		Priority:  p.Priority,
		Deny:      p.Deny,
		Disabled:  p.Disabled,
		Default:   p.Default,
		Rules:     make([]tables.VisibilityRule, 0, len(p.Rules)),
	}
	var users, accounts, groups []string
	for _, a := range p.ServiceAccounts {
		accounts = append(accounts, a.User())
	}
	for _, u := range p.Users {
		users = append(users, u.Value)
	}
	for _, g := range p.Groups {
		groups = append(groups, g.Value)
	}
	out.Users, out.ServiceAccounts, out.Groups = sortedOnce(append(users, accounts...)), sortedOnce(accounts), sortedOnce(groups)
	out.NotBefore, out.NotBeforeText = bound(&out, p.NotBefore)
	out.NotAfter, out.NotAfterText = bound(&out, p.NotAfter)
	for i := range p.Rules {
		out.Rules = append(out.Rules, visibilityRule(&p.Rules[i]))
	}
	if p.Default == "all" || p.Default == "allow" {
		out.ByDefault = &tables.VisibilityRule{
			Source: p.DefaultAt.Source(), Permissions: []string{"view"}, Entries: map[string]*tables.VisibilityEntry{},
		}
	}
	out.Applies = !out.Disabled && !out.Malformed && (len(out.Rules) > 0 || out.ByDefault != nil)
	out.Listed = firstRules(&out)
	return out
}

// bound returns a time and its text. An invalid time makes the policy malformed.
func bound(p *tables.VisibilityPolicy, m *Moment) (*time.Time, string) {
	if m == nil {
		return nil, ""
	}
	p.Malformed = p.Malformed || m.Time == nil
	return m.Time, m.Value
}

// sortedOnce returns the list sorted and without duplicates; never nil.
func sortedOnce(list []string) []string {
	out := slices.AppendSeq(make([]string, 0, len(list)), slices.Values(list))
	slices.Sort(out)
	return slices.Compact(out)
}

func visibilityRule(r *ClusterRule) tables.VisibilityRule {
	out := tables.VisibilityRule{
		Source:      r.At.Source(),
		Names:       tables.Once(r.Names),
		Pattern:     r.Pattern,
		Labels:      r.Labels,
		Permissions: []string{},
		Entries:     make(map[string]*tables.VisibilityEntry, len(r.Entries)),
	}
	if r.View {
		out.Permissions = append(out.Permissions, "view")
	}
	if r.ViewMetrics {
		out.Permissions = append(out.Permissions, "viewMetrics")
	}
	for i := range r.Entries {
		out.Entries[r.Entries[i].Type.Value] = visibilityEntry(&r.Entries[i])
	}
	return out
}

// firstRules finds the first rule for each type. An Allow policy that hides all of a type
// does not grant it.
func firstRules(p *tables.VisibilityPolicy) map[string]int {
	first := make(map[string]int)
	for i := range p.Rules {
		for name, entry := range p.Rules[i].Entries {
			if _, ok := first[name]; !ok && (p.Deny || entry.Visibility != "none") {
				first[name] = i
			}
		}
	}
	return first
}

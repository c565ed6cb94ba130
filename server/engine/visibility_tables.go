package engine

import (
	"slices"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// views are the visibility tables of a bundle, indexed. They are never written
// after activation.
type views struct {
	tables  *tables.Visibility
	rules   map[viewKey]*viewRule
	sources map[string]*viewSource // by type
	// bounded are the policies that begin or end, by whom they are for: users and
	// service accounts under their names, groups under theirs.
	users, groups map[string][]*tables.VisibilityPolicy
}

// viewKey names a rule, or with -1 a policy's default.
type viewKey struct {
	namespace, name string
	rule            int
}

// viewRule is a rule that may decide; a default has no entries.
type viewRule struct {
	key     viewKey
	entries map[string]*viewEntry
}

// viewSource is a MetricSource that policies can refer to.
type viewSource struct {
	*tables.MetricSource
	columns     []column
	aggregators []aggregator
}

func expandViews(lowered *tables.Visibility) (*views, error) {
	v := &views{
		tables:  lowered,
		rules:   make(map[viewKey]*viewRule),
		sources: make(map[string]*viewSource),
		users:   make(map[string][]*tables.VisibilityPolicy),
		groups:  make(map[string][]*tables.VisibilityPolicy),
	}
	if lowered == nil {
		v.tables = &tables.Visibility{}
		return v, nil
	}
	for i := range lowered.Sources {
		if source := &lowered.Sources[i]; source.Type != "" {
			prepared, err := newViewSource(source)
			if err != nil {
				return nil, err
			}
			v.sources[source.Type] = prepared
		}
	}
	for i := range lowered.Policies {
		v.add(&lowered.Policies[i])
	}
	return v, nil
}

func (v *views) add(p *tables.VisibilityPolicy) {
	if p.Disabled || p.Malformed {
		return
	}
	if p.NotBefore != nil || p.NotAfter != nil {
		for _, name := range slices.Concat(p.Users, p.ServiceAccounts) {
			v.users[name] = append(v.users[name], p)
		}
		for _, name := range p.Groups {
			v.groups[name] = append(v.groups[name], p)
		}
	}
	if p.Deny {
		return
	}
	def := viewKey{p.Namespace, p.Name, -1}
	v.rules[def] = &viewRule{key: def}
	for i := range p.Rules {
		rule := &viewRule{
			key:     viewKey{p.Namespace, p.Name, p.Rules[i].Rule},
			entries: make(map[string]*viewEntry, len(p.Rules[i].Entries)),
		}
		for j := range p.Rules[i].Entries {
			entry := &p.Rules[i].Entries[j]
			rule.entries[entry.Type] = newViewEntry(entry)
		}
		v.rules[rule.key] = rule
	}
}

// expires is the first instant after now at which another set of the principal's
// policies may hold, whichever clusters they are about. Both ends of a policy's
// time are within it.
func (v *views) expires(r *decision.VisibilityRequest, now time.Time) (first time.Time) {
	consider := func(at time.Time) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	meet := func(policies []*tables.VisibilityPolicy) {
		for _, p := range policies {
			if p.NotBefore != nil && p.NotBefore.After(now) {
				consider(*p.NotBefore)
			}
			if p.NotAfter != nil && !p.NotAfter.Before(now) {
				consider(p.NotAfter.Add(1))
			}
		}
	}
	for _, user := range r.Names() {
		meet(v.users[user])
	}
	for _, group := range r.Groups {
		if group != "" {
			meet(v.groups[group])
		}
	}
	return first
}

package engine

import (
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// views holds the visibility tables of a bundle and indexes over them. It is not
// written after activation.
type views struct {
	tables   *tables.Visibility
	policies map[decision.DocumentName]*tables.VisibilityPolicy
	sources  map[string]*viewSource // by type
}

// viewSource is a MetricSource that policies can refer to.
type viewSource struct {
	*tables.MetricSource
	columns     []tables.FieldRef
	aggregators []aggregator
}

func expandViews(lowered *tables.Visibility) (*views, error) {
	if lowered == nil {
		lowered = &tables.Visibility{}
	}
	v := &views{
		tables:   lowered,
		policies: make(map[decision.DocumentName]*tables.VisibilityPolicy, len(lowered.Policies)),
		sources:  make(map[string]*viewSource, len(lowered.Types)),
	}
	for i := range lowered.Policies {
		p := &lowered.Policies[i]
		v.policies[decision.DocumentName{Namespace: p.Namespace, Name: p.Name}] = p
	}
	for i := range lowered.Sources {
		source := &lowered.Sources[i]
		if source.Type == "" {
			continue
		}
		prepared, err := newViewSource(source)
		if err != nil {
			return nil, err
		}
		v.sources[source.Type] = prepared
	}
	return v, nil
}

// rule returns the rule that decided, nil if the tables do not have it.
func (v *views) rule(m *decision.Matched) *viewRule {
	p := v.policies[decision.DocumentName{Namespace: m.Namespace, Name: m.Name}]
	switch {
	case p == nil || m.Rule >= len(p.Rules):
		return nil
	case m.Rule < 0:
		return (*viewRule)(p.ByDefault)
	}
	return (*viewRule)(&p.Rules[m.Rule])
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
	meet := func(policies []int) {
		for _, i := range policies {
			p := &v.tables.Policies[i]
			if p.NotBefore != nil && p.NotBefore.After(now) {
				consider(*p.NotBefore)
			}
			if p.NotAfter != nil && !p.NotAfter.Before(now) {
				consider(p.NotAfter.Add(1))
			}
		}
	}
	for _, user := range r.Names() {
		meet(v.tables.Allows["user:"+user])
		meet(v.tables.Denies["user:"+user])
	}
	for _, group := range r.Groups {
		if group != "" {
			meet(v.tables.Allows["group:"+group])
			meet(v.tables.Denies["group:"+group])
		}
	}
	return first
}

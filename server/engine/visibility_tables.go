package engine

import (
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// visibilityIndex holds the visibility tables of a bundle and indexes over them. It is
// not modified after activation.
type visibilityIndex struct {
	tables   *tables.Visibility
	policies map[decision.DocumentName]*tables.VisibilityPolicy
	sources  map[string]*metricSource // by type
}

// metricSource is a MetricSource that policies can refer to, with its aggregations
// prepared.
type metricSource struct {
	*tables.MetricSource
	columns     []tables.FieldRef
	aggregators []aggregator
}

func indexVisibility(lowered *tables.Visibility) (*visibilityIndex, error) {
	if lowered == nil {
		lowered = &tables.Visibility{}
	}
	v := &visibilityIndex{
		tables:   lowered,
		policies: make(map[decision.DocumentName]*tables.VisibilityPolicy, len(lowered.Policies)),
		sources:  make(map[string]*metricSource, len(lowered.Types)),
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
		prepared, err := newMetricSource(source)
		if err != nil {
			return nil, err
		}
		v.sources[source.Type] = prepared
	}
	return v, nil
}

// rule returns the rule that decided, nil if the tables do not have it.
func (v *visibilityIndex) rule(m *decision.Matched) *visibilityRule {
	p := v.policies[decision.DocumentName{Namespace: m.Namespace, Name: m.Name}]
	switch {
	case p == nil || m.Rule >= len(p.Rules):
		return nil
	case m.Rule < 0:
		return (*visibilityRule)(p.ByDefault)
	}
	return (*visibilityRule)(&p.Rules[m.Rule])
}

// expires returns the first instant after now at which a policy of the principal begins
// or has ended, whatever clusters it selects; zero if there is none. notBefore and
// notAfter are inclusive.
func (v *visibilityIndex) expires(r *decision.VisibilityRequest, now time.Time) (first time.Time) {
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

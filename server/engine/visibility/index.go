package visibility

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// index holds the visibility tables of a bundle, prepared for lookups. It is not modified
// after newIndex.
type index struct {
	tables   *tables.Visibility
	policies []policy                 // in the order of evaluation
	sources  map[string]*metricSource // by type
}

// policy is a policy with its rules prepared.
type policy struct {
	*tables.VisibilityPolicy
	rules     []rule
	byDefault *rule         // nil if the policy does not apply to clusters that no rule selects
	hash      func() string // of its content, computed at the first call
}

// rule is a rule, or the default, of a policy.
type rule struct {
	*tables.VisibilityRule
	policy  *policy
	number  int            // -1 for the default
	pattern *regexp.Regexp // nil if the selector has none
	// filters shows the restricted entries of standard types as decisions do, and
	// customFilters those of each custom type. They are shared and must not be written.
	filters       map[string]any
	customFilters map[string]map[string]any
}

// metricSource is a MetricSource that policies can refer to, with its aggregations
// prepared.
type metricSource struct {
	*tables.MetricSource
	hash        func() string // as of a policy
	columns     []tables.FieldRef
	aggregators []aggregator
}

// newIndex returns an error if the tables are malformed.
func newIndex(t *tables.Visibility) (*index, error) {
	x := &index{
		tables:   t,
		policies: make([]policy, len(t.Policies)),
		sources:  make(map[string]*metricSource, len(t.Types)),
	}
	patterns := make(map[string]*regexp.Regexp)
	for i := range t.Policies {
		p := &x.policies[i]
		p.VisibilityPolicy = &t.Policies[i]
		if err := p.prepare(patterns); err != nil {
			return nil, fmt.Errorf("policy %q: %w", p.Name, err)
		}
		p.hash = sync.OnceValue(func() string { return hashOfPolicy(p.VisibilityPolicy) })
	}
	if err := x.checkSubjects(); err != nil {
		return nil, err
	}
	for i := range t.Sources {
		source := &t.Sources[i]
		if source.Type == "" {
			continue
		}
		prepared, err := newMetricSource(source)
		if err != nil {
			return nil, err
		}
		prepared.hash = sync.OnceValue(func() string { return hashOfSource(source) })
		x.sources[source.Type] = prepared
	}
	return x, nil
}

// checkSubjects returns an error if a list of policies is not ascending or names a policy
// that does not exist.
func (x *index) checkSubjects() error {
	for _, lists := range []map[string][]int{x.tables.Allows, x.tables.Denies} {
		for subject, list := range lists {
			for i, number := range list {
				if number < 0 || number >= len(x.policies) || i > 0 && number <= list[i-1] {
					return fmt.Errorf("the policies of %q must be ascending and exist", subject)
				}
			}
		}
	}
	return nil
}

// prepare sets the rules. patterns has the compiled patterns of other policies.
func (p *policy) prepare(patterns map[string]*regexp.Regexp) error {
	p.rules = make([]rule, len(p.Rules))
	for i := range p.Rules {
		p.rules[i] = rule{VisibilityRule: &p.Rules[i], policy: p, number: i}
		if err := p.rules[i].prepare(patterns); err != nil {
			return err
		}
	}
	for typ, number := range p.Listed {
		if number < 0 || number >= len(p.rules) {
			return fmt.Errorf("the rule for %q does not exist", typ)
		}
	}
	if p.ByDefault == nil {
		return nil
	}
	p.byDefault = &rule{VisibilityRule: p.ByDefault, policy: p, number: -1}
	return p.byDefault.prepare(patterns)
}

func (r *rule) prepare(patterns map[string]*regexp.Regexp) (err error) {
	if r.Pattern != "" {
		compiled, ok := patterns[r.Pattern]
		if !ok {
			if compiled, err = regexp.Compile(r.Pattern); err != nil {
				return fmt.Errorf("matchPattern: %w", err)
			}
			patterns[r.Pattern] = compiled
		}
		r.pattern = compiled
	}
	for typ, entry := range r.Entries {
		if !entry.Restricts() {
			continue
		}
		shown, err := toJSON(entry.Filter)
		if err != nil {
			return err
		}
		if entry.Custom {
			r.customFilters = with(r.customFilters, typ, map[string]any{typ: shown})
		} else {
			r.filters = with(r.filters, typ, any(shown))
		}
	}
	return nil
}

// with adds an entry to a map, which may be nil, and returns the map.
func with[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = make(map[string]V)
	}
	m[key] = value
	return m
}

// toJSON converts a filter, which has no numbers, to JSON values.
func toJSON(filter *tables.ShownFilter) (shown map[string]any, err error) {
	text, err := json.Marshal(filter)
	if err != nil {
		return nil, err
	}
	return shown, json.Unmarshal(text, &shown)
}

// subjects returns the principal's subjects, as the tables name them.
func subjects(r *decision.VisibilityRequest) []string {
	names := r.Names()
	keys := make([]string, 0, len(names)+len(r.Groups))
	for _, user := range names {
		keys = append(keys, tables.User(user))
	}
	for _, group := range r.Groups {
		if group != "" {
			keys = append(keys, tables.Group(group))
		}
	}
	return keys
}

// room is for the numbers of the policies of most principals.
type room [16]int

// naming returns the numbers of the policies that name one of the subjects, ascending.
func (x *index) naming(subjects []string, room *room) []int {
	numbers := room[:0]
	for _, subject := range subjects {
		numbers = append(append(numbers, x.tables.Allows[subject]...), x.tables.Denies[subject]...)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// expires returns the first instant after now at which one of the policies of the principal
// begins or has ended, whatever clusters it selects; zero if no policy does. notBefore and
// notAfter are inclusive.
func (x *index) expires(naming []int, now time.Time) (first time.Time) {
	consider := func(at time.Time) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	for _, i := range naming {
		p := &x.policies[i]
		if p.NotBefore != nil && p.NotBefore.After(now) {
			consider(*p.NotBefore)
		}
		if p.NotAfter != nil && !p.NotAfter.Before(now) {
			consider(p.NotAfter.Add(1))
		}
	}
	return first
}

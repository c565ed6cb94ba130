package gateway

import (
	"regexp"

	"github.com/writ-policy/writ/translator/tables"
)

// truth is whether conditions hold.
type truth int

const (
	unknown truth = iota // only Rego knows
	holds
	fails // it does not hold, and it is not an error
)

func truthOf(value bool) truth {
	if value {
		return holds
	}
	return fails
}

// all is whether all conditions hold. One that does not hold settles it, whatever the
// others do.
func (p *policy) all(conditions []tables.RequestCondition, attributes map[string]any) truth {
	return p.settle(conditions, attributes, fails, holds)
}

// any is whether one of the conditions holds.
func (p *policy) any(conditions []tables.RequestCondition, attributes map[string]any) truth {
	return p.settle(conditions, attributes, holds, fails)
}

// settle returns decisive if a condition is, unknown if one is, and rest otherwise.
func (p *policy) settle(conditions []tables.RequestCondition, attributes map[string]any, decisive, rest truth) truth {
	out := rest
	for i := range conditions {
		one := p.condition(&conditions[i], attributes)
		if one == decisive {
			return decisive
		}
		if one == unknown {
			out = unknown
		}
	}
	return out
}

func (p *policy) condition(c *tables.RequestCondition, attributes map[string]any) truth {
	switch {
	case c.Predicate != "":
		return unknown
	case c.Pattern != "":
		rule := p.steps.Patterns[c.Pattern]
		if rule == nil || rule.Rule == nil || rule.Rule.Pattern == nil {
			return unknown
		}
		return p.comparisons(rule.Rule.Pattern.AllOf, attributes)
	case c.All != nil:
		return p.all(c.All, attributes)
	case c.Any != nil:
		return p.any(c.Any, attributes)
	case c.Comparison != nil:
		return p.comparison(c.Comparison, attributes)
	}
	return unknown
}

// comparisons is whether all conditions of a pattern hold, which are comparisons.
func (p *policy) comparisons(conditions []tables.RequestCondition, attributes map[string]any) truth {
	for i := range conditions {
		if conditions[i].Comparison == nil {
			return unknown
		}
	}
	return p.all(conditions, attributes)
}

func (p *policy) comparison(c *tables.Comparison, attributes map[string]any) truth {
	found, ok := findPath(&c.Path, attributes)
	if !ok {
		return unknown
	}
	if c.Operator == "incl" || c.Operator == "excl" {
		isElement, ok := isOneOf(c.Value, found)
		if !ok {
			return unknown
		}
		return truthOf(isElement == (c.Operator == "incl"))
	}
	text, ok := textOf(found)
	if !ok {
		return unknown
	}
	switch c.Operator {
	case "eq":
		return truthOf(text == c.Value)
	case "neq":
		return truthOf(text != c.Value)
	}
	pattern := p.patterns[c.Value]
	if pattern == nil {
		return unknown
	}
	return truthOf(pattern.MatchString(text))
}

// compile compiles the regular expressions of conditions. It leaves out those that are
// malformed.
func compile(conditions []tables.RequestCondition, into map[string]*regexp.Regexp) {
	for i := range conditions {
		c := &conditions[i]
		compile(c.All, into)
		compile(c.Any, into)
		if c.Comparison != nil && c.Comparison.Operator == "matches" {
			if compiled, err := regexp.Compile(c.Comparison.Value); err == nil {
				into[c.Comparison.Value] = compiled
			}
		}
	}
}

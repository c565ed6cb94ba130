package gateway

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/tables"
)

// How rules are lost.
const (
	byCondition      = "condition"
	byUnset          = "unset"
	byAtomicDefault  = "atomic-default"
	byDefault        = "default"
	byAtomicOverride = "atomic-override"
	byOverride       = "override"
)

// fold is a set of policies, highest first, and what they come to.
type fold struct {
	kind      string
	policies  []*inherited
	effective tables.EffectivePolicy
	// rules are those in force with the block they are from.
	rules map[string]held
	// wiped says which policy's atomic override took away the unset of another.
	wiped map[*inherited]*inherited
	// failures are conditions that could not be evaluated.
	failures []failure
	// path is the first path of these policies; empty where none is real.
	path string
}

// failure is a merge condition that failed.
type failure struct {
	policy *inherited
	block  *document.Block
	err    error
}

// held is a rule of the state while folding.
type held struct {
	rule   *document.InheritedRule
	block  *document.Block
	policy *inherited
}

// state is a fold under way.
type state struct {
	*fold
	unset map[string][]*inherited
	// lower is how many policies have been folded before.
	lower int
	// filled counts the rules other than patterns and conditions.
	filled int
}

// foldPolicies folds policies, highest first, into one: the lowest begins, and each
// higher one adds its defaults, then its overrides.
func foldPolicies(kind string, policies []*inherited) *fold {
	f := &fold{kind: kind, policies: policies, rules: make(map[string]held), wiped: make(map[*inherited]*inherited)}
	s := &state{fold: f, unset: make(map[string][]*inherited)}
	f.effective = tables.EffectivePolicy{
		Kind: kind, Rules: []tables.EffectiveRule{}, Policies: make([]string, len(policies)), Replaced: []tables.Replacement{},
	}
	for i, p := range slices.Backward(policies) {
		f.effective.Policies[i] = p.locator
		s.addPolicy(p)
		s.lower++
	}
	for _, key := range slices.Sorted(maps.Keys(f.rules)) {
		h := f.rules[key]
		f.effective.Rules = append(f.effective.Rules, tables.EffectiveRule{
			Key: key, Policy: h.policy.locator, Source: h.rule.At.Source(), Value: h.rule.Value,
			Override: h.block.Name == document.BlockOverrides,
		})
	}
	slices.SortStableFunc(f.effective.Replaced, func(a, b tables.Replacement) int {
		return cmp.Or(strings.Compare(a.Policy, b.Policy), strings.Compare(a.Rule, b.Rule))
	})
	return f
}

// addPolicy adds a policy, which is above all policies added before. Its unset list has an
// effect only if one of its blocks has.
func (s *state) addPolicy(p *inherited) {
	took := len(p.Document.Blocks) == 0
	for i := range p.Document.Blocks {
		b := &p.Document.Blocks[i]
		switch {
		case b.When != nil && !s.holds(p, b, took):
			for j := range b.Rules {
				s.lose(held{&b.Rules[j], b, p}, byCondition, nil)
			}
		case b.Name == document.BlockOverrides:
			took = true
			s.override(p, b)
		case s.byDefault(p, b):
			took = true
		}
	}
	if took {
		for _, key := range p.Document.Unset {
			s.unset[key.Value] = append(s.unset[key.Value], p)
		}
	}
}

// byDefault adds a defaults block, or the bare rules, and reports whether it had a
// say. What lower policies unset is left out first.
func (s *state) byDefault(p *inherited, b *document.Block) bool {
	var rules []held
	for i := range b.Rules {
		h := held{&b.Rules[i], b, p}
		if by := s.unset[h.rule.Key]; len(by) > 0 {
			s.lose(h, byUnset, locators(by))
			continue
		}
		rules = append(rules, h)
	}
	switch {
	case s.filled == 0:
		clear(s.rules)
		for _, h := range rules {
			s.put(h)
		}
		return true
	case !b.Merge:
		sources := s.sources()
		for _, h := range rules {
			s.lose(h, byAtomicDefault, sources)
		}
		return false
	}
	for _, h := range rules {
		if lower, taken := s.rules[h.rule.Key]; taken {
			s.lose(h, byDefault, []string{lower.policy.locator})
			continue
		}
		s.put(h)
	}
	return true
}

// override adds an overrides block.
func (s *state) override(p *inherited, b *document.Block) {
	by := []string{p.locator}
	if !b.Merge {
		for _, key := range slices.Sorted(maps.Keys(s.rules)) {
			s.lose(s.rules[key], byAtomicOverride, by)
		}
		clear(s.rules)
		s.filled = 0
		for _, policies := range s.unset {
			for _, lower := range policies {
				s.wiped[lower] = p
			}
		}
		clear(s.unset)
	}
	for i := range b.Rules {
		h := held{&b.Rules[i], b, p}
		if lower, taken := s.rules[h.rule.Key]; taken {
			s.lose(lower, byOverride, by)
		}
		s.put(h)
	}
}

// put sets the rule in force for its key.
func (s *state) put(h held) {
	if _, taken := s.rules[h.rule.Key]; !taken && !isEmpty(h.rule.Key) {
		s.filled++
	}
	s.rules[h.rule.Key] = h
}

// lose writes down that a rule is not in force, and by whom.
func (s *state) lose(h held, how string, by []string) {
	s.effective.Replaced = append(s.effective.Replaced, tables.Replacement{
		Rule: h.rule.Key, Policy: h.policy.locator, How: how, By: elements.NotNil(by), Source: h.rule.At.Source(), Value: h.rule.Value,
	})
}

// sources are the locators of the policies that have rules in force.
func (s *state) sources() []string {
	seen := make(map[string]bool)
	for _, h := range s.rules {
		seen[h.policy.locator] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func locators(policies []*inherited) []string {
	out := make([]string, len(policies))
	for i, p := range policies {
		out[i] = p.locator
	}
	slices.Sort(out)
	return out
}

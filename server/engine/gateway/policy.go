package gateway

import (
	"regexp"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// policy is an effective policy.
type policy struct {
	steps    *tables.GatewaySteps
	matched  map[*tables.NamedRule]decision.MatchedRule
	patterns map[string]*regexp.Regexp // compiled, by their text
	names    map[string]any            // the names of the rules of patterns, for Rego

	authentication []decision.MatchedRule // the authentication rules
}

func newPolicy(s *tables.GatewaySteps) *policy {
	p := &policy{
		steps: s, names: make(map[string]any, len(s.Patterns)),
		matched: make(map[*tables.NamedRule]decision.MatchedRule), patterns: make(map[string]*regexp.Regexp),
	}
	for pattern, rule := range s.Patterns {
		p.names[pattern] = rule.Name
	}
	for _, rule := range s.Rules() {
		if p.compile(rule); rule.Rule.Authorization != nil {
			p.matched[rule] = decision.MatchedRule(rule.Place())
		}
	}
	p.authentication = make([]decision.MatchedRule, len(s.Authentication))
	for i, place := range s.Authentication {
		p.authentication[i] = decision.MatchedRule(place)
	}
	return p
}

func (p *policy) compile(rule *tables.NamedRule) {
	compile(rule.Rule.When, p.patterns)
	if rule.Rule.Pattern != nil {
		compile(rule.Rule.Pattern.AllOf, p.patterns)
	}
	if a := rule.Rule.Authorization; a != nil && a.Patterns != nil {
		compile(*a.Patterns, p.patterns)
	}
}

// state is a request between one rule of a policy and the next.
type state struct {
	policy           *policy
	rego             Rego
	attributes, auth map[string]any
	input            any // the attributes in Rego's form, nil after a change
}

// add adds what a rule adds to the state: a value of a group of auth.
func (s *state) add(group, name string, value any) {
	added := map[string]any{name: value}
	s.auth[group] = union(s.auth[group], added)
	s.input = nil
}

// applies reports whether a rule applies. It also applies if a condition is an error.
func (s *state) applies(rule *tables.NamedRule) (bool, error) {
	if t := s.policy.all(rule.Rule.When, s.attributes); t != unknown {
		return t == holds, nil
	}
	value, found, err := s.ask(Applies, rule)
	return found && value == true, err
}

// ask returns the value of a generated rule, false if it has none.
func (s *state) ask(document Document, rule *tables.NamedRule) (value any, found bool, err error) {
	if s.input == nil {
		if s.input, err = s.rego.Input(s.attributes); err != nil {
			return nil, false, err
		}
	}
	return s.rego.Value(document, rule.Name, s.policy.names, s.input)
}

// judge returns the outcome of an authorization rule, and the value it adds if it allows.
func (s *state) judge(rule *tables.NamedRule) (outcome string, value any, err error) {
	a := rule.Rule.Authorization
	if a.Patterns != nil {
		if outcome := s.judgePatterns(rule.Rule.When, *a.Patterns); outcome != "" {
			return outcome, true, nil
		}
	}
	if a.Review != nil {
		return s.judgeReview(rule)
	}
	judged, found, err := s.ask(Judged, rule)
	if err != nil {
		return "", nil, err
	}
	verdict, isObject := judged.(map[string]any)
	outcome, isText := verdict["outcome"].(string)
	if !found || !isObject || !isText {
		return "", nil, ErrUncertain
	}
	return outcome, verdict["value"], nil
}

// judgePatterns returns the outcome of conditions, empty if only Rego knows.
func (s *state) judgePatterns(when, patterns []tables.RequestCondition) string {
	switch s.policy.all(when, s.attributes) {
	case fails:
		return skip
	case unknown:
		return ""
	case holds:
	}
	switch s.policy.all(patterns, s.attributes) {
	case holds:
		return allow
	case fails:
		return deny
	case unknown:
	}
	return ""
}

// judgeReview decides a rule by the access point. A review without a value is an error.
func (s *state) judgeReview(rule *tables.NamedRule) (outcome string, value any, err error) {
	applies, err := s.applies(rule)
	if err != nil || !applies {
		return skip, nil, err
	}
	review, found, err := s.ask(Review, rule)
	if err != nil || !found {
		return failed, nil, err
	}
	allowed, err := s.rego.IsAllowed(review)
	if err != nil || !allowed {
		return deny, nil, err
	}
	return allow, map[string]any{"allowed": true}, nil
}

// The outcomes of authorization rules.
const (
	allow, deny, skip = "allow", "deny", "skip"
	failed            = "error"
)

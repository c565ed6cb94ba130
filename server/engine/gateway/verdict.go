package gateway

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// Document is a set of generated rules, by the names of the rules of policies.
type Document string

// The documents of data.compiled.gateway that policies ask for.
const (
	Applies Document = "applies"
	Judged  Document = "judged"
	Review  Document = "review"
	Denial  Document = "denial"
	Item    Document = "item"
)

// Rego evaluates generated rules. The errors are those of an evaluation.
type Rego interface {
	// Input returns the attributes of a request in the form of Value.
	Input(attributes map[string]any) (any, error)
	// Value returns the value of a rule of a document, with numbers as json.Number; false
	// if it has none. patterns are the names of the rules of patterns.
	Value(document Document, rule string, patterns map[string]any, input any) (value any, found bool, err error)
	// IsAllowed reports whether the access point allows a request.
	IsAllowed(review any) (bool, error)
}

// Decide decides the request. It returns ErrUncertain if the tables and the rules that it
// asks for do not decide; other errors are Rego's.
func (r *Routed) Decide(time string, rego Rego) (decision.GatewayDecision, error) {
	if len(r.Targets) == 0 {
		d := undecided()
		d.Deciding = placesOf(r.places, r.nearest)
		d.Status, d.Reason = 404, "no path: no listener and route of the gateway take this request"
		return d, nil
	}
	verdicts := make([]decision.GatewayDecision, len(r.Targets))
	var refusals []decision.GatewayDecision
	for i := range r.Targets {
		d := undecided()
		d.Target = &r.Targets[i]
		d.Deciding = placesOf(r.places, d.Target.Route)
		if err := r.verdict(&d, r.policies[i], time, rego); err != nil {
			return d, err
		}
		if verdicts[i] = d; !d.Allowed {
			refusals = append(refusals, d)
		}
	}
	deciding := verdicts // several paths decide together: all must allow
	if len(refusals) > 0 {
		deciding = refusals
	}
	d := deciding[0]
	for _, other := range deciding[1:] {
		d.Matched = append(d.Matched, other.Matched...)
		d.Deciding = slices.Concat(d.Deciding, other.Deciding)
	}
	if len(r.Targets) > 1 {
		routes := make([]string, len(r.Targets))
		for i, target := range r.Targets {
			routes[i], _, _ = strings.Cut(target.Route, "#")
		}
		d.Warnings = []string{"route-conflict: " + strings.Join(routes, ", ")}
	}
	return d, nil
}

// undecided returns a decision whose lists and maps are empty: in JSON they are not null.
func undecided() decision.GatewayDecision {
	return decision.GatewayDecision{
		Warnings: []string{}, Policies: []string{}, Rules: map[string]string{}, Matched: []decision.MatchedRule{}, Deciding: []decision.MatchedRule{},
		Headers: map[string]string{}, Metadata: map[string]any{},
	}
}

// placesOf returns the place of a target, if it is known.
func placesOf(places map[string]tables.GatewayPlace, target string) []decision.MatchedRule {
	if place, found := places[target]; found {
		return []decision.MatchedRule{decision.MatchedRule(place)}
	}
	return []decision.MatchedRule{}
}

// verdict decides for one path.
func (r *Routed) verdict(d *decision.GatewayDecision, p *policy, time string, rego Rego) error {
	d.Allowed, d.Status, d.Reason = true, 200, "no policy restricts this path"
	if p == nil {
		return nil
	}
	d.Policies = p.steps.Policies
	s := &state{policy: p, rego: rego}
	s.attributes, s.auth = r.request.attributes(time)
	if when := p.steps.When; when != nil {
		applies, err := s.applies(when)
		if err != nil || !applies {
			d.Reason = "the conditions of the policy do not hold for this request"
			d.Deciding = []decision.MatchedRule{decision.MatchedRule(when.Place())}
			return err
		}
	}
	identified, err := s.identify()
	if err != nil {
		return err
	}
	if !identified {
		d.Reason, d.Deciding = "the request is not authenticated", p.authentication
		return s.deny(d, 401, p.steps.Unauthenticated)
	}
	denied, err := s.authorize(d)
	if err != nil {
		return err
	}
	if denied != "" {
		d.Reason = denied
		return s.deny(d, 403, p.steps.Unauthorized)
	}
	return s.addItems(d)
}

// identify reports whether the request has an identity. The anonymous one is added where
// the policy accepts it.
func (s *state) identify() (bool, error) {
	if identity := s.auth["identity"]; identity != nil && identity != false {
		return true, nil
	}
	accepts := !s.policy.steps.Authenticates
	for _, rule := range s.policy.steps.Anonymous {
		if accepts {
			break
		}
		var err error
		if accepts, err = s.applies(rule); err != nil {
			return false, err
		}
	}
	if accepts {
		s.auth["identity"] = map[string]any{"anonymous": true}
		s.input = nil
	}
	return accepts, nil
}

// authorize evaluates the authorization rules and returns the reason of a denial. After a
// priority in which a rule denied, those of higher numbers are not evaluated.
func (s *state) authorize(d *decision.GatewayDecision) (denied string, err error) {
	var allows, denies []string
	var allowing, denying, skipped []decision.MatchedRule
	did := "denied"
	rules := s.policy.steps.Authorization
	for i, rule := range rules {
		if len(denies) > 0 && rule.Rule.Priority != rules[i-1].Rule.Priority {
			break
		}
		outcome, value, err := s.judge(rule)
		if err != nil {
			return "", err
		}
		switch d.Rules[rule.Key] = outcome; outcome {
		case allow:
			allows, allowing = append(allows, rule.Key), append(allowing, s.policy.matched[rule])
			s.add("authorization", rule.ShortName(), value)
		case failed:
			did = "denied or failed"
			fallthrough
		case deny:
			denies, denying = append(denies, rule.Key), append(denying, s.policy.matched[rule])
		case skip:
			skipped = append(skipped, s.policy.matched[rule])
		}
	}
	if len(denies) > 0 {
		d.Matched = append(d.Matched, denying...)
		d.Deciding = denying
		return strings.Join(denies, ", ") + " " + did, nil
	}
	d.Matched = append(d.Matched, allowing...)
	for _, by := range [][]decision.MatchedRule{allowing, skipped, s.policy.authentication} {
		if len(by) > 0 {
			d.Deciding = by
			break
		}
	}
	if d.Reason = "authenticated, and no authorization rule applies"; len(allows) > 0 {
		d.Reason = "allowed by " + strings.Join(allows, ", ")
	}
	return "", nil
}

// deny makes the decision a denial with the response of a rule; nil is the default.
func (s *state) deny(d *decision.GatewayDecision, status int, rule *tables.NamedRule) error {
	d.Allowed, d.Denied, d.Status = false, true, status
	d.Response = &decision.GatewayResponse{Code: status, Headers: map[string]string{}}
	if rule == nil {
		return nil
	}
	if !s.respond(d.Response, rule.Rule.Denial) {
		if err := s.readDenial(d.Response, rule, status); err != nil {
			return err
		}
	}
	d.Status = d.Response.Code
	return nil
}

// respond sets what a rule sends to a denied client. It returns false if only Rego knows.
func (s *state) respond(r *decision.GatewayResponse, denial *tables.GatewayDenial) bool {
	text := func(v *tables.RequestValue) (string, bool) {
		if v == nil {
			return "", true
		}
		value, ok := valueOf(v, s.attributes)
		text, isText := textOf(value)
		return text, ok && isText
	}
	message, ok := text(denial.Message)
	body, isBody := text(denial.Body)
	if !ok || !isBody {
		return false
	}
	for name, v := range denial.Headers {
		if r.Headers[name], ok = text(&v); !ok {
			return false
		}
	}
	r.Code, r.Message, r.Body = cmp.Or(denial.Code, r.Code), message, body
	return true
}

// readDenial sets what Rego sends to a denied client.
func (s *state) readDenial(r *decision.GatewayResponse, rule *tables.NamedRule, status int) error {
	value, found, err := s.ask(Denial, rule)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil || !found {
		return ErrUncertain
	}
	*r = decision.GatewayResponse{Code: status, Headers: map[string]string{}}
	if json.Unmarshal(text, r) != nil {
		return ErrUncertain
	}
	return nil
}

// addItems adds the headers and metadata of an allowed request.
func (s *state) addItems(d *decision.GatewayDecision) error {
	metadata := any(d.Metadata)
	for _, rule := range s.policy.steps.Items {
		value, found, err := s.item(rule)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if item := rule.Rule.Item; !item.Header {
			metadata = union(metadata, map[string]any{item.Key: value})
		} else if text, ok := textOf(value); ok {
			d.Headers[item.Key] = text
		} else {
			return ErrUncertain
		}
		s.add("response", rule.ShortName(), value)
	}
	d.Metadata = metadata.(map[string]any)
	return nil
}

// item returns the value of an item of the response, false if it has none.
func (s *state) item(rule *tables.NamedRule) (any, bool, error) {
	item := rule.Rule.Item
	switch s.policy.all(rule.Rule.When, s.attributes) {
	case fails:
		return nil, false, nil
	case holds:
		if item.Plain == nil && item.Properties == nil {
			return nil, false, nil
		}
		if value, ok := s.valueOfItem(item); ok {
			return value, true, nil
		}
	case unknown:
	}
	return s.ask(Item, rule)
}

func (s *state) valueOfItem(item *tables.GatewayItem) (any, bool) {
	if item.Plain != nil {
		return valueOf(item.Plain, s.attributes)
	}
	properties := make(map[string]any, len(item.Properties))
	for name, v := range item.Properties {
		value, ok := valueOf(&v, s.attributes)
		if !ok {
			return nil, false
		}
		properties[name] = value
	}
	return properties, true
}

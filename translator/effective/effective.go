// Package effective answers questions about the effective policies of gateways:
// what is in force on a target, which rules lost to which, where a rule is in force.
// Tables come in, values go out that JSON shows. It computes no policy and knows no
// document.
package effective

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/lower"
)

// Kinds are the kinds of inherited policies.
var Kinds = []string{"AuthPolicy", "RateLimitPolicy"}

// Errors of questions. What wraps them says more.
var (
	ErrUnknownKind   = errors.New("no such kind of policy")
	ErrUnknownTarget = errors.New("no such target")
	ErrMalformed     = errors.New("malformed")
)

// Target is a Gateway or an HTTPRoute, or with Section a listener or a rule of it.
type Target struct {
	Kind, Namespace, Name, Section string
}

// ParseTarget reads Kind/namespace/name, with #section where one is meant.
func ParseTarget(text string) (Target, error) {
	object, section, has := strings.Cut(text, "#")
	parts := strings.Split(object, "/")
	if len(parts) != 3 || slices.Contains(parts, "") || has && section == "" {
		return Target{}, fmt.Errorf("%w: %q is no target such as HTTPRoute/namespace/name or Gateway/namespace/name#listener", ErrMalformed, text)
	}
	t := Target{parts[0], parts[1], parts[2], section}
	if t.Kind != kindGateway && t.Kind != kindRoute {
		return Target{}, fmt.Errorf("%w: a target is a Gateway or an HTTPRoute, not a %s", ErrMalformed, t.Kind)
	}
	return t, nil
}

// String is the target as ParseTarget reads it.
func (t Target) String() string {
	text := t.Kind + "/" + t.Namespace + "/" + t.Name
	if t.Section != "" {
		text += "#" + t.Section
	}
	return text
}

const (
	kindGateway = "Gateway"
	kindRoute   = "HTTPRoute"
)

// Policy is the effective policy of a target. Where its paths differ, the members of
// Variant are nil and Variants has one for each.
type Policy struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	*Variant
	Variants []*Variant `json:"variants,omitempty"`
	// Untargeted are the route rules beneath a gateway that no policy targets; nil
	// for a route.
	Untargeted       []string                            `json:"untargeted,omitempty"`
	Conditions       []lower.GatewayCondition            `json:"conditions"`
	PolicyConditions map[string][]lower.GatewayCondition `json:"policyConditions"`
}

// Variant is what some paths have in common.
type Variant struct {
	Rules    map[string]any    `json:"rules"`
	Sources  map[string]string `json:"sources"`
	Policies []string          `json:"policies"`
	Replaced []Replacement     `json:"replaced"`
	Paths    []string          `json:"paths"`
	// Places says for each rule in force at which file and line it stands.
	Places map[string]string `json:"-"`
}

// Replacement is a rule that lost, how it did and to which policies.
type Replacement struct {
	Rule   string   `json:"rule"`
	Policy string   `json:"policy"`
	How    string   `json:"how"`
	By     []string `json:"by"`
	// Place is the file and line of the lost rule.
	Place string `json:"-"`
}

func replacements(list []lower.Replacement) []Replacement {
	out := make([]Replacement, len(list))
	for i, r := range list {
		out[i] = replacement(r)
	}
	return out
}

func replacement(r lower.Replacement) Replacement {
	return Replacement{Rule: r.Rule, Policy: r.Policy, How: r.How, By: r.By, Place: r.Source}
}

// Of is the effective policy of a target. Via, if not zero, is a gateway or listener
// through which the paths must lead.
func Of(g *lower.Gateway, kind string, target, via Target) (*Policy, error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	q := question{g: g, kind: kind, target: target, via: via}
	if err := q.locate(); err != nil {
		return nil, err
	}
	policy := &Policy{Kind: kind, Target: target.String(), PolicyConditions: map[string][]lower.GatewayCondition{}}
	if target.Kind == kindGateway {
		variant := q.variant(q.ownPolicy())
		variant.Paths = []string{target.String()}
		policy.Variant = variant
		policy.Untargeted = q.untargeted()
	} else {
		q.variants(policy)
	}
	policy.Conditions = []lower.GatewayCondition{q.affected()}
	for _, p := range q.policies() {
		policy.PolicyConditions[p.Kind+"/"+p.Namespace+"/"+p.Name] = p.Conditions
	}
	return policy, nil
}

// question is one question about a target.
type question struct {
	g           *lower.Gateway
	kind        string
	target, via Target
	// object and section are positions in the tables; section is below zero for the
	// whole.
	object, section int
	// viaGateway and viaListener are positions; below zero: any.
	viaGateway, viaListener int
	paths                   []*lower.GatewayPath
	levels                  map[string]int // of policies, by locator; made when asked for
}

// locate finds the target, and the paths that count.
func (q *question) locate() error {
	var err error
	if q.object, q.section, err = find(q.g, q.target); err != nil {
		return err
	}
	q.viaGateway, q.viaListener = -1, -1
	if q.via != (Target{}) {
		if q.via.Kind != kindGateway {
			return fmt.Errorf("%w: a path leads through a Gateway, not through %s", ErrMalformed, q.via)
		}
		if q.viaGateway, q.viaListener, err = find(q.g, q.via); err != nil {
			return err
		}
	}
	for i := range q.g.Paths {
		if p := &q.g.Paths[i]; q.counts(p) {
			q.paths = append(q.paths, p)
		}
	}
	return nil
}

func (q *question) counts(p *lower.GatewayPath) bool {
	object, section := p.Route, p.Rule
	if q.target.Kind == kindGateway {
		object, section = p.Gateway, p.Listener
	}
	return object == q.object && (q.section < 0 || section == q.section) &&
		(q.viaGateway < 0 || p.Gateway == q.viaGateway) && (q.viaListener < 0 || p.Listener == q.viaListener)
}

// find finds a target in the tables; the section is below zero where none is named.
func find(g *lower.Gateway, t Target) (object, section int, err error) {
	section = -1
	unknown := fmt.Errorf("%w: %s is not among the documents", ErrUnknownTarget, t)
	if t.Kind == kindGateway {
		object = slices.IndexFunc(g.Gateways, func(o lower.GatewayObject) bool { return o.Namespace == t.Namespace && o.Name == t.Name })
		if object >= 0 && t.Section != "" {
			section = slices.IndexFunc(g.Gateways[object].Listeners, func(l lower.GatewayListener) bool { return l.Name == t.Section })
		}
	} else {
		object = slices.IndexFunc(g.Routes, func(r lower.GatewayRoute) bool { return r.Namespace == t.Namespace && r.Name == t.Name })
		if object >= 0 && t.Section != "" {
			section = slices.IndexFunc(g.Routes[object].Rules, func(r lower.GatewayRouteRule) bool { return r.Name == t.Section })
		}
	}
	if object < 0 || t.Section != "" && section < 0 {
		return 0, 0, unknown
	}
	return object, section, nil
}

// ownPolicy is the fold of a gateway's policies, and of the listener's if one is
// named.
func (q *question) ownPolicy() *lower.EffectivePolicy {
	gateway := &q.g.Gateways[q.object]
	if q.section >= 0 {
		return &q.g.Effective[gateway.Listeners[q.section].Effective[q.kind]]
	}
	return &q.g.Effective[gateway.Effective[q.kind]]
}

func (q *question) variant(e *lower.EffectivePolicy) *Variant {
	v := &Variant{
		Rules: map[string]any{}, Sources: map[string]string{}, Places: map[string]string{},
		Policies: e.Policies, Replaced: replacements(e.Replaced), Paths: []string{},
	}
	for i := range e.Rules {
		rule := &e.Rules[i]
		v.Rules[rule.Key], v.Sources[rule.Key], v.Places[rule.Key] = rule.Value, rule.Policy, rule.Source
	}
	return v
}

// variants puts what the paths of a route come to into the policy.
func (q *question) variants(policy *Policy) {
	byContent := make(map[string]*Variant)
	for _, p := range q.paths {
		v := q.variant(&q.g.Effective[p.Effective[q.kind]])
		content := v.content()
		if same, ok := byContent[content]; ok {
			v = same
		} else {
			byContent[content] = v
			policy.Variants = append(policy.Variants, v)
		}
		v.Paths = append(v.Paths, q.g.PathName(p))
	}
	switch len(policy.Variants) {
	case 0:
		policy.Variant = q.variant(&lower.EffectivePolicy{Policies: []string{}})
	case 1:
		policy.Variant, policy.Variants = policy.Variants[0], nil
	}
}

// content is equal for variants that differ in their paths alone.
func (v *Variant) content() string {
	text, err := json.Marshal([]any{v.Rules, v.Sources, v.Policies, v.Replaced})
	if err != nil {
		panic(err) // values were read from JSON
	}
	return string(text)
}

// untargeted are the route rules beneath a gateway that no policy of the kind targets
// at their own levels.
func (q *question) untargeted() []string {
	targets := make(map[string]bool)
	for i := range q.g.Policies {
		if p := &q.g.Policies[i]; p.Kind == q.kind {
			targets[p.Target] = true
		}
	}
	rules := []string{}
	for _, p := range q.paths {
		route := &q.g.Routes[p.Route]
		whole := Target{Kind: kindRoute, Namespace: route.Namespace, Name: route.Name}
		rule := whole
		rule.Section = route.Rules[p.Rule].Name
		if !targets[whole.String()] && !targets[rule.String()] {
			rules = append(rules, rule.String())
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// policies are those whose conditions belong to the answer: of the target's paths,
// or for a gateway those of its own and its listeners'.
func (q *question) policies() []*lower.GatewayPolicy {
	wanted := make(map[string]bool)
	if q.target.Kind == kindRoute {
		for _, p := range q.paths {
			for _, locator := range q.g.Effective[p.Effective[q.kind]].Policies {
				wanted[locator] = true
			}
		}
	}
	var found []*lower.GatewayPolicy
	for i := range q.g.Policies {
		p := &q.g.Policies[i]
		if p.Kind == q.kind && (wanted[p.Kind+"/"+p.Namespace+"/"+p.Name] || q.target.Kind == kindGateway && q.targets(p)) {
			found = append(found, p)
		}
	}
	return found
}

// targets reports whether a policy is the gateway's, or a listener's that counts.
func (q *question) targets(p *lower.GatewayPolicy) bool {
	whole := q.target
	whole.Section = ""
	if p.Target == whole.String() {
		return true
	}
	if q.section >= 0 {
		return p.Target == q.target.String()
	}
	return strings.HasPrefix(p.Target, whole.String()+"#")
}

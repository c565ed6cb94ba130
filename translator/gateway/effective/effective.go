package effective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
)

// Kinds are the kinds of gateway policies.
var Kinds = tables.GatewayKinds

// Error is the error of a query that is malformed or names an unknown target.
type Error struct {
	// Unknown is true if the query is well-formed but names an object that does not
	// exist. Otherwise the query is malformed.
	Unknown bool
	Message string
}

func (e *Error) Error() string { return e.Message }

func malformed(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) error {
	return &Error{Unknown: true, Message: fmt.Sprintf(format, args...)}
}

// Query selects the effective policies of a target.
type Query struct {
	Kind   string // of policies
	Target string // a target string
	Via    string // a Gateway's target string, to keep the paths through it; empty: all
}

// Target is a parsed target string.
type Target struct {
	Kind      string // Gateway, HTTPRoute or GRPCRoute
	Namespace string
	Name      string
	Section   string // empty: the object as a whole
}

// String returns the target in the form that ParseTarget accepts.
func (t Target) String() string { return tables.TargetName(t.Kind, t.Namespace, t.Name, t.Section) }

// ParseTarget parses a target such as "HTTPRoute/shop/api#pay". It returns an *Error if
// the string is malformed, and does not check that the object exists.
func ParseTarget(text string) (Target, error) {
	object, section, hasSection := strings.Cut(text, "#")
	parts := strings.Split(object, "/")
	if len(parts) != 3 || slices.Contains(parts, "") || hasSection && section == "" {
		return Target{}, malformed("target %q is not of the form KIND/NAMESPACE/NAME or KIND/NAMESPACE/NAME#SECTION", text)
	}
	t := Target{parts[0], parts[1], parts[2], section}
	if !slices.Contains(tables.TargetKinds, t.Kind) {
		return Target{}, malformed("target %q: its kind must be %s, not %q%s",
			text, strings.Join(tables.TargetKinds, " or "), t.Kind, near(t.Kind, tables.TargetKinds))
	}
	return t, nil
}

func checkKind(kind string) error {
	if slices.Contains(Kinds, kind) {
		return nil
	}
	return malformed("kind %q is not known: there are %s%s", kind, strings.Join(Kinds, ", "), near(kind, Kinds))
}

// Effective is what is in force on a target. Fields are in the order of their names,
// as all JSON of writ has them. Where all paths have the same, Paths, Policies,
// Replaced, Rules and Sources are it; where they differ, these are nil and Variants
// holds them.
type Effective struct {
	// Conditions are of the target, for the paths asked for.
	Conditions []tables.GatewayCondition `json:"conditions"`
	Kind       string                    `json:"kind"`
	Paths      []string                  `json:"paths,omitzero"`
	Policies   []string                  `json:"policies,omitzero"`
	// PolicyConditions are by locator, over all paths of the directory.
	PolicyConditions map[string][]tables.GatewayCondition `json:"policyConditions"`
	Replaced         []Replaced                           `json:"replaced,omitzero"`
	Rules            map[string]any                       `json:"rules,omitzero"`
	Sources          map[string]string                    `json:"sources,omitzero"`
	Target           string                               `json:"target"`
	// Untargeted are the route rules beneath a Gateway, or a listener, that no policy
	// targets below it; nil for a route.
	Untargeted []string  `json:"untargeted,omitzero"`
	Variants   []Variant `json:"variants,omitzero"`

	detail *tables.EffectivePolicy
}

// Each returns the variants: a single one if all paths have the same effective policy.
func (e *Effective) Each() []Variant {
	if e.Variants != nil {
		return e.Variants
	}
	return []Variant{{e.Paths, e.Policies, e.Replaced, e.Rules, e.Sources, e.detail}}
}

// only sets the variant of all paths.
func (e *Effective) only(v Variant) {
	e.Paths, e.Policies, e.Replaced, e.Rules, e.Sources, e.detail = v.Paths, v.Policies, v.Replaced, v.Rules, v.Sources, v.Detail
}

// Variant is an effective policy with the paths that have it.
type Variant struct {
	Paths    []string          `json:"paths"`
	Policies []string          `json:"policies"`
	Replaced []Replaced        `json:"replaced"`
	Rules    map[string]any    `json:"rules"`
	Sources  map[string]string `json:"sources"`
	// Detail is what the tables say of it, with places in files; nil where no policy
	// has a part.
	Detail *tables.EffectivePolicy `json:"-"`
}

// Replaced is a rule that was replaced.
type Replaced struct {
	By     []string `json:"by"`
	How    string   `json:"how"`
	Policy string   `json:"policy"`
	Rule   string   `json:"rule"`
	// Value is that of the rule, without secrets; nil if the bundle does not have it.
	Value any `json:"-"`
}

// Find returns the effective policy of a target. It returns an *Error if the query is
// malformed or the target does not exist.
func Find(g *tables.Gateway, q Query) (*Effective, error) {
	if err := checkKind(q.Kind); err != nil {
		return nil, err
	}
	target, err := ParseTarget(q.Target)
	if err != nil {
		return nil, err
	}
	v := newView(g, q.Kind)
	switch {
	case target.Kind != tables.KindGateway:
		return v.findRoute(target, q.Via)
	case q.Via != "":
		return nil, malformed("via keeps paths of a route: it cannot narrow down %s", target)
	}
	return v.findGateway(target)
}

// findRoute returns the effective policy of a route or one of its rules.
func (v *view) findRoute(target Target, via string) (*Effective, error) {
	route, rule, err := v.route(target)
	if err != nil {
		return nil, err
	}
	gateway, listener := every, every
	if via != "" {
		if gateway, listener, err = v.via(via); err != nil {
			return nil, err
		}
	}
	var paths []*tables.GatewayPath
	for _, p := range v.byRoute[route] {
		if fits(p.Rule, rule) && fits(p.Gateway, gateway) && fits(p.Listener, listener) {
			paths = append(paths, p)
		}
	}
	return v.ofPaths(target, paths, sections{numbers(rule, len(v.g.Routes[route].Rules)), "rules", ruleOf}), nil
}

// ofPaths groups paths by equal effective policies.
func (v *view) ofPaths(target Target, paths []*tables.GatewayPath, of sections) *Effective {
	out := &Effective{
		Kind: v.kind, Target: target.String(),
		Conditions:       v.affected(paths, of, false),
		PolicyConditions: make(map[string][]tables.GatewayCondition),
	}
	at := make(map[int]int) // index of a variant by that of its effective policy
	for _, p := range paths {
		index := v.effective(p.Effective)
		i, known := at[index]
		if !known {
			i = len(out.Variants)
			at[index] = i
			out.Variants = append(out.Variants, v.variant(index))
			v.enterConditions(out.PolicyConditions, out.Variants[i].Policies)
		}
		out.Variants[i].Paths = append(out.Variants[i].Paths, v.g.PathName(*p))
	}
	if len(out.Variants) == 0 {
		out.Variants = []Variant{v.variant(none)}
	}
	if len(out.Variants) == 1 {
		out.only(out.Variants[0])
		out.Variants = nil
	}
	return out
}

// findGateway returns the effective policy of a gateway or a listener: the policies
// attached there, which are in force on paths without policies of their own.
func (v *view) findGateway(target Target) (*Effective, error) {
	gateway, listener, err := v.gateway(target)
	if err != nil {
		return nil, err
	}
	object := &v.g.Gateways[gateway]
	effective := object.Effective
	if listener != every {
		effective = object.Listeners[listener].Effective
	}
	var paths []*tables.GatewayPath
	untargeted := make(map[string]bool)
	for _, p := range v.byGateway[gateway] {
		if !fits(p.Listener, listener) {
			continue
		}
		paths = append(paths, p)
		if name := v.g.RuleName(*p); !v.targeted[name] && !v.targeted[routeOf(name)] {
			untargeted[name] = true
		}
	}
	variant := v.variant(v.effective(effective))
	variant.Paths = []string{target.String()}
	listeners := numbers(listener, len(object.Listeners))
	out := &Effective{
		Kind: v.kind, Target: target.String(), Untargeted: elements.NotNil(slices.Sorted(maps.Keys(untargeted))),
		Conditions:       v.affected(paths, sections{listeners, "listeners", listenerOf}, true),
		PolicyConditions: make(map[string][]tables.GatewayCondition),
	}
	out.only(variant)
	for _, number := range append([]int{every}, listeners...) {
		section := ""
		if number != every {
			section = object.Listeners[number].Name
		}
		name := tables.TargetName(tables.KindGateway, object.Namespace, object.Name, section)
		v.enterConditions(out.PolicyConditions, v.attached[name])
	}
	return out, nil
}

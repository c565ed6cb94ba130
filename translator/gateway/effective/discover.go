package effective

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Question is a query for effective policies: for the policy of a target or,
// with Reach, Replaced or Policies set, for a list over all paths.
type Question struct {
	// Kind is AuthPolicy, RateLimitPolicy or TokenRateLimitPolicy.
	Kind string
	// Target and Via have the form Kind/namespace/name or
	// Kind/namespace/name#section. Via may be empty.
	Target, Via string
	// Reach is the key of a rule; the answer lists the paths on which it is enforced.
	Reach string
	// Replaced selects the rules that another policy replaced. Policy, as
	// namespace/name, restricts the list to one policy; empty means all.
	Replaced bool
	Policy   string
	// Policies asks for all policies of the kind with their conditions. An empty Kind is all
	// kinds.
	Policies bool
}

// Answer returns the answer as a value for json.Marshal. It returns an *Error if the question
// is malformed or names an unknown target.
func Answer(g *tables.Gateway, q Question) (any, error) {
	switch {
	case q.Policies:
		return FindPolicies(g, q.Kind)
	case q.Reach != "":
		return FindReach(g, q.Kind, q.Reach)
	case q.Replaced:
		return FindReplaced(g, q.Kind, q.Policy)
	}
	return Find(g, Query{Kind: q.Kind, Target: q.Target, Via: q.Via})
}

// Reach lists the paths on which the rule with a key is in force.
type Reach struct {
	Kind  string      `json:"kind"`
	Reach []ReachPath `json:"reach"`
	Rule  string      `json:"rule"`
	// Note states that no path has a rule with the key, in force or replaced; empty if one has.
	Note string `json:"-"`
}

// ReachPath is a path, with the policy of the rule.
type ReachPath struct {
	Path   string `json:"path"`
	Source string `json:"source"`
	// Place is the rule's file and line.
	Place string `json:"-"`
}

// FindReach returns the paths on which the rule is in force, in path order. It returns
// an *Error if the kind is unknown or the rule is empty.
func FindReach(g *tables.Gateway, kind, rule string) (*Reach, error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	if rule == "" {
		return nil, malformed("the rule to look for is empty")
	}
	v := newView(g, kind)
	found := make(map[int]*tables.EffectiveRule)
	for i := range v.g.Effective {
		rules := v.g.Effective[i].Rules
		if at, ok := slices.BinarySearchFunc(rules, rule, func(r tables.EffectiveRule, key string) int { return strings.Compare(r.Key, key) }); ok {
			found[i] = &rules[at]
		}
	}
	out := &Reach{Kind: kind, Rule: rule, Reach: []ReachPath{}}
	for _, p := range v.g.Paths {
		if r := found[v.effective(p.Effective)]; r != nil {
			out.Reach = append(out.Reach, ReachPath{v.g.PathName(p), r.Policy, r.Source})
		}
	}
	if len(out.Reach) == 0 {
		if keys := v.keys(); !slices.Contains(keys, rule) {
			out.Note = fmt.Sprintf("no path has a rule %q of %s, in force or replaced%s", rule, kind, near(rule, keys))
		}
	}
	return out, nil
}

// keys returns the keys of the rules that some path has, in force or replaced, sorted.
func (v *view) keys() []string {
	keys := make(map[string]bool)
	for _, p := range v.g.Paths {
		index := v.effective(p.Effective)
		if index == none {
			continue
		}
		for _, r := range v.g.Effective[index].Rules {
			keys[r.Key] = true
		}
		for i := range v.g.Effective[index].Replaced {
			keys[v.g.Effective[index].Replaced[i].Rule] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// ReplacedPath is a rule that was replaced on a path.
type ReplacedPath struct {
	By     []string `json:"by"`
	How    string   `json:"how"`
	Path   string   `json:"path"`
	Policy string   `json:"policy"`
	Rule   string   `json:"rule"`
	// Place is the rule's file and line.
	Place string `json:"-"`
}

// PolicyStatus is a policy with its conditions over all paths.
type PolicyStatus struct {
	Conditions []tables.GatewayCondition `json:"conditions"`
	Kind       string                    `json:"kind"`
	Name       string                    `json:"name"`
	Namespace  string                    `json:"namespace"`
	Source     string                    `json:"source"` // file:line
	Target     string                    `json:"target"`
}

// FindPolicies returns the policies of a kind with their conditions, by kind, namespace and
// name; those of all kinds if kind is empty. It returns an *Error if the kind is unknown.
func FindPolicies(g *tables.Gateway, kind string) ([]PolicyStatus, error) {
	if kind != "" {
		if err := checkKind(kind); err != nil {
			return nil, err
		}
	}
	out := []PolicyStatus{}
	if g == nil {
		return out, nil
	}
	for i := range g.Policies {
		if p := &g.Policies[i]; kind == "" || p.Kind == kind {
			out = append(out, PolicyStatus{p.Conditions, p.Kind, p.Name, p.Namespace, p.Source, p.Target})
		}
	}
	return out, nil
}

// FindReplaced returns the replaced rules of all paths, in path order. If policy,
// NAMESPACE/NAME, is not empty, it returns only the rules of that policy. It returns an
// *Error if the kind or the policy is unknown.
func FindReplaced(g *tables.Gateway, kind, policy string) ([]ReplacedPath, error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	v := newView(g, kind)
	locator := ""
	if policy != "" {
		namespace, name, ok := strings.Cut(policy, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return nil, malformed("policy %q is not of the form NAMESPACE/NAME", policy)
		}
		if locator = tables.Locator(kind, namespace, name); v.policies[locator] == nil {
			names := make([]string, 0, len(v.policies))
			for _, of := range v.policies {
				names = append(names, of.Namespace+"/"+of.Name)
			}
			slices.Sort(names)
			return nil, unknown("%s %s not found%s", kind, policy, near(policy, names))
		}
	}
	out := []ReplacedPath{}
	for _, p := range v.g.Paths {
		index := v.effective(p.Effective)
		if index == none {
			continue
		}
		for i := range v.g.Effective[index].Replaced {
			r := &v.g.Effective[index].Replaced[i]
			if locator == "" || r.Policy == locator {
				out = append(out, ReplacedPath{
					By: append([]string{}, r.By...), How: r.How, Path: v.g.PathName(p), Policy: r.Policy, Rule: r.Rule, Place: r.Source,
				})
			}
		}
	}
	return out, nil
}

// All returns the effective policy of every path, in path order, as Find does for the
// rule and listener of the path. It returns an *Error if the kind is unknown.
func All(g *tables.Gateway, kind string) (iter.Seq[*Effective], error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	v := newView(g, kind)
	return func(yield func(*Effective) bool) {
		for i := range v.g.Paths {
			p := &v.g.Paths[i]
			route := &v.g.Routes[p.Route]
			target := Target{route.Kind, route.Namespace, route.Name, route.Rules[p.Rule].Name}
			if !yield(v.ofPaths(target, []*tables.GatewayPath{p}, sections{[]int{p.Rule}, "rules", ruleOf})) {
				return
			}
		}
	}, nil
}

package effective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/lower"
)

// Lost is a rule that lost on a path.
type Lost struct {
	Path string `json:"path"`
	Replacement
}

// Replaced lists the rules that lost, in the order of paths; of one policy where it
// is not empty, which is namespace/name then.
func Replaced(g *lower.Gateway, kind, policy string) ([]Lost, error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	if policy != "" && strings.Count(policy, "/") != 1 {
		return nil, fmt.Errorf("%w: %q is no policy such as namespace/name", ErrMalformed, policy)
	}
	lost := []Lost{}
	for i := range g.Paths {
		p := &g.Paths[i]
		for _, r := range g.Effective[p.Effective[kind]].Replaced {
			if policy == "" || r.Policy == kind+"/"+policy {
				lost = append(lost, Lost{g.PathName(p), replacement(r)})
			}
		}
	}
	return lost, nil
}

func checkKind(kind string) error {
	if !slices.Contains(Kinds, kind) {
		return fmt.Errorf("%w: %q, there are %s", ErrUnknownKind, kind, strings.Join(Kinds, " and "))
	}
	return nil
}

// InForce is where a rule is in force.
type InForce struct {
	Kind  string    `json:"kind"`
	Rule  string    `json:"rule"`
	Reach []Reached `json:"reach"`
}

// Reached is a path on which a rule is in force, and the policy it is from.
type Reached struct {
	Path   string `json:"path"`
	Source string `json:"source"`
	// Place is the file and line.
	Place string `json:"-"`
}

// Reach finds the paths on which a rule of that key is in force.
func Reach(g *lower.Gateway, kind, rule string) (*InForce, error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	answer := &InForce{Kind: kind, Rule: rule, Reach: []Reached{}}
	for i := range g.Paths {
		p := &g.Paths[i]
		rules := g.Effective[p.Effective[kind]].Rules
		at, found := slices.BinarySearchFunc(rules, rule, func(r lower.EffectiveRule, key string) int { return strings.Compare(r.Key, key) })
		if found {
			answer.Reach = append(answer.Reach, Reached{g.PathName(p), rules[at].Policy, rules[at].Source})
		}
	}
	return answer, nil
}

// OnPath is the effective policy of one path.
type OnPath struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	*Variant
}

// All yields the effective policy of every path in the order of paths.
func All(g *lower.Gateway, kind string) (func(yield func(*OnPath) bool), error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	return func(yield func(*OnPath) bool) {
		q := question{g: g, kind: kind}
		for i := range g.Paths {
			p := &g.Paths[i]
			v := q.variant(&g.Effective[p.Effective[kind]])
			v.Paths = append(v.Paths, g.PathName(p))
			route := &g.Routes[p.Route]
			target := Target{kindRoute, route.Namespace, route.Name, route.Rules[p.Rule].Name}
			if !yield(&OnPath{kind, target.String(), v}) {
				return
			}
		}
	}, nil
}

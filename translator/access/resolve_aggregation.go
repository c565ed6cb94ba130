package access

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

// maxAggregation bounds the work of aggregation in steps. A visited role or rule is one
// step; a rule that is added to a role is stepsOfRule steps, because it also takes
// memory. The work for roles that all select each other grows with the square of their
// number. A typical cluster needs some thousand steps; the limit takes about a second.
const (
	maxAggregation = 20_000_000
	stepsOfRule    = 20
)

// aggregation computes the rules of aggregated ClusterRoles: the least fixed
// point, so a role has the rules of every role that can be reached through selectors and
// has rules of its own. A cycle adds nothing.
type aggregation struct {
	// roles are all ClusterRoles by name, the order of effective rules.
	roles []*KubernetesRole
	// byLabel holds the roles with a label, to limit the candidates of a selector.
	byLabel map[[2]string][]*KubernetesRole
	// selected holds the roles of each selector, by its text, so that a selector that
	// several roles have is evaluated once.
	selected map[string][]*KubernetesRole
	// ruleKeys holds the comparable form of each role's rules.
	ruleKeys map[*KubernetesRole][]string
	steps    int
}

// aggregate returns the effective rules of each aggregated role. It marks the roles that
// a selector matches as used.
func (r *resolver) aggregate(used map[*KubernetesRole]bool) map[*KubernetesRole][]KubernetesRule {
	effective := make(map[*KubernetesRole][]KubernetesRule)
	if !slices.ContainsFunc(r.kubernetesRoles, func(d *KubernetesRole) bool { return d.Aggregation != nil }) {
		return effective
	}
	a := newAggregation(r.kubernetesRoles)
	for _, role := range r.kubernetesRoles {
		if role.Aggregation == nil {
			continue
		}
		if !r.checkSelectors(a, role, used) {
			continue
		}
		effective[role] = a.rules(role)
		if a.steps > maxAggregation {
			r.List.Add(diag.Diagnostic{
				Position: role.Aggregation.At,
				Code:     diag.AggregationLimit,
				Message:  fmt.Sprintf("ClusterRole %q and the aggregated roles before it select too many roles", role.Name),
				Hint:     "select fewer roles, or fewer roles that aggregate each other",
			})
			break
		}
	}
	return effective
}

func newAggregation(roles []*KubernetesRole) *aggregation {
	a := &aggregation{
		byLabel:  make(map[[2]string][]*KubernetesRole),
		selected: make(map[string][]*KubernetesRole),
		ruleKeys: make(map[*KubernetesRole][]string),
	}
	a.roles = append(a.roles, elements.Filter(roles, func(role *KubernetesRole) bool { return role.Kind == kindClusterRole })...)
	slices.SortFunc(a.roles, func(x, y *KubernetesRole) int { return strings.Compare(x.Name, y.Name) })
	for _, role := range a.roles {
		for key, value := range role.Labels {
			a.byLabel[[2]string{key, value}] = append(a.byLabel[[2]string{key, value}], role)
		}
	}
	return a
}

// checkSelectors evaluates the selectors of a role and reports whether an API server
// accepts all of them.
func (r *resolver) checkSelectors(a *aggregation, role *KubernetesRole, used map[*KubernetesRole]bool) bool {
	fits := false
	for _, s := range role.Aggregation.Selectors {
		roles, err := a.fitting(s)
		if err != nil {
			r.List.Add(diag.Diagnostic{
				Position: s.At,
				Code:     diag.BadValue,
				Message:  fmt.Sprintf("a selector of ClusterRole %q cannot be used: %v", role.Name, err),
			})
			return false
		}
		for _, one := range roles {
			if one != role {
				used[one] = true
				fits = true
			}
		}
	}
	if !fits && !r.Partial {
		r.List.Add(diag.Diagnostic{
			Position: role.Aggregation.At,
			Severity: diag.Warning,
			Code:     diag.EmptyAggregation,
			Message:  fmt.Sprintf("the selectors of ClusterRole %q fit no other ClusterRole of this directory: it grants nothing", role.Name),
			Hint:     "check the labels; roles that live only in a cluster are not seen here",
		})
	}
	return true
}

// rules visits the roles that a role reaches, each once: a second visit would add only
// rules that are already included, and would not end on a cycle.
func (a *aggregation) rules(root *KubernetesRole) []KubernetesRule {
	out := []KubernetesRule{}
	seen := make(map[string]bool)
	met := map[*KubernetesRole]bool{root: true}
	pending := [][]*KubernetesRole{a.selection(root)}
	for len(pending) > 0 && a.steps <= maxAggregation {
		top := len(pending) - 1
		if len(pending[top]) == 0 {
			pending = pending[:top]
			continue
		}
		role := pending[top][0]
		pending[top] = pending[top][1:]
		a.steps++
		if met[role] {
			continue
		}
		met[role] = true
		if role.Aggregation != nil {
			pending = append(pending, a.selection(role))
			continue
		}
		for i, key := range a.keys(role) {
			a.steps++
			if !seen[key] {
				seen[key] = true
				out = append(out, role.Rules[i])
				a.steps += stepsOfRule
			}
		}
	}
	return out
}

// selection returns the roles that a role selects: by selector, then by name.
func (a *aggregation) selection(role *KubernetesRole) []*KubernetesRole {
	if len(role.Aggregation.Selectors) == 1 {
		roles, _ := a.fitting(role.Aggregation.Selectors[0])
		return roles
	}
	var out []*KubernetesRole
	for _, s := range role.Aggregation.Selectors {
		roles, _ := a.fitting(s) // a selector that cannot be used has its diagnostic
		out = append(out, roles...)
		a.steps += len(roles)
	}
	return out
}

// fitting returns the ClusterRoles that a selector matches, by name.
func (a *aggregation) fitting(s syntax.Selector) ([]*KubernetesRole, error) {
	selector, err := syntax.CompileSelector(s)
	if err != nil {
		return nil, err
	}
	text := selector.String()
	if roles, ok := a.selected[text]; ok {
		return roles, nil
	}
	candidates := a.roles
	for _, q := range s.Requirements {
		if q.Operator == syntax.MetaIn && len(q.Values) == 1 {
			if some := a.byLabel[[2]string{q.Key, q.Values[0]}]; len(some) < len(candidates) {
				candidates = some
			}
		}
	}
	var roles []*KubernetesRole
	for _, role := range candidates {
		a.steps++
		if a.steps > maxAggregation {
			break
		}
		if selector.Matches(labels.Set(role.Labels)) {
			roles = append(roles, role)
		}
	}
	a.selected[text] = roles
	return roles, nil
}

// keys returns the rules of a role in a comparable form. Rules are equal if their lists
// are equal in the same order, as for the aggregation controller of Kubernetes.
func (a *aggregation) keys(role *KubernetesRole) []string {
	keys, ok := a.ruleKeys[role]
	if ok {
		return keys
	}
	keys = make([]string, len(role.Rules))
	for i, rule := range role.Rules {
		lists := [][]string{rule.Verbs, rule.Groups, rule.Resources, rule.Names, rule.Paths}
		for j, list := range lists {
			if len(list) == 0 {
				lists[j] = nil // an empty list and none are equal
			}
		}
		keys[i] = string(jsontext.Marshal(lists))
	}
	a.ruleKeys[role] = keys
	return keys
}

// keptKubernetes is what one directory keeps of its roles for the next, which has the same roles.
// Without roles it is nothing.
type keptKubernetes struct {
	roles []ResolvedKubernetesRole
	// aggregated are the roles that selectors match, and added what was said about selectors.
	aggregated map[*KubernetesRole]bool
	added      directory.Added
	// bound is how many bindings name each role. Directories change it one after another.
	bound map[*KubernetesRole]int
	// unbound are the roles that neither a binding names nor a selector matches.
	unbound []*syntax.Header
}

// effectiveRoles resolves the rules of roles, unless they are those of the last directory.
func (r *resolver) effectiveRoles() {
	if r.kept.roles != nil {
		r.out.KubernetesRoles = r.kept.roles
		r.AddAgain(r.kept.added)
		return
	}
	before := r.Mark()
	r.kept.aggregated = make(map[*KubernetesRole]bool)
	effective := r.aggregate(r.kept.aggregated)
	r.kept.added = r.AddedSince(before)
	r.kept.roles = make([]ResolvedKubernetesRole, 0, len(r.kubernetesRoles))
	for _, role := range r.kubernetesRoles {
		rules := role.Rules
		if role.Aggregation != nil {
			rules = effective[role]
		}
		r.kept.roles = append(r.kept.roles, ResolvedKubernetesRole{role, rules})
	}
	r.out.KubernetesRoles = r.kept.roles
}

package oracle

import (
	"fmt"
	"slices"
)

// Decision is the answer to a request.
type Decision struct {
	// Invalid is why the request is invalid; then everything else is empty.
	Invalid string
	Allowed bool
	Denied  bool
	Reason  string
	// Named is the warning about the session that the request names, or empty.
	Named string
	// Matched are all rules that matched, the decisive one first.
	Matched []Entry
	// Undecidable are the rules with an undecidable restriction, sorted like
	// Matched. None are looked for once a deny policy denies.
	Undecidable []Undecided
	// PodSecurity is nil where no pod was evaluated.
	PodSecurity *PodSecurity
	// PodWarnings are the warnings of deny policies, whole, in order.
	PodWarnings []string
	// Judgements are those of all policies that pod security reached, in order.
	Judgements []Judgement
}

// Entry is a rule that matched, joined with the binding that applies it. As JSON
// it has the keys of a decision's matched.
type Entry struct {
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Rule       int    `json:"rule"`
	Source     string `json:"source"`
	Effect     string `json:"effect"`
	APIVersion string `json:"apiVersion"`
	// Role is empty in the entry of a DenyPolicy.
	Role RoleRef `json:"role,omitzero"`
	// Binding is empty in the entry of a DenyPolicy.
	Binding BindingRef `json:"binding,omitzero"`
	// Until is when the entry ends, empty where it does not.
	Until string `json:"until,omitempty"`
	// Via are the sessions through which alone the binding applies.
	Via []Via `json:"via,omitempty"`
	// Selector is "implied" if a restriction holds because of a selector.
	Selector string `json:"selector,omitempty"`
	// Step is the step of the order over all families, 1 to 6.
	Step int `json:"-"`
}

// Warnings are the warnings a decision must have: those of deny policies whole
// and in order, then the beginnings of one a restriction that cannot be decided,
// sorted, whose ends are free text. Other warnings are mistakes.
func (d Decision) Warnings() []string {
	var all []string
	for _, u := range d.Undecidable {
		for _, name := range u.Restrictions {
			all = append(all, fmt.Sprintf("%s %s rule %d: %s undecidable: ", u.Kind, path(u.Namespace, u.Name), u.Rule, name))
		}
	}
	slices.Sort(all)
	if d.Named != "" {
		return slices.Concat([]string{d.Named}, d.PodWarnings, all)
	}
	return slices.Concat(d.PodWarnings, all)
}

// Via is a session through which a binding applies.
type Via struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Until     string `json:"until,omitempty"`
}

// RoleRef names the role a binding names.
type RoleRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// BindingRef is where the binding is written, file:line.
type BindingRef struct {
	Source string `json:"source"`
}

// Undecided is a rule whose restrictions could not be decided.
type Undecided struct {
	Entry
	// Restrictions are the names of those that are not known to hold.
	Restrictions []string
}

// Words returns the binding, role and rule as reasons name them.
func (e Entry) Words() string {
	text := fmt.Sprintf("%s %s (%s %s, rule %d)", e.Kind, path(e.Namespace, e.Name), e.Role.Kind, path(e.Role.Namespace, e.Role.Name), e.Rule)
	if last := e.last(); last != nil {
		text += " via session " + last.Name
	}
	if e.Until != "" {
		text += " until " + e.Until
	}
	return text
}

func path(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// PodSecurity is what one policy made of the pod.
type PodSecurity struct {
	Policy  string   `json:"policy"`
	Action  string   `json:"action"`
	Score   int      `json:"score"`
	Factors []string `json:"factors"`
}

// Judgement is what pod security did in one policy that it reached.
type Judgement struct {
	PodSecurity
	// How it came to its action: unavailable, exempt, blocked, override,
	// threshold or above (all thresholds). Score and factors are computed in all
	// but the first two.
	How string
}

// Computed reports whether score and factors were computed.
func (j Judgement) Computed() bool { return j.How != "unavailable" && j.How != "exempt" }

package oracle

import (
	"cmp"
	"fmt"
	"slices"
)

// Decision is the answer to a request.
type Decision struct {
	// Invalid is why the request is none; then everything else is empty.
	Invalid string
	Allowed bool
	Denied  bool
	Reason  string
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
	// Step is the step of the order over all families, 1 to 6.
	Step int `json:"-"`
}

// Warnings are the warnings a decision must have: those of deny policies whole
// and in order, then the beginnings of one a restriction that cannot be decided,
// sorted, whose ends are free text. There are no others.
func (d Decision) Warnings() []string {
	var all []string
	for _, u := range d.Undecidable {
		for _, name := range u.Restrictions {
			all = append(all, fmt.Sprintf("%s %s rule %d: %s undecidable: ", u.Kind, path(u.Namespace, u.Name), u.Rule, name))
		}
	}
	slices.Sort(all)
	return slices.Concat(d.PodWarnings, all)
}

// RoleRef names the role a binding names.
type RoleRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Undecided is a rule whose restrictions could not be decided.
type Undecided struct {
	Entry
	// Restrictions are the names of those that are not known to hold.
	Restrictions []string
}

// The steps of the families that grant.
const (
	stepMasterDeny = iota + 3
	stepMasterAllow
	stepLocalDeny
	stepLocalAllow
)

// Decide answers one request.
func (w *World) Decide(r Request) Decision {
	if err := r.Valid(); err != nil {
		return Decision{Invalid: err.Error()}
	}
	var d Decision
	if w.denied(r, &d) {
		return d
	}
	for _, b := range w.OriginBindings {
		if b.applies(r) {
			w.tryOrigin(b, r, &d)
		}
	}
	for _, b := range w.KubernetesBindings {
		if b.applies(r) {
			w.tryKubernetes(b, r, &d)
		}
	}
	slices.SortFunc(d.Matched, compareEntries)
	slices.SortFunc(d.Undecidable, func(a, b Undecided) int { return compareEntries(a.Entry, b.Entry) })
	if len(d.Matched) > 0 {
		d.Denied = d.Matched[0].Effect == "deny"
		d.Allowed = !d.Denied
	}
	d.Reason = reason(r, d)
	return d
}

func (w *World) tryOrigin(b *OriginBinding, r Request, d *Decision) {
	master := b.Namespace == w.Master
	if !master && b.Namespace != r.Namespace {
		return
	}
	for _, role := range w.OriginRoles {
		if role.Namespace != b.RoleNamespace || role.Name != b.RoleName {
			continue
		}
		for i, rule := range role.Rules {
			if !rule.lists(r) {
				continue
			}
			entry := Entry{
				Kind: "RoleBinding", Namespace: b.Namespace, Name: b.Name, Rule: i, Source: rule.Source,
				Effect: "allow", APIVersion: OriginVersion,
				Role: RoleRef{"Role", role.Namespace, role.Name}, Step: originStep(master, rule.Deny),
			}
			if rule.Deny {
				entry.Effect = "deny"
			}
			truth, names := rule.Restrictions.holds(w, r)
			if truth == Undecidable {
				d.Undecidable = append(d.Undecidable, Undecided{entry, names})
			}
			if truth == Yes || truth == Undecidable && rule.Deny {
				d.Matched = append(d.Matched, entry)
			}
		}
	}
}

func originStep(master, deny bool) int {
	switch {
	case master && deny:
		return stepMasterDeny
	case master:
		return stepMasterAllow
	case deny:
		return stepLocalDeny
	}
	return stepLocalAllow
}

func (w *World) tryKubernetes(b *KubernetesBinding, r Request, d *Decision) {
	role := w.role(b)
	if role == nil || b.Namespace != "" && b.Namespace != r.Namespace {
		return
	}
	entry := Entry{
		Kind: "ClusterRoleBinding", Name: b.Name, Effect: "allow", APIVersion: KubernetesVersion,
		Role: RoleRef{b.RoleKind, role.Namespace, role.Name}, Step: stepMasterAllow,
	}
	if b.Namespace != "" {
		entry.Kind, entry.Namespace, entry.Step = "RoleBinding", b.Namespace, stepLocalAllow
	}
	for i, rule := range w.effective(role) {
		if rule.fits(r) {
			entry.Rule, entry.Source = i, rule.Source
			d.Matched = append(d.Matched, entry)
		}
	}
}

// compareEntries sorts by step, kind, namespace, name and rule. Two RoleBindings
// of one name in the two families are told apart by their API version last.
func compareEntries(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(a.Step, b.Step), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.APIVersion, b.APIVersion),
	)
}

// reason is the sentence of a decision.
func reason(r Request, d Decision) string {
	switch {
	case d.Allowed:
		return "allowed by " + d.Matched[0].words()
	case d.Denied:
		text := "denied by " + d.Matched[0].words()
		if i := slices.IndexFunc(d.Matched, func(e Entry) bool { return e.Effect == "allow" }); i >= 0 {
			text += "; would be allowed by " + d.Matched[i].words()
		}
		return text
	case r.Path != "":
		return fmt.Sprintf("not allowed: no rule allows %s %s", r.Verb, r.Path)
	}
	what := r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	where := "at cluster scope"
	if r.Namespace != "" {
		where = "in " + r.Namespace
	}
	return fmt.Sprintf("not allowed: no rule allows %s %s %s", r.Verb, what, where)
}

func (e Entry) words() string {
	return fmt.Sprintf("%s %s (%s %s, rule %d)", e.Kind, path(e.Namespace, e.Name), e.Role.Kind, path(e.Role.Namespace, e.Role.Name), e.Rule)
}

func path(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

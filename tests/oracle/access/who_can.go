package access

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/tests/oracle"
)

// WhoCan lists the principals for whom, tried alone, a request is allowed.
// Every list is sorted and has each name once.
type WhoCan struct {
	Users           []string
	Groups          []string
	ServiceAccounts []string // as system:serviceaccount:NS:NAME
	Except          []Exception
	// Reason is the name of the deny policy that denies everybody, if one does.
	Reason string
	// PodLeftOut states that some policy wants the pod, and none was given: pod
	// security takes no part in the answer, and a warning must say so.
	PodLeftOut bool
}

// Exception is a user or group of a binding with a matching deny rule.
type Exception struct {
	Kind string // User or Group
	Name string
	Step int
}

// WhoCan answers a request whose user and groups are left open. A user named by
// a document and spelt like a service account is listed as one.
func (w *World) WhoCan(r oracle.Request) WhoCan {
	var answer WhoCan
	if r.Pod == nil {
		w, answer.PodLeftOut = w.withoutPods(r)
	}
	users, groups := w.principals()
	answer.Reason = w.deniesAll(r, groups)
	for _, user := range users {
		r.User, r.Groups = user, nil
		d := w.Decide(r)
		answer.except(Exception{Kind: "User", Name: user}, d)
		switch {
		case !d.Allowed:
		case isAccount(user):
			answer.ServiceAccounts = append(answer.ServiceAccounts, user)
		default:
			answer.Users = append(answer.Users, user)
		}
	}
	for _, group := range groups {
		r.User, r.Groups = "", []string{group}
		d := w.Decide(r)
		answer.except(Exception{Kind: "Group", Name: group}, d)
		if d.Allowed {
			answer.Groups = append(answer.Groups, group)
		}
	}
	slices.SortFunc(answer.Except, func(a, b Exception) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Step, b.Step))
	})
	answer.Except = slices.Compact(answer.Except)
	return answer
}

// except notes the steps at which a principal met a matching deny rule.
func (a *WhoCan) except(who Exception, d oracle.Decision) {
	for _, entry := range d.Matched {
		if entry.Effect == "deny" && entry.Kind != "DenyPolicy" {
			who.Step = entry.Step
			a.Except = append(a.Except, who)
		}
	}
}

// deniesAll returns the name of the policy that denies every principal, empty if
// no policy does. Only an override may exempt the members of a group.
func (w *World) deniesAll(r oracle.Request, groups []string) string {
	var d oracle.Decision
	r.User, r.Groups = "", nil
	if !w.Denied(r, &d) {
		return ""
	}
	for _, group := range groups {
		if r.Groups = []string{group}; !w.Denied(r, &oracle.Decision{}) {
			return ""
		}
	}
	return d.Matched[0].Name
}

// withoutPods is the world with the pod security left out that would reach the
// request, and whether there was any in scope.
func (w *World) withoutPods(r oracle.Request) (*World, bool) {
	some, without := false, *w
	without.DenyPolicies = nil
	for _, p := range w.DenyPolicies {
		bare := *p
		if p.PodSecurity != nil && r.Path == "" && p.PodSecurity.Reaches(r) && w.InScope(p, r) {
			some, bare.PodSecurity = true, nil
		}
		without.DenyPolicies = append(without.DenyPolicies, &bare)
	}
	return &without, some
}

// principals are all users, service accounts among them, and all groups that
// some document names.
func (w *World) principals() (users, groups []string) {
	for _, b := range w.OriginBindings {
		users, groups = append(users, b.Users...), append(groups, b.Groups...)
	}
	for _, b := range w.KubernetesBindings {
		for _, s := range b.Subjects {
			switch s.Kind {
			case "User":
				users = append(users, s.Name)
			case "Group":
				groups = append(groups, s.Name)
			default:
				users = append(users, s.account(b))
			}
		}
	}
	slices.Sort(users)
	slices.Sort(groups)
	return slices.Compact(users), slices.Compact(groups)
}

package reach

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
)

// legacy is the mode of impersonation by the verb impersonate.
const legacy = "legacy"

// The keys of a user's extra values that requests have as session and escalation.
const (
	sessionKey    = "writ.dev/session"
	escalationKey = "writ.dev/escalation"
)

// modes are the modes of impersonation: the verb and the API group of its requests.
// Kubernetes, User impersonation; KEP-5284 for all but the first.
var modes = []struct {
	name, verb, group string
	users, accounts   bool
	nodes             bool
}{
	{name: legacy, verb: "impersonate", users: true, accounts: true},
	{name: "user-info", verb: "impersonate:user-info", group: authentication, users: true},
	{name: "serviceaccount", verb: "impersonate:serviceaccount", group: authentication, accounts: true},
	{name: "arbitrary-node", verb: "impersonate:arbitrary-node", group: authentication, nodes: true},
}

// combination is a user with the groups that are asked for beside it.
type combination struct {
	user   string
	groups []string
}

// fewApart is up to how many groups all combinations are tried.
const fewApart = 4

// combined returns users with groups. Groups that only grant are asked for together, or none of
// them: no identity may do more with some of them. Those that are apart may take something away,
// and are asked for in each combination; if there are many, one of them, or all. What one group
// grants by itself is shown with the first user alone.
//
// isWhole is false if a combination is left out.
func combined(users, groups []string, isApart func(group string) bool) (out []combination, isWhole bool) {
	var together, apart []string
	for _, group := range groups {
		if isApart(group) {
			apart = append(apart, group)
		} else {
			together = append(together, group)
		}
	}
	sets := [][]string{nil, apart}
	if len(apart) > fewApart {
		for _, group := range apart {
			sets = append(sets, []string{group})
		}
	}
	for set := 1; set < 1<<len(apart)-1 && len(apart) <= fewApart; set++ {
		var some []string
		for i, group := range apart {
			if set&(1<<i) != 0 {
				some = append(some, group)
			}
		}
		sets = append(sets, some)
	}
	if len(apart) == 0 {
		sets = sets[:1]
	}
	for _, set := range sets {
		for _, user := range users {
			if out = append(out, combination{user, set}); len(together) > 0 {
				out = append(out, combination{user, slices.Concat(set, together)})
			}
		}
	}
	for i := 0; i < len(together) && len(together) > 1; i++ {
		out = append(out, combination{users[0], together[i : i+1]})
	}
	return out, len(apart) <= fewApart
}

// combined is combined, and notes what is left out.
func (g *graph) combined(users, groups []string, isApart func(group string) bool) []combination {
	out, isWhole := combined(users, groups, isApart)
	if !isWhole {
		g.omit(notTriedGroups)
	}
	return out
}

// isApart reports whether a group may take something away from who has it.
func (g *graph) isApart(w *world, group string) bool {
	return w.sealed || slices.ContainsFunc(w.Of(statement.GroupPrefix+group, ""), func(s *statement.Statement) bool {
		return s.Effect != statement.OutcomeAllow || s.Opaque != ""
	})
}

// impersonations adds the hops that act as another identity.
func (x *expansion) impersonations() {
	asLegacy := make(map[string]bool)
	for _, mode := range modes {
		ask := func(resource, namespace, name string) (hop, bool) {
			t := target{verb: mode.verb, group: mode.group, resource: resource, namespace: namespace, name: name}
			var h hop
			ok := x.takes(&h, t)
			return h, ok
		}
		var users []string
		if mode.users && !x.isLocal && x.mayAskIn("", mode.verb, mode.group, "users") {
			for _, user := range append([]string{standIn}, slices.Concat(x.g.users, x.g.nodeUsers)...) {
				if _, ok := ask("users", "", user); ok && (mode.name == legacy || !strings.HasPrefix(user, nodePrefix)) {
					users = append(users, user)
				}
			}
		}
		if mode.nodes && !x.isLocal && x.mayAskIn("", mode.verb, mode.group, "nodes") {
			for _, user := range append([]string{nodePrefix + standIn}, x.g.nodeUsers...) {
				if _, ok := ask("nodes", "", strings.TrimPrefix(user, nodePrefix)); ok {
					users = append(users, user)
				}
			}
		}
		if mode.accounts && x.mayAsk(mode.verb, mode.group, "serviceaccounts") {
			for _, account := range x.accounts {
				at, name, _ := strings.Cut(account, ":")
				if _, ok := ask("serviceaccounts", at, name); ok {
					users = append(users, statement.AccountPrefix+account)
				}
			}
		}
		if len(users) == 0 {
			continue
		}
		var groups []string
		uncertain := make(map[string]bool)
		if mode.users && x.mayAskIn("", mode.verb, mode.group, "groups") {
			for _, group := range x.g.groups {
				if h, ok := ask("groups", "", group); ok && group != authenticated && (mode.name == legacy || group != masters) {
					groups = append(groups, group)
					uncertain[group] = h.class != Certain
				}
			}
		}
		extras := x.extras(mode.verb)
		for _, c := range x.g.combined(users, groups, func(group string) bool { return uncertain[group] || x.g.isApart(x.n.world, group) }) {
			for _, extra := range extras {
				key := fmt.Sprintf("%q %q", c, extra)
				if !asLegacy[key] && x.impersonate(mode.name, mode.verb, mode.group, c, extra) && mode.name == legacy {
					asLegacy[key] = true // nothing else is checked then
				}
			}
		}
	}
}

// mayAskIn reports whether a statement may allow a request in a namespace, or at cluster scope
// for an empty one: a look before all the names that it could have.
func (x *expansion) mayAskIn(namespace, verb, group, resource string) bool {
	shape := x.n.world.shape(target{verb: verb, group: group, resource: resource})
	return x.n.world.sealed || slices.ContainsFunc(x.held, func(s *statement.Statement) bool {
		return s.Effect == statement.OutcomeAllow && (s.Namespace == "" || s.Namespace == namespace) && shape.mayFit(s)
	})
}

// mayAsk reports whether a statement may allow a request somewhere.
func (x *expansion) mayAsk(verb, group, resource string) bool {
	shape := x.n.world.shape(target{verb: verb, group: group, resource: resource})
	return x.n.world.sealed || slices.ContainsFunc(x.held, func(s *statement.Statement) bool {
		return s.Effect == statement.OutcomeAllow && shape.mayFit(s)
	})
}

// extras returns the sessions and escalations that may be stated beside a user: none, each
// one, and each pair.
func (x *expansion) extras(verb string) [][2]string {
	may := func(key string, values []string) []string {
		out := []string{""}
		for _, value := range values {
			if x.verdict(target{verb: verb, group: authentication, resource: "userextras", sub: key, name: value}, false, nil).class != never {
				out = append(out, value)
			}
		}
		return out
	}
	var out [][2]string
	sessions := may(sessionKey, x.g.sessions)
	for _, escalation := range may(escalationKey, x.g.escalated) {
		for _, session := range sessions {
			out = append(out, [2]string{session, escalation})
		}
	}
	return out
}

// impersonate adds the hop that acts as one identity, if all of its requests are allowed. It
// reports whether they certainly are.
func (x *expansion) impersonate(mode, verb, group string, c combination, extra [2]string) bool {
	h := hop{edge: "impersonate"}
	to := &Identity{User: c.user, Groups: withImplied("", c.groups), Session: extra[0], Escalation: extra[1], Acting: &Acting{x.n.identity, mode}}
	first := target{verb: verb, group: group, resource: "users", name: c.user}
	account, isAccount := accountOf(c.user)
	switch {
	case isAccount:
		first.resource = "serviceaccounts"
		first.namespace, first.name, _ = strings.Cut(account, ":")
		if len(c.groups) == 0 {
			to.Groups = withImplied(c.user, nil)
		}
	case mode == "arbitrary-node":
		first.resource, first.name = "nodes", strings.TrimPrefix(c.user, nodePrefix)
		to.Groups = withImplied(c.user, nil)
	}
	all := []target{first}
	for _, g := range c.groups {
		all = append(all, target{verb: verb, group: group, resource: "groups", name: g})
	}
	for i, key := range []string{sessionKey, escalationKey} {
		if extra[i] != "" {
			all = append(all, target{verb: verb, group: authentication, resource: "userextras", sub: key, name: extra[i]})
		}
	}
	for _, t := range all {
		if !x.takes(&h, t) {
			return false
		}
	}
	x.add(h, x.to(to, x.g.seenBy(to, x.n.world)))
	return h.class == Certain
}

package reach

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/tables"
)

// know collects the identities and the namespaces that documents name. Those that only the
// documents of Kubernetes itself name are left out unless system ones are asked for.
func (g *graph) know() {
	access := g.o.World.Access
	known, namespaces := make(map[string]bool), make(map[string]bool)
	isOwn := func(source string) bool { return g.o.System || !roles.IsBootstrap(source) }
	subjects := func(of tables.Map[[]string]) {
		for subject, keys := range of.All() {
			known[subject] = known[subject] || slices.ContainsFunc(*keys, func(key string) bool { return isOwn(access.Bindings.At(key).Source) })
		}
	}
	subjects(access.Subjects.Cluster)
	for _, of := range access.Subjects.Namespaces.All() {
		subjects(*of)
	}
	for _, b := range access.Bindings.All() {
		if !isOwn(b.Source) {
			continue
		}
		namespaces[b.Namespace] = true
		role := access.Roles.At(b.Role)
		for _, k := range role.Kubernetes {
			if !slices.ContainsFunc(k.Verbs, func(v string) bool { return v == "*" || strings.HasPrefix(v, "impersonate") }) {
				continue
			}
			g.knowImpersonated(k.Names, k.Resources, known)
		}
	}
	for _, r := range access.Roles.All() {
		namespaces[r.Namespace] = namespaces[r.Namespace] || isOwn(r.Source)
	}
	g.knowDenials(namespaces)
	known[statement.GroupPrefix+masters] = true
	for _, p := range g.o.Known {
		known[p] = true
	}
	for p, isKnown := range known {
		user, isUser := strings.CutPrefix(p, statement.UserPrefix)
		account, isAccount := accountOf(user)
		switch {
		case !isKnown:
		case !isUser:
			g.groups = append(g.groups, strings.TrimPrefix(p, statement.GroupPrefix))
		case isAccount:
			g.accounts = append(g.accounts, account)
			namespace, _, _ := strings.Cut(account, ":")
			namespaces[namespace] = true
		case strings.HasPrefix(user, nodePrefix):
			g.nodeUsers = append(g.nodeUsers, user)
		default:
			g.users = append(g.users, user)
		}
	}
	for namespace, isKnown := range namespaces {
		if namespace != "" && isKnown {
			g.namespaces = append(g.namespaces, namespace)
			g.accounts = append(g.accounts, namespace+":default")
		}
	}
	for _, list := range []*[]string{&g.accounts, &g.users, &g.nodeUsers, &g.groups, &g.namespaces, &g.sessions, &g.escalated} {
		*list = tables.Once(slices.Sorted(slices.Values(*list)))
	}
}

// knowImpersonated adds the names of a rule about impersonation.
func (g *graph) knowImpersonated(names, resources []string, known map[string]bool) {
	for _, name := range names {
		known[statement.UserPrefix+name] = known[statement.UserPrefix+name] || slices.Contains(resources, "users")
		known[statement.GroupPrefix+name] = known[statement.GroupPrefix+name] || slices.Contains(resources, "groups")
		for _, r := range resources {
			switch r {
			case "userextras/" + sessionKey:
				g.sessions = append(g.sessions, name)
			case "userextras/" + escalationKey:
				g.escalated = append(g.escalated, name)
			}
		}
	}
}

// knowDenials adds the sessions and escalations of documents, and the namespaces that deny
// policies name.
func (g *graph) knowDenials(namespaces map[string]bool) {
	if t := tables.Of[*tables.Requestable](g.o.World.Revision.Tables); t != nil {
		for i := range t.Escalations {
			g.escalated = append(g.escalated, t.Escalations[i].Name)
		}
	}
	if t := tables.Of[*tables.Sessions](g.o.World.Revision.Tables); t != nil {
		for _, s := range t.Sessions.All() {
			g.sessions = append(g.sessions, s.Name)
		}
	}
	deny := tables.Of[*tables.Deny](g.o.World.Revision.Tables)
	if deny == nil {
		return
	}
	literals := func(globs []tables.PathGlob) []string {
		return slices.DeleteFunc(statement.GlobTexts(globs), func(text string) bool { return strings.ContainsAny(text, `*?[{\`) })
	}
	for i := range deny.Policies {
		p := &deny.Policies[i]
		g.sessions = append(g.sessions, literals(p.Sessions)...)
		g.escalated = slices.Concat(g.escalated, literals(p.EscalationRefs), p.ReferredBy)
		for _, r := range p.Rules {
			if r.Namespaces != nil {
				for _, name := range literals(r.Namespaces.Patterns) {
					namespaces[name] = true
				}
			}
		}
	}
	for _, e := range deny.Escalations {
		g.escalated = append(g.escalated, e.Name)
	}
}

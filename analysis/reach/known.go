package reach

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/tables"
)

// defaultAccount is the account that each namespace has.
const defaultAccount = "default"

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
	}
	for _, r := range access.Roles.All() {
		if !isOwn(r.Source) {
			continue
		}
		namespaces[r.Namespace] = true
		for i := range r.Kubernetes {
			g.knowImpersonated(&r.Kubernetes[i], known)
		}
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
			g.accounts = append(g.accounts, namespace+":"+defaultAccount)
		}
	}
	g.knowNamed(access, known, namespaces)
	for _, list := range []*[]string{&g.accounts, &g.users, &g.nodeUsers, &g.groups, &g.namespaces, &g.sessions, &g.escalated} {
		*list = tables.Once(slices.Sorted(slices.Values(*list)))
	}
}

// knowImpersonated adds the names of a rule about impersonation.
func (g *graph) knowImpersonated(k *tables.KubernetesRule, known map[string]bool) {
	if len(k.Names) == 0 || !slices.ContainsFunc(k.Verbs, func(v string) bool { return v == "*" || strings.HasPrefix(v, "impersonate") }) {
		return
	}
	names := func(resource string) bool {
		return slices.Contains(k.Resources, resource) || slices.Contains(k.Resources, "*")
	}
	for _, name := range k.Names {
		known[statement.UserPrefix+name] = known[statement.UserPrefix+name] || names("users")
		known[statement.GroupPrefix+name] = known[statement.GroupPrefix+name] || names("groups")
		if node := statement.UserPrefix + nodePrefix + name; names("nodes") && !known[node] {
			known[node], g.unlisted[node] = true, true
		}
		if names("userextras/" + sessionKey) {
			g.sessions = append(g.sessions, name)
		}
		if names("userextras/" + escalationKey) {
			g.escalated = append(g.escalated, name)
		}
	}
}

// knowNamed adds the accounts that no binding names and that a rule names where it is bound: a
// token of them, or impersonation, may be all that it allows.
func (g *graph) knowNamed(access *tables.Access, known, namespaces map[string]bool) {
	for _, b := range access.Bindings.All() {
		role := access.Roles.At(b.Role)
		for _, k := range role.Kubernetes {
			if !slices.ContainsFunc(k.Resources, func(r string) bool { return r == "*" || strings.HasPrefix(r, "serviceaccounts") }) {
				continue
			}
			for _, name := range k.Names {
				for namespace, isKnown := range namespaces {
					user := accountUser(namespace, name)
					if isKnown && namespace != "" && (b.Cluster || namespace == b.Namespace) && !known[user] && name != defaultAccount {
						g.accounts = append(g.accounts, namespace+":"+name)
						g.unlisted[user] = true
					}
				}
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

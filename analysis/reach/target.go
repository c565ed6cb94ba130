package reach

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// The targets that are not subjects.
const (
	ClusterAdmin   = "cluster-admin"
	namespaceAdmin = "namespace-admin:"
	roleTarget     = "ROLE:"
	anything       = "any" // every identity that documents name
)

// goal is what a path leads to.
type goal struct {
	name      string
	principal string // of a subject
	namespace string // of a namespace's administrator
	role      string // the key of a role
}

// parseGoal reads a target.
func parseGoal(text string, access *tables.Access) (goal, error) {
	g := goal{name: text}
	switch {
	case text == ClusterAdmin:
	case strings.HasPrefix(text, namespaceAdmin) && len(text) > len(namespaceAdmin):
		g.namespace = strings.TrimPrefix(text, namespaceAdmin)
	case strings.HasPrefix(text, roleTarget):
		namespace, name, found := strings.Cut(strings.TrimPrefix(text, roleTarget), "/")
		if !found {
			namespace, name = "", namespace
		}
		for _, family := range []string{tables.FamilyKubernetes, tables.FamilyOrigin} {
			if key := tables.RoleKey(family, namespace, name); access.Roles.Has(key) {
				g.role = key
			}
		}
		if g.role == "" {
			return g, &InputError{"to", fmt.Sprintf("role %q not found", strings.TrimPrefix(text, roleTarget))}
		}
	case isPrincipal(text):
		g.principal = text
	default:
		return g, &InputError{"to", fmt.Sprintf("target %q: must be user:NAME, group:NAME, %s, %sNAMESPACE, %s[NAMESPACE/]NAME or %s", text, ClusterAdmin, namespaceAdmin, roleTarget, anything)}
	}
	return g, nil
}

func isPrincipal(text string) bool {
	for _, prefix := range []string{statement.UserPrefix, statement.GroupPrefix} {
		if strings.HasPrefix(text, prefix) && len(text) > len(prefix) {
			return true
		}
	}
	return false
}

// reached reports whether a node is at the goal.
func (g *goal) reached(n *node) bool {
	i := n.identity
	switch {
	case i == nil:
		return false
	case g.principal != "":
		return !i.sink && i.holds(g.principal)
	case g.role != "":
		return n.world.holdsRole(i, g.role)
	case i.sink || i.holds(statement.GroupPrefix+masters):
		return true
	}
	return n.mayAdminister(g.namespace) && n.administers(g.namespace)
}

// administers reports whether a node is allowed everything in a namespace, or in the cluster.
func (n *node) administers(namespace string) bool {
	if n.isAdmin == nil {
		n.isAdmin = make(map[string]bool)
	}
	is, known := n.isAdmin[namespace]
	if !known {
		g := goal{namespace: namespace}
		is = n.world.isAllowed(n.identity, g.request())
		n.isAdmin[namespace] = is
	}
	return is
}

// request is the request of an administrator, nil for another goal.
func (g *goal) request() map[string]any {
	if g.principal != "" || g.role != "" {
		return nil
	}
	return target{verb: "*", group: "*", resource: "*", namespace: g.namespace}.object()
}

// mayAdminister reports whether a statement may allow a node everything in a namespace, or in
// the cluster.
func (n *node) mayAdminister(namespace string) bool {
	if n.world.sealed && len(n.world.Sessions().Of(statement.UserPrefix+n.identity.User)) > 0 {
		return true // a session may lend it
	}
	if n.admin == nil {
		n.admin = make(map[string]bool)
		everything := n.world.shape(target{verb: "*", group: "*", resource: "*"})
		for _, s := range n.world.held(n.identity) {
			if s.Effect == statement.OutcomeAllow && everything.mayFit(s) {
				n.admin[s.Namespace] = true
			}
		}
	}
	return n.admin[""] || n.admin[namespace]
}

// isAllowed reports whether an identity is allowed a request without facts that are not stated. Where an
// expression or a session may decide, the documents do; if they cannot, statements.
func (w *world) isAllowed(i *Identity, object map[string]any) bool {
	for _, r := range i.checked(merged(w.o.Stated, object)) {
		found, exact := w.decisive(r, principalsOf(r))
		isAllowed := found != nil && found.Effect == statement.OutcomeAllow
		if !exact || w.sealed {
			v, err := w.decide(context.Background(), statement.PointAccess, statement.Encode(r)) // one decision is short
			isAllowed = err == nil && v.Outcome == statement.OutcomeAllow || err != nil && isAllowed
		}
		if !isAllowed {
			return false
		}
	}
	return true
}

// principalsOf returns what a request of an identity holds.
func principalsOf(r map[string]any) []string {
	groups, _ := r["groups"].([]string)
	user, _ := r["user"].(string)
	return statement.Principals(user, groups)
}

// holdsRole reports whether what a role grants is allowed to an identity where it is bound.
func (w *world) holdsRole(i *Identity, key string) bool {
	role := w.Access.Roles.At(key)
	for _, b := range w.Access.Bindings.All() {
		namespace := b.Namespace
		if b.Cluster {
			namespace = ""
		}
		if b.Role == key && !slices.ContainsFunc(requestsOf(&role), func(r map[string]any) bool {
			if namespace != "" && r["path"] == nil {
				r["namespace"] = namespace
			}
			return !w.isAllowed(i, r)
		}) {
			return true
		}
	}
	return false
}

// requestsOf returns the requests that a role's allow rules name.
func requestsOf(role *tables.Role) (out []map[string]any) {
	for _, k := range role.Kubernetes {
		for _, verb := range k.Verbs {
			for _, path := range k.Paths {
				out = append(out, map[string]any{"verb": verb, "path": path})
			}
			for _, group := range k.Groups {
				for _, resource := range k.Resources {
					for _, name := range append(k.Names, "")[:max(1, len(k.Names))] {
						t := target{verb: verb, group: group, name: name}
						t.resource, t.sub = split(resource)
						out = append(out, t.object())
					}
				}
			}
		}
	}
	for i := range role.Origin {
		o := &role.Origin[i]
		if o.Deny {
			continue
		}
		for _, verb := range verbsOf(o) {
			for _, kind := range kindsOf(o, verb) {
				t := target{verb: verb}
				t.resource, t.sub = split(kind)
				object := t.object()
				restrict(object, o.Restrictions)
				out = append(out, object)
			}
		}
	}
	return out
}

// restrict adds what a request must have so that the restrictions of a rule hold, nil for none. An
// expression and an extension have no such values that are known.
func restrict(object map[string]any, r *tables.Restrictions) {
	if r == nil {
		return
	}
	if len(r.Labels) > 0 {
		labels := make(map[string]string)
		for _, entry := range r.Labels {
			labels[entry.Key] = ""
			if entry.Value != nil {
				labels[entry.Key] = *entry.Value
			}
		}
		object["labels"] = labels
	}
	if len(r.Fields) > 0 {
		object["fields"] = r.Fields[:1]
	}
	for _, entry := range r.Select {
		if entry.Key == "metadata.name" {
			object["name"] = *entry.Value
		}
	}
	if r.SameMinion {
		object["attributes"] = map[string]any{"minion": standIn, "podMinion": standIn}
	}
}

// verbsOf returns the verbs of a rule of Origin. Where it negates some, or is about fields, a request
// for "*" is for more than the rule has, and the verbs of Origin and Kubernetes stand for the others.
func verbsOf(o *tables.OriginRule) []string {
	isOfFields := o.Restrictions != nil && len(o.Restrictions.Fields) > 0
	if len(o.NotVerbs) == 0 && !isOfFields {
		return o.Verbs
	}
	verbs := slices.Clone(o.Verbs)
	if slices.Contains(verbs, "*") {
		verbs = append(verbs, vocabulary.AnyVerbs...)
	}
	return elements.Filter(tables.Once(verbs), func(verb string) bool {
		return rule.MatchesVerb(o, verb, "") && (!isOfFields || hasFields(verb))
	})
}

// hasFields reports whether fieldsMutatable may hold for requests of a verb: for those that read,
// and those that change fields.
func hasFields(verb string) bool {
	return slices.ContainsFunc(rule.Carried(verb, ""), func(carried string) bool {
		return slices.Contains([]string{"get", "list", "watch", "create", "update"}, carried)
	})
}

// someKinds stand for the kinds of a rule that has all but some.
var someKinds = []string{standIn + "s", "pods", "secrets", "roles", "rolebindings", "policies", "policybindings"}

// kindsOf is verbsOf for kinds.
func kindsOf(o *tables.OriginRule, verb string) []string {
	if len(o.NotKinds) == 0 {
		return o.Kinds
	}
	kinds := slices.Clone(o.Kinds)
	if slices.Contains(kinds, "*") {
		kinds = append(kinds, someKinds...)
	}
	return elements.Filter(tables.Once(kinds), func(kind string) bool {
		resource, sub := split(kind)
		return rule.MatchesKind(o, verb, resource, sub)
	})
}

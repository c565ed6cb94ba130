package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lower"
	"github.com/writ-policy/writ/translator/resolve"
)

// Author is who wrote a change to the documents.
type Author struct {
	User   string // may be empty where there are groups
	Groups []string
	// May answers a question at the access point of the base revision. Nil
	// allows nothing.
	May func(Question) bool
}

// Question is a request that a person may make: escalate or bind a role.
type Question struct {
	User      string
	Groups    []string
	Verb      string
	APIGroup  string
	Resource  string
	Namespace string
	Name      string
}

// Escalation returns an error for each rule that the author gives away without
// holding it: in roles that are new or changed against the base, and behind
// bindings that are. Removing rules or roles gives nothing away. Without a base
// everything is new, and what the author holds is read from the same documents.
func Escalation(r *resolve.Resolved, access, base *lower.Access, author Author) diag.List {
	before := base
	if base == nil {
		base, before = access, &lower.Access{}
	}
	c := &escalation{
		access:   access,
		author:   author,
		holdings: newHoldings(base, author),
		places:   placesOf(r),
	}
	for key, role := range access.Roles.All() {
		if roleChanged(*role, before.Roles.At(key)) {
			c.role(key, *role)
		}
	}
	now, then := subjectsOf(access), subjectsOf(before)
	for key, b := range access.Bindings.All() {
		was := before.Bindings.At(key)
		if b.Role != was.Role || b.Cluster != was.Cluster || !slices.Equal(now[key], then[key]) {
			c.binding(key, *b)
		}
	}
	return c.list.Sorted()
}

// escalation is the state of one check.
type escalation struct {
	access   *lower.Access
	author   Author
	holdings *holdings
	places   places
	list     diag.List
}

// role checks each rule of a role where the role takes effect: a role of every
// namespace is held only by who holds it in all of them.
func (c *escalation) role(key string, role lower.Role) {
	scope := role.Namespace
	if role.Family == lower.FamilyOrigin && scope == c.access.Master {
		scope = ""
	}
	question := c.about(role, "escalate", role.Namespace)
	for i, missing := range c.missing(role, scope) {
		if len(missing) == 0 {
			continue
		}
		if c.free(question) {
			return
		}
		c.list.Add(diag.Diagnostic{
			Position: c.places.rules[key][i],
			Code:     diag.Escalation,
			Message: fmt.Sprintf("%s does not hold what rule %d of %s %q grants %s: %s",
				c.author, i, role.Kind, role.Name, where(scope), enumerate(missing)),
			Hint: "leave it to somebody who holds it, or who may escalate this role",
		})
	}
}

// binding checks every rule behind a binding where the binding reaches.
func (c *escalation) binding(key string, b lower.Binding) {
	scope := b.Namespace
	if b.Cluster {
		scope = ""
	}
	role := c.access.Roles.At(b.Role)
	missing := slices.Concat(c.missing(role, scope)...)
	if len(missing) == 0 || c.free(c.about(role, "bind", b.Namespace)) {
		return
	}
	place := c.places.bindings[key]
	c.list.Add(diag.Diagnostic{
		Position: place.role,
		Length:   len([]rune(role.Name)),
		Code:     diag.Escalation,
		Message: fmt.Sprintf("%s does not hold what %s %q gives %s through %s %q: %s",
			c.author, b.Kind, b.Name, where(scope), role.Kind, role.Name, enumerate(missing)),
		Hint:    "leave it to somebody who holds it, or who may bind this role",
		Related: []diag.Related{{Position: c.places.roles[b.Role], Message: fmt.Sprintf("%s %q is declared here", role.Kind, role.Name)}},
	})
}

// missing lists, for each rule of a role, what the author does not hold of it.
func (c *escalation) missing(role lower.Role, scope string) [][]string {
	held := c.holdings.in(scope)
	var out [][]string
	for i := range role.Kubernetes {
		rule := &role.Kubernetes[i]
		switch {
		case len(rule.Paths) == 0:
			out = append(out, held.missingResources(rule))
		case scope == "":
			out = append(out, held.missingPaths(rule))
		default:
			out = append(out, nil) // a namespace has no paths
		}
	}
	for i := range role.Origin {
		if role.Origin[i].Deny {
			out = append(out, nil) // a denial gives nothing away
			continue
		}
		out = append(out, held.missingOrigin(&role.Origin[i]))
	}
	return out
}

// about is the question whether the author may do something with a role.
func (c *escalation) about(role lower.Role, verb, namespace string) Question {
	q := Question{
		User: c.author.User, Groups: c.author.Groups, Verb: verb,
		APIGroup: rbacGroup, Resource: "roles", Namespace: namespace, Name: role.Name,
	}
	switch {
	case role.Family == lower.FamilyOrigin:
		q.APIGroup = originGroup
	case role.Kind == "ClusterRole":
		q.Resource = "clusterroles"
	}
	return q
}

func (c *escalation) free(q Question) bool { return c.author.May != nil && c.author.May(q) }

// String names the author in messages.
func (a Author) String() string {
	if a.User != "" {
		return fmt.Sprintf("%q", a.User)
	}
	return fmt.Sprintf("group %q", strings.Join(a.Groups, ", "))
}

func where(scope string) string {
	if scope == "" {
		return "cluster-wide"
	}
	return fmt.Sprintf("in namespace %q", scope)
}

// maxListed bounds how much of what is missing a message lists.
const maxListed = 6

// enumerate joins what is missing, each once, and counts what it leaves out.
func enumerate(missing []string) string {
	var listed []string
	for _, m := range missing {
		if !slices.Contains(listed, m) {
			listed = append(listed, m)
		}
		if len(listed) > maxListed {
			return strings.Join(listed[:maxListed], ", ") + ", and more"
		}
	}
	return strings.Join(listed, ", ")
}

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// Author is the author of a change to the documents.
type Author struct {
	User   string // may be empty if there are groups
	Groups []string
	// May decides a request at the access point of the base revision. Nil means that
	// nothing is allowed.
	May func(Question) bool
}

// Question is an access request of the author.
type Question struct {
	User        string
	Groups      []string
	Verb        string
	APIGroup    string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
}

// Escalation returns a diagnostic for each rule that the author grants without having
// it: in roles that are new or changed compared with the base, and through bindings
// that are new or changed. Removing rules or roles grants nothing. If base is nil,
// everything is new, and the author's permissions are those of the same documents. Grants
// of the author that end, or do not hold now, cover nothing: what they would cover may not
// end with them.
// Nor do grants that a deny policy takes away: denied are the deny policies of the base, or nil.
func Escalation(r *access.Resolved, access, base *tables.Access, denied *tables.Deny, author Author, at dates.Instant) diag.List {
	before := base
	if base == nil {
		base, before = access, &tables.Access{}
	}
	c := &escalation{
		access: access,
		author: author,
		held:   newPermissions(base, denied, author, at),
		places: placesOf(r),

		masterChanged: base.Master != access.Master,
	}
	for key, role := range access.Roles.All() {
		if roleChanged(*role, before.Roles.At(key)) {
			c.role(key, *role)
		}
	}
	now, then := subjectsOf(access), subjectsOf(before)
	for key, b := range access.Bindings.All() {
		was := before.Bindings.At(key)
		if b.Role != was.Role || b.Cluster != was.Cluster || !b.Dates.Equal(was.Dates) || !slices.Equal(now[key], then[key]) {
			c.binding(key, *b)
		}
	}
	return c.list.Sorted()
}

// escalation is the state of one check.
type escalation struct {
	access *tables.Access
	author Author
	held   *permissions
	places places
	list   diag.List
	// masterChanged states that the base has another master namespace.
	masterChanged bool
}

// role checks each rule of a role in the scope of the role. For a role that is valid
// in every namespace, the author must have the permissions in all of them.
func (c *escalation) role(key string, role tables.Role) {
	scope := role.Namespace
	if role.Family == tables.FamilyOrigin && scope == c.access.Master {
		scope = ""
	}
	question := c.questionFor(role, "escalate", role.Namespace)
	for i, missing := range c.missing(role, scope) {
		if len(missing) == 0 {
			continue
		}
		if c.may(question) {
			return
		}
		c.list.Add(diag.Diagnostic{
			Position: c.places.rules[key][i],
			Code:     diag.Escalation,
			Message: fmt.Sprintf("%s does not have what rule %d of %s %q grants %s: %s",
				c.author, i, role.Kind, role.Name, where(scope), enumerate(missing)),
			Hint: "an author who has these permissions, or who may escalate this role, can make the change",
		})
	}
}

// binding checks every rule that a binding grants, in the scope of the binding.
func (c *escalation) binding(key string, b tables.Binding) {
	scope := b.Namespace
	if b.Cluster {
		scope = ""
	}
	role := c.access.Roles.At(b.Role)
	missing := slices.Concat(c.missing(role, scope)...)
	namespace := b.Namespace
	if b.Cluster && c.masterChanged {
		// In the base the namespace was one of many: who may bind there may not bind everywhere.
		namespace = ""
	}
	if len(missing) == 0 || c.may(c.questionFor(role, "bind", namespace)) {
		return
	}
	place := c.places.bindings[key]
	c.list.Add(diag.Diagnostic{
		Position: place.role,
		Length:   len([]rune(role.Name)),
		Code:     diag.Escalation,
		Message: fmt.Sprintf("%s does not have what %s %q grants %s through %s %q: %s",
			c.author, b.Kind, b.Name, where(scope), role.Kind, role.Name, enumerate(missing)),
		Hint:    "an author who has these permissions, or who may bind this role, can make the change",
		Related: []diag.Related{{Position: c.places.roles[b.Role], Message: fmt.Sprintf("%s %q is declared here", role.Kind, role.Name)}},
	})
}

// missing lists for each rule of a role the permissions that the author does not have.
func (c *escalation) missing(role tables.Role, scope string) [][]string {
	held := c.held.in(scope)
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
			out = append(out, nil) // a denial grants nothing
			continue
		}
		out = append(out, held.missingOrigin(&role.Origin[i]))
	}
	return out
}

// questionFor returns the request of the author to use a verb on a role.
func (c *escalation) questionFor(role tables.Role, verb, namespace string) Question {
	q := Question{
		User: c.author.User, Groups: c.author.Groups, Verb: verb,
		APIGroup: rbacGroup, Resource: "roles", Namespace: namespace, Name: role.Name,
	}
	switch {
	case role.Family == tables.FamilyOrigin:
		q.APIGroup = originGroup
	case role.Kind == "ClusterRole":
		q.Resource = "clusterroles"
	}
	return q
}

func (c *escalation) may(q Question) bool { return c.author.May != nil && c.author.May(q) }

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

// maxListed bounds the missing permissions that a message lists.
const maxListed = 6

// enumerate joins the missing permissions without duplicates, up to maxListed.
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

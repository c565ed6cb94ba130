package document

import (
	"time"

	"github.com/writ-policy/writ/translator/diag"
)

// originHints say what a writ.dev document has instead of what others have.
var originHints = map[string]string{
	"resources":       "write resourceKinds",
	"kinds":           "write resourceKinds",
	"apigroups":       "leave it out: a kind entry fits every API group",
	"resourcenames":   "rules of " + versionWrit + " know no object names",
	"nonresourceurls": "rules of " + versionWrit + " know no paths; use a ClusterRole",
	"users":           "write userNames",
	"groups":          "write groupNames",
	"subjects":        "write userNames and groupNames",
}

var originNames = []string{"Role", "RoleBinding", "Policy", "PolicyBinding"}

func originKinds() Kinds {
	kinds := KindsOf(versionWrit, (*decoder).originStyled, originNames...)
	for i := range kinds {
		kinds[i].DecodeFlat = (*decoder).originFlat
	}
	return kinds
}

// originKind is the kind as it is spelt, or "" for what is none. The flat form
// takes any case.
func originKind(name string, flat bool) string {
	for _, known := range originNames {
		if name == known || flat && fold(name) == fold(known) {
			return known
		}
	}
	return ""
}

func (d *decoder) originStyled(n *node, kind *field) { d.origin(n, kind, false) }

func (d *decoder) originFlat(n *node, kind *field) { d.origin(n, kind, true) }

// origin decodes a document of writ.dev/v1 in either of its forms.
func (d *decoder) origin(n *node, kind *field, flat bool) {
	h := d.header(FamilyOrigin, versionWrit, originKind(kind.value.value, flat), kind.key)
	c := d.cursor(n, h.Kind, flat)
	c.at, c.hints = kind.key, originHints
	c.skip("apiVersion", "kind")
	identified := false
	if flat {
		identified = d.nameInto(c, &h)
		identified = d.namespaceInto(c, &h) && identified
	} else {
		identified = d.originMetadata(c, &h)
	}
	switch h.Kind {
	case "Role":
		d.originRole(c, h, identified)
	case "RoleBinding":
		d.originBinding(c, h, nil, identified)
	case "Policy":
		d.originPolicy(c, h, identified)
	case "PolicyBinding":
		d.originPolicyBinding(c, h, identified)
	}
	c.done()
}

// originMetadata reads the metadata of the Kubernetes-style form.
func (d *decoder) originMetadata(c *cursor, h *Header) bool {
	m := c.mapping("metadata")
	if m == nil {
		if c.value("metadata") == nil {
			c.fail(c.at, diag.Missing, "write metadata: {name: NAME, namespace: NAMESPACE}", "the document has neither metadata nor a name")
		}
		return false
	}
	m.skip(serverFields...)
	m.skip("labels", "annotations")
	ok := d.nameInto(m, h)
	ok = d.namespaceInto(m, h) && ok
	m.done()
	return ok
}

func (d *decoder) originRole(c *cursor, h Header, identified bool) {
	r := &OriginRole{Header: h}
	rules, _ := c.list("rules")
	for _, n := range rules {
		r.Rules = append(r.Rules, d.originRule(n, c.fold))
	}
	if identified {
		d.out = append(d.out, r)
	}
}

// originBinding decodes a RoleBinding, inside a PolicyBinding or not.
func (d *decoder) originBinding(c *cursor, h Header, in *OriginPolicyBinding, identified bool) {
	b := &OriginBinding{Header: h, In: in}
	referred := d.originReference(c, b)
	b.Users, b.Groups = d.names(c, "userNames", "user"), d.names(c, "groupNames", "group")
	if len(b.Users)+len(b.Groups) == 0 && c.value("userNames").empty() && c.value("groupNames").empty() {
		d.warn(c.at, diag.NoSubjects, "", "RoleBinding %s binds nobody", quote(h.Name))
	}
	if identified && referred {
		d.out = append(d.out, b)
	}
}

// empty reports whether n is absent or a list without items.
func (n *node) empty() bool { return n == nil || n.kind == list && len(n.items) == 0 }

// names reads a list of users or groups: any string but the empty one.
func (d *decoder) names(c *cursor, name, what string) []string {
	items, _ := c.texts(name)
	var out []string
	for _, n := range items {
		if n.value == "" {
			d.fail(n, diag.BadValue, "", "an empty string in %s names nobody", name)
			continue
		}
		d.literalStar(n, what)
		out = append(out, n.value)
	}
	return out
}

// originReference decodes which role is bound: by roleRef, or by the older
// roleName with referencesGlobalRole. It reports whether that is known.
func (d *decoder) originReference(c *cursor, b *OriginBinding) bool {
	ref, name := c.value("roleRef"), c.value("roleName")
	global, globalAt := c.boolean("referencesGlobalRole", false)
	switch {
	case ref != nil && name != nil:
		c.fail(c.field("roleName").key, diag.RoleReference, "keep roleRef", "roleName beside roleRef: a binding names its role once")
	case ref != nil && c.value("referencesGlobalRole") != nil:
		c.fail(c.field("referencesGlobalRole").key, diag.RoleReference, "write the namespace into roleRef", "referencesGlobalRole beside roleRef: a binding names its role once")
	case ref == nil && name == nil:
		at := c.at
		if globalAt != nil {
			at = globalAt
		}
		c.fail(at, diag.RoleReference, "write roleRef: {namespace: NAMESPACE, name: ROLE}", "RoleBinding %s names no role: it has neither roleRef nor roleName", quote(b.Name))
	case ref != nil:
		return d.originRoleRef(c, b)
	default:
		n := c.required("roleName")
		if n == nil {
			return false
		}
		b.RoleName, b.Global, b.RoleNamespaceAt = d.text(n), global, d.at(n)
		if globalAt != nil {
			b.RoleNamespaceAt = d.at(globalAt)
		}
		if !global {
			b.RoleNamespace = b.Namespace
		}
		return true
	}
	return false
}

func (d *decoder) originRoleRef(c *cursor, b *OriginBinding) bool {
	ref := c.mapping("roleRef")
	if ref == nil {
		return false
	}
	ref.hints = map[string]string{"apigroup": "leave it out"}
	ok := true
	name := ref.required("name")
	if kind := ref.text("kind"); kind != nil && originKind(kind.value, c.fold) != "Role" {
		ref.fail(kind, diag.BadValue, "write Role, or leave it out", "roleRef.kind %s is not known", quote(kind.value))
		ok = false
	}
	if version := ref.text("apiVersion"); version != nil && version.value != versionWrit {
		ref.fail(version, diag.BadValue, "write "+versionWrit+", or leave it out", "roleRef.apiVersion %s is not known", quote(version.value))
		ok = false
	}
	b.RoleNamespace = b.Namespace
	if namespace := ref.text("namespace"); namespace != nil {
		b.RoleNamespace, b.RoleNamespaceAt = namespace.value, d.at(namespace)
		ok = d.checkReferredName(namespace, "roleRef.namespace") && ok
	}
	if name != nil {
		b.RoleName = d.text(name)
		ok = d.checkName(name, "roleRef.name") && ok
		if b.RoleNamespaceAt.Line == 0 {
			b.RoleNamespaceAt = b.RoleName.At
		}
	}
	ref.done()
	return ok && name != nil
}

// checkReferredName is checkName for an optional field: written, it must name
// something.
func (d *decoder) checkReferredName(n *node, what string) bool {
	if n.value == "" {
		d.fail(n, diag.BadName, "leave it out", "%s is empty", what)
		return false
	}
	return d.checkName(n, what)
}

// lastModified checks the field of that name, which nothing reads.
func (d *decoder) lastModified(c *cursor) {
	n := c.text("lastModified")
	if n == nil {
		return
	}
	if _, err := time.Parse(time.RFC3339, n.value); err != nil {
		c.fail(n, diag.BadValue, `write it like "2015-01-20T10:00:00Z"`, "lastModified %s is no time of RFC 3339", quote(n.value))
	}
}

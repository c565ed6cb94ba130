package access

import (
	"cmp"
	_ "embed"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

//go:embed fields_origin.txt
var originTexts string

// originHints are the hints for fields of other documents in writ.dev documents.
var originHints = map[string]string{
	"resources":       "write resourceKinds",
	"kinds":           "write resourceKinds",
	"apigroups":       "leave it out: a kind entry fits every API group",
	"resourcenames":   "rules of " + syntax.VersionWrit + " know no object names",
	"nonresourceurls": "rules of " + syntax.VersionWrit + " know no paths; use a ClusterRole",
	"users":           "write userNames",
	"groups":          "write groupNames",
	"subjects":        "write userNames and groupNames",
}

var originNames = []string{"Role", "RoleBinding", "Policy", "PolicyBinding"}

// originKinds returns the kinds of Origin, which have a flat form as well.
func originKinds() syntax.Kinds {
	kinds := syntax.KindsOf(syntax.VersionWrit, decodeOriginStyled, originNames...).
		WithWords(roleWords...).WithTargets(rolesOfOrigin).WithTexts(originTexts)
	for i := range kinds {
		kinds[i].DecodeFlat = decodeOriginFlat
	}
	return kinds
}

// originKind returns the canonical name of a kind, "" for an unknown one. The flat form
// ignores case.
func originKind(name string, flat bool) string {
	for _, known := range originNames {
		if name == known || flat && syntax.Fold(name) == syntax.Fold(known) {
			return known
		}
	}
	return ""
}

// decodeOriginStyled decodes a document in the style of Kubernetes, with metadata.
func decodeOriginStyled(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	decodeOrigin(d, n, kind, false)
}

// decodeOriginFlat decodes a document in the flat form of Origin, with its name at the top.
func decodeOriginFlat(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	decodeOrigin(d, n, kind, true)
}

// decodeOrigin decodes a document of writ.dev/v1 in either of its forms.
func decodeOrigin(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field, flat bool) {
	h := d.Header(familyOrigin, syntax.VersionWrit, originKind(kind.Value.Value, flat), kind.Key)
	c := d.Cursor(n, h.Kind, flat)
	c.At, c.Hints = kind.Key, originHints
	c.Skip("apiVersion", "kind")
	identified := false
	if flat {
		identified = d.NameInto(c, &h)
		identified = d.NamespaceInto(c, &h) && identified
	} else {
		identified = decodeOriginMetadata(d, c, &h)
	}
	switch h.Kind {
	case "Role":
		decodeOriginRole(d, c, h, nil, identified)
	case "RoleBinding":
		decodeOriginBinding(d, c, h, nil, identified)
	case "Policy":
		decodeOriginPolicy(d, c, h, identified)
	case "PolicyBinding":
		decodeOriginPolicyBinding(d, c, h, identified)
	}
	c.Done()
}

// decodeOriginMetadata reads the metadata of the Kubernetes-style form.
func decodeOriginMetadata(d *syntax.Decoder, c *syntax.Cursor, h *syntax.Header) bool {
	m := c.Mapping("metadata")
	if m == nil {
		if c.Value("metadata") == nil {
			c.Fail(c.At, diag.Missing, "write metadata: {name: NAME, namespace: NAMESPACE}", "the document has neither metadata nor a name")
		}
		return false
	}
	m.Skip(syntax.ServerFields...)
	m.Skip("labels", "annotations")
	ok := d.NameInto(m, h)
	ok = d.NamespaceInto(m, h) && ok
	m.Done()
	return ok
}

// decodeOriginRole decodes a Role, inside a Policy or not.
func decodeOriginRole(d *syntax.Decoder, c *syntax.Cursor, h syntax.Header, in *originPolicy, identified bool) {
	r := &OriginRole{Header: h, in: in}
	rules, _ := c.List("rules")
	for _, n := range rules {
		r.Rules = append(r.Rules, decodeOriginRule(d, n, c.Fold))
	}
	if identified {
		d.Out = append(d.Out, r)
	}
}

// decodeOriginBinding decodes a RoleBinding, inside a PolicyBinding or not.
func decodeOriginBinding(d *syntax.Decoder, c *syntax.Cursor, h syntax.Header, in *OriginPolicyBinding, identified bool) {
	b := &OriginBinding{Header: h, In: in}
	referred := decodeOriginReference(d, c, b)
	b.Users, b.Groups = decodeNames(d, c, "userNames", "user"), decodeNames(d, c, "groupNames", "group")
	b.Dates = c.Dates()
	if len(b.Users)+len(b.Groups) == 0 && c.Value("userNames").Empty() && c.Value("groupNames").Empty() {
		d.Warn(c.At, diag.NoSubjects, "", "RoleBinding %s has no subjects", syntax.Quote(h.Name))
	}
	if identified && referred {
		d.Out = append(d.Out, b)
	}
}

// decodeNames reads a list of users or groups: any string but the empty one.
func decodeNames(d *syntax.Decoder, c *syntax.Cursor, name, what string) []string {
	items, _ := c.Texts(name)
	var out []string
	for _, n := range items {
		if n.Value == "" {
			d.Fail(n, diag.BadValue, "", "entries of %s must not be empty", name)
			continue
		}
		checkLiteralStar(d, n, what)
		out = append(out, n.Value)
	}
	return out
}

// decodeOriginReference decodes the role reference: roleRef, or the older roleName with
// referencesGlobalRole. It reports whether the reference is valid.
func decodeOriginReference(d *syntax.Decoder, c *syntax.Cursor, b *OriginBinding) bool {
	ref, name := c.Value("roleRef"), c.Value("roleName")
	global, globalAt := c.Boolean("referencesGlobalRole", false)
	switch {
	case ref != nil && name != nil:
		c.Fail(c.Field("roleName").Key, diag.RoleReference, "keep roleRef", "roleName beside roleRef: a binding names its role once")
	case ref != nil && c.Value("referencesGlobalRole") != nil:
		c.Fail(c.Field("referencesGlobalRole").Key, diag.RoleReference, "write the namespace into roleRef", "referencesGlobalRole beside roleRef: a binding names its role once")
	case ref == nil && name == nil:
		at := c.At
		at = cmp.Or(globalAt, at)
		c.Fail(at, diag.RoleReference, "write roleRef: {namespace: NAMESPACE, name: ROLE}", "RoleBinding %s names no role: it has neither roleRef nor roleName", syntax.Quote(b.Name))
	case ref != nil:
		return decodeOriginRoleRef(d, c, b)
	default:
		n := c.Required("roleName")
		if n == nil {
			return false
		}
		b.RoleName, b.Global, b.RoleNamespaceAt = d.Text(n), global, d.At(n)
		if globalAt != nil {
			b.RoleNamespaceAt = d.At(globalAt)
		}
		if !global {
			b.RoleNamespace = b.Namespace
		}
		return true
	}
	return false
}

func decodeOriginRoleRef(d *syntax.Decoder, c *syntax.Cursor, b *OriginBinding) bool {
	ref := c.Mapping("roleRef")
	if ref == nil {
		return false
	}
	ref.Hints = map[string]string{"apigroup": "leave it out"}
	ok := true
	name := ref.Required("name")
	if kind := ref.Text("kind"); kind != nil && originKind(kind.Value, c.Fold) != "Role" {
		ref.Fail(kind, diag.BadValue, "write Role, or leave it out", "roleRef.kind %s is not known", syntax.Quote(kind.Value))
		ok = false
	}
	if version := ref.Text("apiVersion"); version != nil && version.Value != syntax.VersionWrit {
		ref.Fail(version, diag.BadValue, "write "+syntax.VersionWrit+", or leave it out", "roleRef.apiVersion %s is not known", syntax.Quote(version.Value))
		ok = false
	}
	b.RoleNamespace = b.Namespace
	if namespace := ref.Text("namespace"); namespace != nil {
		b.RoleNamespace, b.RoleNamespaceAt = namespace.Value, d.At(namespace)
		ok = d.CheckReferredName(namespace, "roleRef.namespace") && ok
	}
	if name != nil {
		b.RoleName = d.Text(name)
		ok = d.CheckName(name, "roleRef.name") && ok
		if b.RoleNamespaceAt.Line == 0 {
			b.RoleNamespaceAt = b.RoleName.At
		}
	}
	ref.Done()
	return ok && name != nil
}

// decodeLastModified checks lastModified, which has no effect.
func decodeLastModified(c *syntax.Cursor) {
	n := c.Text("lastModified")
	if n == nil {
		return
	}
	if _, err := time.Parse(time.RFC3339, n.Value); err != nil {
		c.Fail(n, diag.BadValue, `write it like "2015-01-20T10:00:00Z"`, "lastModified %s must be an RFC 3339 time", syntax.Quote(n.Value))
	}
}

package document

import (
	"github.com/writ-policy/writ/translator/diag"
)

// originPolicy decodes a Policy. The roles it holds become documents of their
// own, after it.
func (d *decoder) originPolicy(c *cursor, h Header, identified bool) {
	if identified {
		d.out = append(d.out, &OriginPolicy{Header: h})
	}
	d.lastModified(c)
	d.contents(c, "roles", "Role", h, func(inner *cursor, ih Header, ok bool) {
		d.originRole(inner, ih, ok && identified)
	})
}

// originPolicyBinding decodes a PolicyBinding. The bindings it holds become
// documents of their own, after it.
func (d *decoder) originPolicyBinding(c *cursor, h Header, identified bool) {
	p := &OriginPolicyBinding{Header: h}
	if ref := c.mapping("policyRef"); ref != nil {
		if n := ref.required("namespace"); n != nil {
			p.RefNamespace = d.text(n)
		}
		if n := ref.text("name"); n != nil && d.checkReferredName(n, "policyRef.name") {
			p.RefName = d.text(n)
		}
		ref.done()
	}
	if identified {
		d.out = append(d.out, p)
	}
	d.lastModified(c)
	d.contents(c, "roleBindings", "RoleBinding", h, func(inner *cursor, ih Header, ok bool) {
		d.originBinding(inner, ih, p, ok && identified)
	})
}

// contents decodes the map of documents a container holds, by name. Each may be
// in either form, whatever the container's; one that shows none is read as the
// container is.
func (d *decoder) contents(c *cursor, name, kind string, container Header, decode func(*cursor, Header, bool)) {
	n := c.value(name)
	if n == nil {
		return
	}
	if n.kind != mapping {
		c.fail(n, diag.WrongType, "", "%s is a mapping of names, this is %s", name, describe(n))
		return
	}
	for _, f := range n.fields {
		h := d.header(FamilyOrigin, versionWrit, kind, f.key)
		h.Namespace, h.NamespaceAt, h.Name = container.Namespace, container.NamespaceAt, f.key.value
		ok := f.key.value != ""
		if !ok {
			c.fail(f.key, diag.BadName, "", "a %s in %s has an empty name", kind, name)
		} else {
			ok = d.checkName(f.key, "name")
		}
		d.content(f.value, kind, h, c.fold, ok, decode)
	}
}

func (d *decoder) content(n *node, kind string, h Header, fold, ok bool, decode func(*cursor, Header, bool)) {
	metadata := n.find("metadata", false)
	styled := metadata != nil && !metadata.value.isNull()
	flat := !styled && (fold || n.find("name", true) != nil || n.find("namespace", true) != nil)
	inner := d.cursor(n, kind, flat)
	if inner == nil {
		return
	}
	inner.hints = originHints
	identity := inner
	if styled {
		if identity = inner.mapping("metadata"); identity != nil {
			identity.skip(serverFields...)
			identity.skip("labels", "annotations")
		}
	}
	same := identity == nil || d.sameAs(identity, "name", h.Name) && d.sameAs(identity, "namespace", h.Namespace)
	decode(inner, h, ok && same)
	if styled {
		identity.done()
	}
	inner.done()
}

// sameAs checks that a name written inside a container repeats what the
// container says.
func (d *decoder) sameAs(c *cursor, name, want string) bool {
	n := c.text(name)
	if n == nil || n.value == want || want == "" {
		return true
	}
	c.fail(n, diag.KeyMismatch, "write "+quote(want)+", or leave it out", "%s %s, but the container says %s", name, quote(n.value), quote(want))
	return false
}

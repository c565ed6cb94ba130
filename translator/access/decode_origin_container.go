package access

import (
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// decodeOriginPolicy decodes a Policy. Its roles become separate documents after it.
func decodeOriginPolicy(d *syntax.Decoder, c *syntax.Cursor, h syntax.Header, identified bool) {
	p := &originPolicy{Header: h}
	if identified {
		d.Out = append(d.Out, p)
	}
	decodeLastModified(c)
	decodeContents(d, c, "roles", "Role", h, func(inner *syntax.Cursor, ih syntax.Header, ok bool) {
		decodeOriginRole(d, inner, ih, p, ok && identified)
	})
}

// decodeOriginPolicyBinding decodes a PolicyBinding. Its bindings become separate
// documents after it.
func decodeOriginPolicyBinding(d *syntax.Decoder, c *syntax.Cursor, h syntax.Header, identified bool) {
	p := &OriginPolicyBinding{Header: h}
	if ref := c.Mapping("policyRef"); ref != nil {
		p.RefNamespace = d.Text(ref.Required("namespace"))
		if n := ref.Text("name"); n != nil && d.CheckReferredName(n, "policyRef.name") {
			p.RefName = d.Text(n)
		}
		ref.Done()
	}
	if identified {
		d.Out = append(d.Out, p)
	}
	decodeLastModified(c)
	decodeContents(d, c, "roleBindings", "RoleBinding", h, func(inner *syntax.Cursor, ih syntax.Header, ok bool) {
		decodeOriginBinding(d, inner, ih, p, ok && identified)
	})
}

// contentDecoder decodes a document of a container, which is one of the directory if it is identified.
type contentDecoder func(inner *syntax.Cursor, h syntax.Header, isIdentified bool)

// decodeContents decodes the documents of a container, a map by name. Each may be in
// either form. A document whose form is not evident has the form of the container.
func decodeContents(d *syntax.Decoder, c *syntax.Cursor, name, kind string, container syntax.Header, decode contentDecoder) {
	n := c.Value(name)
	if n == nil {
		return
	}
	if n.Type != syntax.Mapping {
		c.Fail(n, diag.WrongType, "", "%s must be a mapping of names, not %s", name, syntax.Describe(n))
		return
	}
	for _, f := range n.Fields {
		h := d.Header(familyOrigin, syntax.VersionWrit, kind, f.Key)
		h.Namespace, h.Name = container.Namespace, f.Key.Value
		ok := f.Key.Value != ""
		if !ok {
			c.Fail(f.Key, diag.BadName, "", "a %s in %s has an empty name", kind, name)
		} else {
			ok = d.CheckName(f.Key, "name")
		}
		decodeContent(d, f.Value, kind, h, c.Fold, ok, decode)
	}
}

func decodeContent(d *syntax.Decoder, n *syntax.Node, kind string, h syntax.Header, fold, ok bool, decode contentDecoder) {
	metadata := n.Find("metadata", false)
	styled := metadata != nil && !metadata.Value.IsNull()
	flat := !styled && (fold || n.Find("name", true) != nil || n.Find("namespace", true) != nil)
	inner := d.Cursor(n, kind, flat)
	if inner == nil {
		return
	}
	inner.Hints = originHints
	identity := inner
	if styled {
		d.CheckUndated(metadata.Value, kind)
		if identity = inner.Mapping("metadata"); identity != nil {
			identity.Skip(syntax.ServerFields...)
			identity.Skip("labels", "annotations")
		}
	}
	if identity != nil {
		ok = decodeSameAs(identity, "name", h.Name) && ok
		ok = decodeSameAs(identity, "namespace", h.Namespace) && ok
	}
	decode(inner, h, ok)
	if styled {
		identity.Done()
	}
	inner.Done()
}

// decodeSameAs checks that a name inside a container is equal to that of the container.
func decodeSameAs(c *syntax.Cursor, name, want string) bool {
	n := c.Text(name)
	if n == nil || n.Value == want || want == "" {
		return true
	}
	c.Fail(n, diag.KeyMismatch, "write "+syntax.Quote(want)+", or leave it out", "%s %s, but the container has %s", name, syntax.Quote(n.Value), syntax.Quote(want))
	return false
}

// Container is a Policy or a PolicyBinding, and the names of the roles or bindings in it.
type Container struct {
	*syntax.Header
	Members []string
}

// Has reports whether a role or a binding is in the container.
func (c *Container) Has(kind, namespace, name string) bool {
	holds := map[string]string{kindRole: "Policy", kindRoleBinding: "PolicyBinding"}
	return holds[kind] == c.Kind && c.Namespace == namespace && slices.Contains(c.Members, name)
}

// Containers returns the containers among documents.
func Containers(documents []syntax.Document) []Container {
	var out []Container
	at := make(map[*syntax.Header]int)
	add := func(h *syntax.Header) {
		at[h] = len(out)
		out = append(out, Container{Header: h})
	}
	member := func(of, h *syntax.Header) {
		if i, known := at[of]; known {
			out[i].Members = append(out[i].Members, h.Name)
		}
	}
	for _, d := range documents {
		switch d := d.(type) {
		case *originPolicy:
			add(&d.Header)
		case *OriginPolicyBinding:
			add(&d.Header)
		}
	}
	for _, d := range documents {
		switch d := d.(type) {
		case *OriginRole:
			if d.in != nil {
				member(&d.in.Header, &d.Header)
			}
		case *OriginBinding:
			if d.In != nil {
				member(&d.In.Header, &d.Header)
			}
		}
	}
	return out
}

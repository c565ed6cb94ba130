package syntax

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/diag"
)

// ServerFields are the metadata fields that API servers add. They are accepted and
// ignored.
var ServerFields = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
	"selfLink", "ownerReferences", "finalizers",
}

// maxName bounds the name of a document in bytes, as an API server does.
const maxName = 253

// CheckName reports a name that is not a valid path segment, as Kubernetes requires for
// RBAC objects, or that is longer than maxName. It returns whether the name is valid.
func (d *Decoder) CheckName(n *Node, what string) bool {
	if len(n.Value) > maxName {
		d.Fail(n, diag.BadName, "", "%s %s: must be at most %d bytes", what, Quote(n.Value), maxName)
		return false
	}
	return d.CheckForm(n, diag.BadName, what, content.IsPathSegmentName(n.Value))
}

// CheckForm reports the first problem that a validator of Kubernetes returned for a value,
// and whether the value is valid.
func (d *Decoder) CheckForm(n *Node, code diag.Code, what string, problems []string) bool {
	if len(problems) == 0 {
		return true
	}
	// The problem is followed by an example and a regular expression.
	problem, example, _ := strings.Cut(problems[0], " (e.g. '")
	hint := ""
	if example, _, found := strings.Cut(example, "'"); found {
		hint = "write it like " + Quote(example)
	}
	d.Fail(n, code, hint, "%s %s: %s", what, Quote(n.Value), problem)
	return false
}

// NameInto reads the required name of a document and reports whether it is valid.
func (d *Decoder) NameInto(c *Cursor, h *Header) bool {
	n := d.readInto(c, "name", &h.Name, &h.NameAt)
	return n != nil && d.CheckName(n, "name")
}

// CustomNameInto is NameInto for a custom resource, whose name must be a DNS subdomain.
func (d *Decoder) CustomNameInto(c *Cursor, h *Header) bool {
	n := d.readInto(c, "name", &h.Name, &h.NameAt)
	return n != nil && d.CheckForm(n, diag.BadName, "name", content.IsDNS1123Subdomain(n.Value))
}

// NamespaceInto is NameInto for the namespace.
func (d *Decoder) NamespaceInto(c *Cursor, h *Header) bool {
	n := d.readInto(c, "namespace", &h.Namespace, &h.NamespaceAt)
	return n != nil && d.CheckName(n, "namespace")
}

// readInto reads a required string with its position. It returns nil if the string is absent.
func (d *Decoder) readInto(c *Cursor, name string, value *string, at *diag.Position) *Node {
	n := c.Required(name)
	if n != nil {
		*value, *at = n.Value, d.At(n)
	}
	return n
}

// CheckNamespace reports a namespace that is not a DNS label, and whether it is one.
func (d *Decoder) CheckNamespace(n *Node) bool {
	return d.CheckForm(n, diag.BadName, "namespace", content.IsDNS1123Label(n.Value))
}

// MetadataInto reads the metadata of a document with a required name and an optional
// namespace, and reports whether the document has a valid name.
func (d *Decoder) MetadataInto(c *Cursor, h *Header) bool {
	m := c.RequiredMapping("metadata", "write metadata: {name: NAME}")
	if m == nil {
		return false
	}
	m.Skip(ServerFields...)
	m.Skip("labels", "annotations")
	identified := d.NameInto(m, h)
	if namespace := m.Text("namespace"); namespace != nil && d.CheckReferredName(namespace, "namespace") {
		h.Namespace, h.NamespaceAt = namespace.Value, d.At(namespace)
	}
	m.Done()
	return identified
}

// NamespaceHint is the hint for a document without a namespace that may have a default one.
const NamespaceHint = "write its namespace, or use --default-namespace"

// FillNamespace sets the namespace of a document that has none to the default one, and
// reports whether there is one.
func (d *Decoder) FillNamespace(h *Header) bool {
	h.Namespace = d.DefaultNamespace
	return h.Namespace != ""
}

// Labels reads an optional map of labels, checked as the API server does.
func (c *Cursor) Labels(name string) map[string]string {
	inner := c.Mapping(name)
	if inner == nil {
		return nil
	}
	out := make(map[string]string, len(inner.Node.Fields))
	for _, f := range inner.Node.Fields {
		c.Decoder.CheckForm(f.Key, diag.BadValue, "label", content.IsLabelKey(f.Key.Value))
		switch f.Value.Type {
		case String:
			c.Decoder.CheckForm(f.Value, diag.BadValue, "label value", content.IsLabelValue(f.Value.Value))
		case null:
		default:
			c.Fail(f.Value, diag.WrongType, QuoteHint(f.Value), "a label must be a string, not %s", Describe(f.Value))
			continue
		}
		if f.Value.Type == null {
			out[f.Key.Value] = ""
			continue
		}
		out[f.Key.Value] = f.Value.Value
	}
	return out
}

// CheckReferredName is CheckName for an optional field, which must not be empty if it is
// present.
func (d *Decoder) CheckReferredName(n *Node, what string) bool {
	if n.Value == "" {
		d.Fail(n, diag.BadName, "leave it out", "%s is empty", what)
		return false
	}
	return d.CheckName(n, what)
}

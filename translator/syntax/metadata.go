package syntax

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/diag"
)

// ServerFields are the metadata fields that servers add; nobody reads them here.
var ServerFields = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
	"selfLink", "ownerReferences", "finalizers",
}

// CheckName reports a name that cannot be a segment of a path, Kubernetes' rule
// for everything in RBAC.
func (d *Decoder) CheckName(n *Node, what string) bool {
	return d.CheckForm(n, diag.BadName, what, content.IsPathSegmentName(n.Value))
}

// CheckForm reports what one of Kubernetes' validators says of a value.
func (d *Decoder) CheckForm(n *Node, code diag.Code, what string, problems []string) bool {
	if len(problems) == 0 {
		return true
	}
	// The validators go on with an example and a regular expression.
	problem, example, _ := strings.Cut(problems[0], " (e.g. '")
	hint := ""
	if example, _, found := strings.Cut(example, "'"); found {
		hint = "write it like " + Quote(example)
	}
	d.Fail(n, code, hint, "%s %s: %s", what, Quote(n.Value), problem)
	return false
}

// NameInto reads the required name of a document from c and reports whether it
// is one.
func (d *Decoder) NameInto(c *Cursor, h *Header) bool {
	n := c.Required("name")
	if n == nil {
		return false
	}
	h.Name, h.NameAt = n.Value, d.At(n)
	return d.CheckName(n, "name")
}

// NamespaceInto is nameInto for the namespace.
func (d *Decoder) NamespaceInto(c *Cursor, h *Header) bool {
	n := c.Required("namespace")
	if n == nil {
		return false
	}
	h.Namespace, h.NamespaceAt = n.Value, d.At(n)
	return d.CheckName(n, "namespace")
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
			c.Fail(f.Value, diag.WrongType, QuoteHint(f.Value), "a label is a string, this is %s", Describe(f.Value))
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

// CheckReferredName is checkName for an optional field: written, it must name
// something.
func (d *Decoder) CheckReferredName(n *Node, what string) bool {
	if n.Value == "" {
		d.Fail(n, diag.BadName, "leave it out", "%s is empty", what)
		return false
	}
	return d.CheckName(n, what)
}

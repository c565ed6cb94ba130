package document

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/diag"
)

// serverFields are the metadata fields that servers add; nobody reads them here.
var serverFields = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
	"selfLink", "ownerReferences", "finalizers",
}

// checkName reports a name that cannot be a segment of a path, Kubernetes' rule
// for everything in RBAC.
func (d *decoder) checkName(n *node, what string) bool {
	return d.checkForm(n, diag.BadName, what, content.IsPathSegmentName(n.value))
}

// checkForm reports what one of Kubernetes' validators says of a value.
func (d *decoder) checkForm(n *node, code diag.Code, what string, problems []string) bool {
	if len(problems) == 0 {
		return true
	}
	// The validators go on with an example and a regular expression.
	problem, example, _ := strings.Cut(problems[0], " (e.g. '")
	hint := ""
	if example, _, found := strings.Cut(example, "'"); found {
		hint = "write it like " + quote(example)
	}
	d.fail(n, code, hint, "%s %s: %s", what, quote(n.value), problem)
	return false
}

// nameInto reads the required name of a document from c and reports whether it
// is one.
func (d *decoder) nameInto(c *cursor, h *Header) bool {
	n := c.required("name")
	if n == nil {
		return false
	}
	h.Name, h.NameAt = n.value, d.at(n)
	return d.checkName(n, "name")
}

// namespaceInto is nameInto for the namespace.
func (d *decoder) namespaceInto(c *cursor, h *Header) bool {
	n := c.required("namespace")
	if n == nil {
		return false
	}
	h.Namespace, h.NamespaceAt = n.value, d.at(n)
	return d.checkName(n, "namespace")
}

// labels reads an optional map of labels, checked as the API server does.
func (c *cursor) labels(name string) map[string]string {
	inner := c.mapping(name)
	if inner == nil {
		return nil
	}
	out := make(map[string]string, len(inner.n.fields))
	for _, f := range inner.n.fields {
		c.d.checkForm(f.key, diag.BadValue, "label", content.IsLabelKey(f.key.value))
		switch f.value.kind {
		case text:
			c.d.checkForm(f.value, diag.BadValue, "label value", content.IsLabelValue(f.value.value))
		case null:
		default:
			c.fail(f.value, diag.WrongType, quoted(f.value), "a label is a string, this is %s", describe(f.value))
			continue
		}
		if f.value.kind == null {
			out[f.key.value] = ""
			continue
		}
		out[f.key.value] = f.value.value
	}
	return out
}

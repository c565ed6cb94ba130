package document

import (
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// find returns the entry of a name, null ones included, or nil.
func (n *node) find(name string, ignoreCase bool) *field {
	for i, f := range n.fields {
		if f.key.value == name || ignoreCase && fold(f.key.value) == fold(name) {
			return &n.fields[i]
		}
	}
	return nil
}

// document decodes one document or a List of them.
func (d *decoder) document(n *node) {
	if n.kind != mapping {
		d.fail(n, diag.WrongType, "", "a document is a mapping, this is %s", describe(n))
		return
	}
	metadata := n.find("metadata", false)
	styled := metadata != nil && !metadata.value.isNull()
	flat := !styled && n.find("name", true) != nil
	kind := d.nameOf(n, "kind", flat)
	if kind == nil {
		return
	}
	if kind.value.value == "List" {
		d.list(n, kind)
		return
	}
	version := n.find("apiVersion", flat)
	if version == nil || version.value.isNull() {
		d.unversioned(n, kind, styled, flat)
		return
	}
	if version.value.kind != text {
		d.fail(version.value, diag.WrongType, quoted(version.value), "apiVersion is a string, this is %s", describe(version.value))
		return
	}
	d.versioned(n, version.value, kind, flat)
}

// nameOf returns the entry of kind, which must be a string, or reports that.
func (d *decoder) nameOf(n *node, name string, ignoreCase bool) *field {
	f := n.find(name, ignoreCase)
	if f == nil || f.value.isNull() {
		at := n
		if f != nil {
			at = f.key
		}
		d.fail(at, diag.Missing, "", "the document has no %s", name)
		return nil
	}
	if f.value.kind != text {
		d.fail(f.value, diag.WrongType, quoted(f.value), "%s is a string, this is %s", name, describe(f.value))
		return nil
	}
	return f
}

// unversioned decodes a document without apiVersion: the flat form, or a mistake.
func (d *decoder) unversioned(n *node, kind *field, styled, flat bool) {
	name := kind.value.value
	flatKind := d.kinds.flat(name)
	if flat && flatKind != nil {
		flatKind.DecodeFlat(d, n, kind)
		return
	}
	if version := d.kinds.soleVersion(name); version != "" {
		d.fail(kind.key, diag.UnknownKind, "write apiVersion: "+version, "a %s has no apiVersion", name)
		return
	}
	shared := d.kinds.sharedVersions()
	if styled {
		d.fail(kind.key, diag.UnknownKind, "write apiVersion: "+strings.Join(shared, " or "),
			"a document with metadata has no apiVersion: kind %s could be of either family", quote(name))
		return
	}
	if flatKind != nil {
		d.fail(kind.key, diag.Missing, "write apiVersion: "+flatKind.APIVersion+" and metadata: {name: NAME, namespace: NAMESPACE}", "the document has neither metadata nor a name")
		return
	}
	var known []string
	if len(shared) > 0 {
		known = d.kinds.names(shared[0])
	}
	d.unknownKind(kind, "", append(known, "List"))
}

// versioned decodes a document as the kind of its apiVersion and kind.
func (d *decoder) versioned(n, version *node, kind *field, flat bool) {
	if k := d.kinds.find(version.value, kind.value.value, flat); k != nil {
		if flat && k.DecodeFlat != nil {
			k.DecodeFlat(d, n, kind)
		} else {
			k.Decode(d, n, kind)
		}
		return
	}
	if names := d.kinds.names(version.value); len(names) > 0 {
		d.unknownKind(kind, version.value, names)
		return
	}
	d.unknownVersion(version, kind.value.value)
}

func (d *decoder) unknownKind(kind *field, version string, known []string) {
	hint := "one of " + strings.Join(known, ", ")
	if near := diag.Suggest(kind.value.value, known); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	of := ""
	if version != "" {
		of = " of " + version
	}
	d.fail(kind.value, diag.UnknownKind, hint, "kind %s%s is not known", quote(kind.value.value), of)
}

func (d *decoder) unknownVersion(version *node, kind string) {
	hint := ""
	versions := d.kinds.versions()
	for _, known := range versions {
		group, _, _ := strings.Cut(known, "/")
		if strings.HasPrefix(version.value, group) {
			hint = "write " + known
		}
	}
	if k := d.kinds.flat(kind); hint == "" && k != nil && k.Name == kind {
		hint = "write " + strings.Join(d.kinds.sharedVersions(), " or ")
	}
	if sole := d.kinds.soleVersion(kind); sole != "" {
		hint = "write " + sole
	}
	if near := diag.Suggest(version.value, versions); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	d.fail(version, diag.UnknownKind, hint, "kind %s of apiVersion %s is not known", quote(kind), quote(version.value))
}

// list decodes the items of a List, each a document of its own.
func (d *decoder) list(n *node, kind *field) {
	c := d.cursor(n, "List", false)
	c.at = kind.key
	c.skip("kind", "metadata")
	version := c.text("apiVersion")
	switch {
	case version != nil && version.value != "v1":
		d.fail(version, diag.UnknownKind, "write v1", "kind \"List\" of apiVersion %s is not known", quote(version.value))
	case version == nil && c.value("apiVersion") == nil && c.value("metadata") != nil:
		d.fail(kind.key, diag.UnknownKind, "write apiVersion: v1", "a List with metadata has no apiVersion")
	}
	items, _ := c.list("items")
	c.done()
	for _, item := range items {
		d.document(item)
	}
}

// header begins the header of a document.
func (d *decoder) header(family, version, name string, kind *node) Header {
	at := d.at(kind)
	return Header{Family: family, APIVersion: version, Kind: name, At: at, NameAt: at, NamespaceAt: at}
}

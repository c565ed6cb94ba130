package syntax

import (
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// Find returns the entry of a name, null ones included, or nil.
func (n *Node) Find(name string, ignoreCase bool) *Field {
	for i, f := range n.Fields {
		if f.Key.Value == name || ignoreCase && Fold(f.Key.Value) == Fold(name) {
			return &n.Fields[i]
		}
	}
	return nil
}

// decode decodes one document or a List of them.
func (d *Decoder) decode(n *Node) {
	if n.Type != Mapping {
		d.Fail(n, diag.WrongType, "", "a document is a mapping, this is %s", Describe(n))
		return
	}
	metadata := n.Find("metadata", false)
	styled := metadata != nil && !metadata.Value.IsNull()
	flat := !styled && n.Find("name", true) != nil
	kind := d.nameOf(n, "kind", flat)
	if kind == nil {
		return
	}
	if kind.Value.Value == "List" {
		d.list(n, kind)
		return
	}
	version := n.Find("apiVersion", flat)
	if version == nil || version.Value.IsNull() {
		d.unversioned(n, kind, styled, flat)
		return
	}
	if version.Value.Type != String {
		d.Fail(version.Value, diag.WrongType, QuoteHint(version.Value), "apiVersion is a string, this is %s", Describe(version.Value))
		return
	}
	d.versioned(n, version.Value, kind, flat)
}

// nameOf returns the entry of a name, which must be a string; otherwise it reports that
// and returns nil.
func (d *Decoder) nameOf(n *Node, name string, ignoreCase bool) *Field {
	f := n.Find(name, ignoreCase)
	if f == nil || f.Value.IsNull() {
		at := n
		if f != nil {
			at = f.Key
		}
		d.Fail(at, diag.Missing, "", "the document has no %s", name)
		return nil
	}
	if f.Value.Type != String {
		d.Fail(f.Value, diag.WrongType, QuoteHint(f.Value), "%s is a string, this is %s", name, Describe(f.Value))
		return nil
	}
	return f
}

// unversioned decodes a document without apiVersion, which must be in the flat form.
func (d *Decoder) unversioned(n *Node, kind *Field, styled, flat bool) {
	name := kind.Value.Value
	flatKind := d.kinds.flat(name)
	if flat && flatKind != nil {
		flatKind.DecodeFlat(d, n, kind)
		return
	}
	if version := d.kinds.soleVersion(name); version != "" {
		d.Fail(kind.Key, diag.UnknownKind, "write apiVersion: "+version, "a %s has no apiVersion", name)
		return
	}
	shared := d.kinds.sharedVersions()
	if styled {
		d.Fail(kind.Key, diag.UnknownKind, "write apiVersion: "+strings.Join(shared, " or "),
			"a document with metadata has no apiVersion: kind %s could be of either family", Quote(name))
		return
	}
	if flatKind != nil {
		d.Fail(kind.Key, diag.Missing, "write apiVersion: "+flatKind.APIVersion+" and metadata: {name: NAME, namespace: NAMESPACE}", "the document has neither metadata nor a name")
		return
	}
	var known []string
	if len(shared) > 0 {
		known = d.kinds.names(shared[0])
	}
	d.unknownKind(kind, "", append(known, "List"))
}

// versioned decodes a document as the kind of its apiVersion and kind.
func (d *Decoder) versioned(n, version *Node, kind *Field, flat bool) {
	if k := d.kinds.find(version.Value, kind.Value.Value, flat); k != nil {
		if flat && k.DecodeFlat != nil {
			k.DecodeFlat(d, n, kind)
		} else {
			k.Decode(d, n, kind)
		}
		return
	}
	if names := d.kinds.names(version.Value); len(names) > 0 {
		d.unknownKind(kind, version.Value, names)
		return
	}
	d.unknownVersion(version, kind.Value.Value)
}

func (d *Decoder) unknownKind(kind *Field, version string, known []string) {
	hint := "one of " + strings.Join(known, ", ")
	if near := diag.Suggest(kind.Value.Value, known); near != "" {
		hint = "did you mean " + Quote(near) + "?"
	}
	of := ""
	if version != "" {
		of = " of " + version
	}
	d.Fail(kind.Value, diag.UnknownKind, hint, "kind %s%s is not known", Quote(kind.Value.Value), of)
}

func (d *Decoder) unknownVersion(version *Node, kind string) {
	hint := ""
	versions := d.kinds.versions()
	for _, known := range versions {
		group, _, _ := strings.Cut(known, "/")
		if strings.HasPrefix(version.Value, group) {
			hint = "write " + known
		}
	}
	if k := d.kinds.flat(kind); hint == "" && k != nil && k.Name == kind {
		hint = "write " + strings.Join(d.kinds.sharedVersions(), " or ")
	}
	if sole := d.kinds.soleVersion(kind); sole != "" {
		hint = "write " + sole
	}
	if near := diag.Suggest(version.Value, versions); near != "" {
		hint = "did you mean " + Quote(near) + "?"
	}
	d.Fail(version, diag.UnknownKind, hint, "kind %s of apiVersion %s is not known", Quote(kind), Quote(version.Value))
}

// list decodes the items of a List as documents.
func (d *Decoder) list(n *Node, kind *Field) {
	c := d.Cursor(n, "List", false)
	c.At = kind.Key
	c.Skip("kind", "metadata")
	version := c.Text("apiVersion")
	switch {
	case version != nil && version.Value != "v1":
		d.Fail(version, diag.UnknownKind, "write v1", "kind \"List\" of apiVersion %s is not known", Quote(version.Value))
	case version == nil && c.Value("apiVersion") == nil && c.Value("metadata") != nil:
		d.Fail(kind.Key, diag.UnknownKind, "write apiVersion: v1", "a List with metadata has no apiVersion")
	}
	items, _ := c.List("items")
	c.Done()
	for _, item := range items {
		d.decode(item)
	}
}

// Header begins the header of a document.
func (d *Decoder) Header(family, version, name string, kind *Node) Header {
	at := d.At(kind)
	return Header{Family: family, APIVersion: version, Kind: name, At: at, NameAt: at, NamespaceAt: at, Object: d.fields != nil}
}

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

// decode decodes one document or a List of them, or skips a foreign document.
func (d *Decoder) decode(n *Node) {
	if n.Type == null {
		return // an empty document
	}
	switch d.kinds.relate(n) {
	case foreign:
		if d.isHidden(n) {
			d.reportFlaws(n, "")
			d.addUndecoded(n)
			return
		}
		d.skip(n)
	case listed:
		d.reportFlaws(n, "items")
		d.list(n)
	case ours:
		d.first = len(d.Diags)
		d.reportFlaws(n, "")
		before := len(d.Out)
		d.decodeOurs(n)
		if len(d.Out) == before {
			d.addUndecoded(n)
		}
	}
}

// isHidden reports whether a foreign document would be one of a family if its repeated keys had their
// later values, as many readers take them: "---" is missing between two documents.
func (d *Decoder) isHidden(n *Node) bool {
	const most = 8 // of keys that are worth a look
	later, looks := *n, 0
	for _, f := range d.flaws.by[n] {
		if key := f.repeated.Key; key == nil || Fold(key.Value) != "apiversion" && Fold(key.Value) != "kind" {
			continue
		}
		if looks++; looks > most {
			return true
		}
		alone := *n
		alone.Fields = append([]Field{f.repeated}, n.Fields...)
		later.Fields = append([]Field{f.repeated}, later.Fields...)
		if d.kinds.relate(&alone) != foreign {
			return true
		}
	}
	return looks > 0 && d.kinds.relate(&later) != foreign
}

// addUndecoded records a document that has no identity.
func (d *Decoder) addUndecoded(n *Node) {
	id := identify(n)
	u := Undecoded{At: d.At(n), Kind: id.kind.Text(), Name: n.Present("name", true).Text()}
	if metadata := n.Present("metadata", false); metadata != nil {
		u.Name = metadata.Present("name", false).Text()
	}
	if u.Kind != "" {
		d.undecoded = append(d.undecoded, u)
	}
}

// decodeOurs decodes a document that belongs to a family or looks like it.
func (d *Decoder) decodeOurs(n *Node) {
	if n.Type == List {
		d.Fail(n, diag.UnknownKind, `write each item as a document, or write {apiVersion: v1, kind: List, items: [...]}`,
			"a document must be a mapping, not a list of documents")
		return
	}
	id := identify(n)
	kind := d.nameOf(n, "kind", id.flat)
	if kind == nil {
		return
	}
	version := n.Find("apiVersion", id.flat)
	switch {
	case Fold(kind.Value.Value) == "list":
		d.Fail(kind.Value, diag.UnknownKind, "write apiVersion: v1 and kind: List", "a list of documents must be a List of apiVersion \"v1\"")
	case version == nil || version.Value.IsNull():
		d.unversioned(n, kind, id.styled, id.flat)
	case version.Value.Type != String:
		d.Fail(version.Value, diag.WrongType, QuoteHint(version.Value), "apiVersion must be a string, not %s", Describe(version.Value))
	default:
		d.versioned(n, version.Value, kind, id.flat)
	}
}

// nameOf returns the entry of a name, which must be a string; otherwise it reports that
// and returns nil.
func (d *Decoder) nameOf(n *Node, name string, ignoreCase bool) *Field {
	f := n.Find(name, ignoreCase)
	if f == nil || f.Value.IsNull() {
		at, hint := n, ""
		if other := n.Find(name, true); f != nil {
			at = f.Key
		} else if other != nil {
			at, hint = other.Key, "write "+name
		}
		code := diag.UnknownKind // it only looks like a document of a family
		if d.kinds.hasGroup(groupOf(identify(n).apiVersion.Text())) {
			code = diag.Missing
		}
		d.Fail(at, code, hint, "the document has no %s", name)
		return nil
	}
	if f.Value.Type != String {
		d.Fail(f.Value, diag.WrongType, QuoteHint(f.Value), "%s must be a string, not %s", name, Describe(f.Value))
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
		if !k.dated {
			d.CheckUndated(n.Find("metadata", false).valueOrNil(), k.Name)
		}
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
	hint := diag.Meant(kind.Value.Value, known, "one of "+strings.Join(known, ", "))
	if sole := d.kinds.soleVersion(kind.Value.Value); sole != "" {
		hint = "write apiVersion: " + sole
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
	hint = diag.Meant(version.Value, versions, hint)
	d.Fail(version, diag.UnknownKind, hint, "kind %s of apiVersion %s is not known", Quote(kind), Quote(version.Value))
}

// list decodes the items of a List as documents.
func (d *Decoder) list(n *Node) {
	c := d.Cursor(n, "List", false)
	c.At = n.Find("kind", true).Key
	c.Skip("apiVersion", "kind", "metadata")
	items, _ := c.List("items")
	c.Done()
	for _, item := range items {
		d.decode(item)
	}
}

// Header begins the header of a document.
func (d *Decoder) Header(family, version, name string, kind *Node) Header {
	at := d.At(kind)
	return Header{
		Family: family, APIVersion: version, Kind: name, At: at, NameAt: at, Object: d.fields != nil,
		Export: d.ClusterExport, StrictRoutes: d.StrictRoutes, Bootstrap: d.Bootstrap,
	}
}

// Begin returns the header of a document of a kind, and the cursor of its members, without those
// that say its kind and others to skip.
func (d *Decoder) Begin(n *Node, kind *Field, family, version string, skip ...string) (Header, *Cursor) {
	h := d.Header(family, version, kind.Value.Value, kind.Key)
	c := d.Cursor(n, h.Kind, false)
	c.At = kind.Key
	c.Skip("apiVersion", "kind")
	c.Skip(skip...)
	return h, c
}

package syntax

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// Skipped is a document that belongs to no family. It is not policy, and nothing in it is
// checked beyond its syntax.
type Skipped struct {
	// At is the position of the kind, or of the first key or value without one.
	At     diag.Position
	Length int
	// APIVersion and Kind are as written, but shortened; a word that is absent is "".
	APIVersion, Kind string
}

// relation is how a document relates to the kinds of the families.
type relation int

const (
	foreign relation = iota
	// ours is a document that a family decodes, or that looks like a misspelt one.
	ours
	// listed is a List of documents.
	listed
)

// relatives are groups of other projects that come close to one of a family.
var relatives = []string{"gateway.networking.x-k8s.io", "gateway.solo.io"}

// maxSlip is the number of edits up to which a group is a misspelt group of a family.
const maxSlip = 2

// identity is what the top of a document says about its kind.
type identity struct {
	apiVersion, kind *Node // nil if absent or null
	// styled is set for a document with metadata, flat for one in the flat form.
	styled, flat bool
}

func identify(n *Node) identity {
	metadata := n.Find("metadata", false)
	id := identity{styled: metadata != nil && !metadata.Value.IsNull()}
	id.flat = !id.styled && n.Find("name", true) != nil
	id.apiVersion, id.kind = n.Present("apiVersion", id.flat), n.Present("kind", id.flat)
	return id
}

// Present returns the value of a name, or nil if it is absent or null.
func (n *Node) Present(name string, ignoreCase bool) *Node {
	if f := n.Find(name, ignoreCase); f != nil && !f.Value.IsNull() {
		return f.Value
	}
	return nil
}

// Text returns the text of a scalar, "" for other nodes and for nil.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.Value
}

// relate returns how a document relates to the kinds.
func (k Kinds) relate(n *Node) relation {
	switch n.Type {
	case Mapping:
		return k.relateMapping(n, identify(n))
	case List:
		if slices.ContainsFunc(n.Items, k.isOurs) {
			return ours
		}
	default: // a scalar is not a document of a family
	}
	return foreign
}

// isOurs reports whether a node would be a document of a family, or looks like one.
func (k Kinds) isOurs(n *Node) bool {
	switch k.relate(n) {
	case ours:
		return true
	case listed:
		return slices.ContainsFunc(n.Present("items", false).items(), k.isOurs)
	case foreign:
	}
	return false
}

// items returns the items of a list, nil for other nodes.
func (n *Node) items() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func (k Kinds) relateMapping(n *Node, id identity) relation {
	version, kind := id.apiVersion.Text(), id.kind.Text()
	if kind == "List" && (version == "v1" || id.apiVersion == nil && !id.styled) {
		return listed
	}
	group, _, versioned := strings.Cut(version, "/")
	if id.apiVersion == nil && k.hasOurVersion(n) {
		return ours
	}
	switch {
	case versioned && k.hasGroup(group):
		if k.skips(group, kind) {
			return foreign
		}
		return ours
	case slices.ContainsFunc(relatives, func(r string) bool { return Fold(r) == Fold(group) }):
		return foreign
	case k.isNearGroup(group),
		kind != "" && k.isMisplaced(kind, group, versioned),
		(version == "" || kind == "") && hasOurKey(n, id.flat),
		Fold(kind) == "list" && slices.ContainsFunc(n.Present("items", id.flat).items(), k.isOurs):
		return ours
	}
	return foreign
}

// groupOf returns the group of an API version.
func groupOf(version string) string {
	group, _, _ := strings.Cut(version, "/")
	return group
}

func (k Kinds) hasGroup(group string) bool {
	return slices.ContainsFunc(k, func(kind Kind) bool { return kind.APIVersion != "" && groupOf(kind.APIVersion) == group })
}

// hasOurVersion reports whether a mapping is a document of a family in any case of its keys, as JSON of a
// Go type without tags is.
func (k Kinds) hasOurVersion(n *Node) bool {
	group := groupOf(n.Present("apiVersion", true).Text())
	return k.hasGroup(group) && !k.skips(group, n.Present("kind", true).Text())
}

// isNearGroup reports whether a group is at most maxSlip edits from one of a family.
func (k Kinds) isNearGroup(group string) bool {
	for _, version := range k.versions() {
		known := groupOf(version)
		if difference := len(known) - len(group); max(difference, -difference) <= 4*maxSlip && diag.Edits(known, group) <= maxSlip {
			return true
		}
	}
	return false
}

// isMisplaced reports whether a kind is one of a family, and its group is missing or
// contains a word that belongs to the kind.
func (k Kinds) isMisplaced(kind, group string, versioned bool) bool {
	return slices.ContainsFunc(k, func(known Kind) bool {
		return known.Name != "" && Fold(known.Name) == Fold(kind) && known.APIVersion != "" &&
			(!versioned || slices.ContainsFunc(known.Words, func(word string) bool { return strings.Contains(Fold(group), word) }))
	})
}

// skips reports whether a kind of a group is registered as one that is not read.
func (k Kinds) skips(group, name string) bool {
	return slices.ContainsFunc(k, func(kind Kind) bool { return kind.SkippedIn == group && kind.Name == name })
}

// ownKeys are keys that only documents of a family have at the top.
var ownKeys = []string{"roleRef", "roleName", "userNames", "groupNames", "roleBindings", "policyRef"}

// ownLists are keys that documents of a family have at the top with a list.
var ownLists = []string{"rules", "subjects"}

// hasOurKey reports whether a mapping has a key of a family at its top.
func hasOurKey(n *Node, ignoreCase bool) bool {
	if slices.ContainsFunc(ownKeys, func(key string) bool { return n.Present(key, ignoreCase) != nil }) {
		return true
	}
	for _, key := range ownLists {
		if value := n.Present(key, ignoreCase); value != nil && value.Type == List {
			return true
		}
	}
	spec := n.Present("spec", ignoreCase)
	return spec != nil && spec.Present("targetRef", ignoreCase) != nil
}

// skip records a foreign document.
func (d *Decoder) skip(n *Node) {
	at := n
	s := Skipped{}
	if n.Type == Mapping {
		id := identify(n)
		s.APIVersion, _ = Shorten(id.apiVersion.Text())
		s.Kind, _ = Shorten(id.kind.Text())
		if f := n.Find("kind", id.flat); f != nil {
			at = f.Key
		} else if len(n.Fields) > 0 {
			at = n.Fields[0].Key
		}
	}
	s.At, s.Length = d.At(at), at.Length()
	d.Skipped = append(d.Skipped, s)
}

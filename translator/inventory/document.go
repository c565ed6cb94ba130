package inventory

import (
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

// family is the family of inventories.
const family = "inventory"

// document is an Inventory.
type document struct {
	syntax.Header
	Subjects, Resources []listedEntity
}

// listedEntity is one subject or resource.
type listedEntity struct {
	At   diag.Position // of the id
	Type string
	ID   string
	// Properties is a JSON object, nil without properties.
	Properties []byte
}

// PlaceOf returns the place of a subject or a resource in a directory, and whether it is
// listed there.
func PlaceOf(d *directory.Directory, isSubject bool, kind, id string) (diag.Position, bool) {
	for _, document := range directory.DocumentsOf[*document](d) {
		list := document.Resources
		if isSubject {
			list = document.Subjects
		}
		if i := slices.IndexFunc(list, func(e listedEntity) bool { return e.Type == kind && e.ID == id }); i >= 0 {
			return list[i].At, true
		}
	}
	return diag.Position{}, false
}

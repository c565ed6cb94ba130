package inventory

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// family is the family of inventories.
const family = "inventory"

// Inventory is a writ.dev/v1 Inventory.
type Inventory struct {
	syntax.Header
	Subjects, Resources []Entity
}

// Entity is one subject or resource.
type Entity struct {
	At   diag.Position // of the id
	Type string
	ID   string
	// Properties is a JSON object, nil without properties.
	Properties []byte
}

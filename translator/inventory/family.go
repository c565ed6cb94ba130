package inventory

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
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

// Family is the family of inventories.
type Family struct{}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Inventory) }

// claimed holds the position of each entity.
type claimed map[[2]string]diag.Position

func (c claimed) claim(d *directory.Directory, what string, entities []listedEntity) {
	for _, e := range entities {
		key := [2]string{e.Type, e.ID}
		first, repeated := c[key]
		if !repeated {
			c[key] = e.At
			continue
		}
		d.Duplicate(&syntax.Header{At: e.At}, &syntax.Header{At: first},
			fmt.Sprintf("%s %s of type %s is listed twice", what, syntax.Quote(e.ID), syntax.Quote(e.Type)))
	}
}

// Lower returns the table of the entities, and reports those that are listed twice.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	givenSubjects, givenResources := make(claimed), make(claimed)
	subjects, resources := make(entities), make(entities)
	for _, document := range directory.DocumentsOf[*document](d) {
		givenSubjects.claim(d, "subject", document.Subjects)
		givenResources.claim(d, "resource", document.Resources)
		subjects.add(document.Subjects)
		resources.add(document.Resources)
	}
	return &tables.Inventory{Subjects: subjects.table(), Resources: resources.table()}, nil
}

// entities holds the entities by type and id.
type entities map[string]map[string]tables.Entity

func (e entities) add(list []listedEntity) {
	for _, entity := range list {
		if e[entity.Type] == nil {
			e[entity.Type] = make(map[string]tables.Entity)
		}
		e[entity.Type][entity.ID] = tables.Entity{Properties: json.RawMessage(entity.Properties)}
	}
}

func (e entities) table() tables.Entities {
	byType := make(map[string]tables.Map[tables.Entity], len(e))
	for name, byID := range e {
		byType[name] = tables.MapOf(byID)
	}
	return tables.MapOf(byType)
}

// Emit returns nil: all of the table is data.
func (*Family) Emit(tables.Table, emit.Options) map[string][]byte { return nil }

package engine

import (
	"slices"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/tables"
)

// kubernetesVerbs are the verbs that every resource of Kubernetes may have.
var kubernetesVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// entities is what searches list.
type entities struct {
	inventory *tables.Inventory
	verbs     []string
}

// entitiesOf returns the inventory of a bundle, and the verbs of its footprint.
func entitiesOf(b *bundles.Bundle) entities {
	e := entities{inventory: tables.Of[*tables.Inventory](b.Tables), verbs: []string{"*"}}
	if e.inventory == nil {
		e.inventory = new(tables.Inventory)
	}
	if b.Footprint != nil {
		e.verbs = b.Footprint.Access.Verbs.Values
	}
	if slices.Contains(e.verbs, "*") {
		e.verbs = slices.Concat(e.verbs, kubernetesVerbs)
	}
	e.verbs = tables.Entries(slices.DeleteFunc(slices.Clone(e.verbs), func(verb string) bool { return verb == "*" }))
	return e
}

// OriginObjects implements decision.Policies.
func (e *Engine) OriginObjects(kind, namespace, name string) []tables.OriginObject {
	return e.access.OriginObjects(kind, namespace, name)
}

// Inventory implements decision.Policies.
func (e *Engine) Inventory() *tables.Inventory { return e.entities.inventory }

// ImpliesGroups implements decision.Policies.
func (e *Engine) ImpliesGroups() bool { return e.access.ImpliesGroups() }

// Verbs implements decision.Policies.
func (e *Engine) Verbs() []string { return e.entities.verbs }

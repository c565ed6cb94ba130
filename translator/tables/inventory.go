package tables

import "encoding/json"

// Inventory holds the subjects and resources that documents list. They decide nothing.
type Inventory struct {
	Subjects  Entities `json:"subjects"`
	Resources Entities `json:"resources"`
}

// Entities are entities by type and id.
type Entities = Map[Map[Entity]]

// Entity is one subject or resource.
type Entity struct {
	// Properties is a JSON object, nil without properties.
	Properties json.RawMessage `json:"properties,omitempty"`
}

// Key implements Table.
func (*Inventory) Key() string { return "inventory" }

// IsEmpty implements Table.
func (i *Inventory) IsEmpty() bool { return i.Subjects.Len()+i.Resources.Len() == 0 }

// Features implements Table.
func (*Inventory) Features() Features { return nil }

// Entrypoint is empty: no point reads an inventory.
func (*Inventory) Entrypoint() string { return "" }

// JSON implements Table.
func (i *Inventory) JSON() (Text, error) {
	out := i.Subjects.text(TextOf([]byte(`{"subjects":`)))
	out = i.Resources.text(out.with([]byte(`,"resources":`)))
	return out.with([]byte("}")), nil
}

// Package bell is a family of documents that exists only in tests, as a package of
// translator would hold it. Its documents list the users who may sound a bell, and its
// Rego answers requests at the point bell.
package bell

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

// bell is a document: the users who may sound the bell, and the bells that sound with it.
type bell struct {
	syntax.Header
	ringers []string
	with    []syntax.Text
}

// Table holds, by bell, who may sound it.
type Table struct {
	Ringers map[string][]string `json:"ringers"`
}

// Key implements tables.Table.
func (*Table) Key() string { return "bell_tables" }

// IsEmpty implements tables.Table.
func (t *Table) IsEmpty() bool { return len(t.Ringers) == 0 }

// Features implements tables.Table.
func (t *Table) Features() tables.Features { return tables.Features{"bells": !t.IsEmpty()} }

// Entrypoint implements tables.Table.
func (*Table) Entrypoint() string { return "compiled/bell/decision" }

// JSON implements tables.Table.
func (t *Table) JSON() (tables.Text, error) {
	text, err := json.Marshal(t)
	return tables.TextOf(text), err
}

// Family implements translator.Family.
type Family struct{ table *Table }

// Kinds implements translator.Family.
func (*Family) Kinds() syntax.Kinds { return syntax.KindsOf("example.com/v1", decode, "Bell") }

// NewTable implements translator.Family.
func (*Family) NewTable() tables.Table { return new(Table) }

func decode(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	b := &bell{Header: d.Header("bell", "example.com/v1", "Bell", kind.Key)}
	c := d.Cursor(n, "Bell", false)
	c.At = kind.Key
	c.Skip("apiVersion", "kind")
	if m := c.RequiredMapping("metadata", ""); m != nil {
		d.NameInto(m, &b.Header)
		m.Done()
	}
	if spec := c.RequiredMapping("spec", ""); spec != nil {
		ringers, _ := spec.Texts("ringers")
		for _, ringer := range ringers {
			b.ringers = append(b.ringers, ringer.Value)
		}
		with, _ := spec.Texts("with")
		for _, other := range with {
			b.with = append(b.with, d.Text(other))
		}
		spec.Done()
	}
	c.Done()
	d.Out = append(d.Out, b)
}

// Lower implements translator.Family.
func (f *Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	bells := directory.DocumentsOf[*bell](d)
	for _, b := range bells {
		for _, other := range b.with {
			if d.Find(directory.Identity{Family: "bell", Kind: "Bell", Name: other.Value}) == nil {
				d.List.Add(diag.Diagnostic{Position: other.At, Code: diag.DanglingRole, Message: fmt.Sprintf("bell %q is not declared", other.Value)})
			}
		}
	}
	f.table = &Table{Ringers: make(map[string][]string)}
	for _, b := range bells {
		f.table.Ringers[b.Name] = slices.Concat(f.table.Ringers[b.Name], b.ringers)
		for _, other := range b.with {
			f.table.Ringers[other.Value] = slices.Concat(f.table.Ringers[other.Value], b.ringers)
		}
	}
	return f.table, nil
}

// Emit implements translator.Family. Any user may sound the bell clock, whose
// decision has the time.
func (f *Family) Emit(tables.Table, emit.Options) map[string][]byte {
	return map[string][]byte{"compiled/bell/bell.rego": []byte(`package compiled.bell

default decision := {"allowed": false, "denied": false}

decision := {"error": {"code": "invalid_request", "message": "key \"bell\" must be a string"}} if {
	not is_string(object.get(input, "bell", null))
} else := {"allowed": true, "denied": false, "at": time.now_ns()} if {
	input.bell == "clock"
} else := {"allowed": true, "denied": false} if {
	some ringer in data.compiled.bell_tables.ringers[input.bell]
	ringer == input.user
}
`)}
}

package syntax

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
)

// objectKinds is a kind with a field of each sort.
func objectKinds() Kinds {
	return Kinds{{
		APIVersion: "test/v1", Name: "Thing",
		Decode: func(d *Decoder, n *Node, kind *Field) {
			c := d.Cursor(n, "a Thing", false)
			c.Skip("apiVersion", "kind")
			h := d.Header("test", "test/v1", "Thing", kind.Value)
			d.Out = append(d.Out, &h)
			if m := c.Mapping("metadata"); m != nil {
				d.NameInto(m, &h)
				m.Labels("labels")
				m.Done()
			}
			items, _ := c.List("items")
			for _, item := range items {
				d.Cursor(item, "an item", false).Done()
			}
			c.Done()
		},
	}}
}

func TestObjectsHaveFields(t *testing.T) {
	content := `{"apiVersion":"test/v1","extra":1,"items":[{},{"a.b":{}}],"kind":"Thing",` +
		`"metadata":{"labels":{"x/y":"- -"},"name":"n"}}`
	read := objectKinds().DecodeObject("kube:Thing/n", []byte(content), Options{})
	var got []string
	for _, d := range read.List {
		got = append(got, d.Position.String()+" "+string(d.Code))
	}
	want := []string{
		`kube:Thing/n:metadata.labels["x/y"] bad-value`, `kube:Thing/n:items[1]["a.b"] unknown-field`, "kube:Thing/n:extra unknown-field",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	documents := read.Documents
	if len(documents) != 1 || !documents[0].Meta().Object || documents[0].Meta().At.Source() != "kube:Thing/n" {
		t.Errorf("got %+v, want one object", documents)
	}
}

func TestObjectsThatAreNotReadable(t *testing.T) {
	for _, content := range []string{"", "null", "[", `{"apiVersion":"test/v1","a":1,"a":2}`, strings.Repeat("[", 200) + strings.Repeat("]", 200), "a: b", "[{\"apiVersion\":\"test/v1\"}]"} {
		list := objectKinds().DecodeObject("kube:Thing/n", []byte(content), Options{}).List
		if !list.HasErrors() || list[0].Source() != "kube:Thing/n" || list[0].Field != diag.WholeObject {
			t.Errorf("%q: got %v, want an error of the object", content, list)
		}
	}
}

package yaml

import (
	"fmt"

	"github.com/writ-policy/writ/tests/oracle/random"
)

// LayOut writes documents into one file, in random spelling, and returns its path.
func LayOut(r random.Source, n int, documents []Object) (string, string) {
	folder := r.One([]string{"", "", "roles/", "a/b/"})
	if r.Once(5) {
		p := &Printer{Source: r, File: fmt.Sprintf("%sf%d.json", folder, n)}
		p.JSON(listOf(documents), 0, r.Once(2))
		return p.File, p.Text.String()
	}
	p := &Printer{Source: r, File: fmt.Sprintf("%sf%d.%s", folder, n, r.One([]string{"yaml", "yml"}))}
	if r.Once(5) {
		p.document(listOf(documents))
		return p.File, p.Text.String()
	}
	if r.Once(3) {
		p.Text.WriteString("---\n")
	}
	for i, document := range documents {
		if i > 0 {
			p.Text.WriteString("---\n")
		}
		p.document(document)
	}
	return p.File, p.Text.String()
}

func listOf(documents []Object) Object {
	items := List{}
	for _, document := range documents {
		items = append(items, document)
	}
	return Object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}
}

// Texts returns the values as a list.
func Texts(values []string) List {
	out := List{}
	for _, value := range values {
		out = append(out, value)
	}
	return out
}

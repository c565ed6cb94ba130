package engine

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// columns holds the values of the visible items that aggregations read. Nothing else of
// the items is retained. A value that is missing or null is nil. Repeated texts share
// one term.
type columns struct {
	fields []tables.FieldRef
	values [][]*ast.Term // by column, then by item
	count  int
	bytes  int
	texts  map[string]*ast.Term
}

const (
	// maxColumns bounds the memory of one request's columns, in bytes.
	maxColumns = 128 << 20
	// maxInterned bounds the number of texts that share a term.
	maxInterned = 10_000
)

var errTooManyItems = errors.New("the visible items are too many to be aggregated")

func newColumns(fields []tables.FieldRef) *columns {
	return &columns{fields: fields, values: make([][]*ast.Term, len(fields)), texts: make(map[string]*ast.Term)}
}

func (c *columns) add(item *decision.Item) error {
	for i, column := range c.fields {
		term, err := c.term(column, item)
		if err != nil {
			return err
		}
		c.values[i] = append(c.values[i], term)
	}
	c.count++
	if c.bytes += 8 * len(c.fields); c.bytes > maxColumns {
		return errTooManyItems
	}
	return nil
}

func (c *columns) term(field tables.FieldRef, item *decision.Item) (*ast.Term, error) {
	var value any
	switch {
	case !field.Own:
		value = item.Fields[field.Name]
	case field.Name == "name" && item.Name != "":
		value = item.Name
	case field.Name == "namespace" && item.Namespace != "":
		value = item.Namespace
	}
	switch v := value.(type) {
	case nil:
		return nil, nil
	case bool:
		return ast.InternedTerm(v), nil
	case string:
		return c.text(v), nil
	case json.Number:
		c.bytes += 64
		return ast.NumberTerm(json.Number(strings.Clone(string(v)))), nil
	}
	v, err := ast.InterfaceToValue(value)
	if err != nil {
		return nil, err
	}
	c.bytes += 64 * sizeOf(value)
	return ast.NewTerm(v), nil
}

func (c *columns) text(text string) *ast.Term {
	if term, ok := c.texts[text]; ok {
		return term
	}
	text = strings.Clone(text) // otherwise the term would retain the whole line
	term := ast.StringTerm(text)
	c.bytes += 64 + len(text)
	if len(c.texts) < maxInterned {
		c.texts[text] = term
	}
	return term
}

// sizeOf estimates how many values a value consists of; a long text counts as several.
func sizeOf(value any) int {
	n := 1
	switch v := value.(type) {
	case string:
		n += len(v) / 64
	case []any:
		for _, element := range v {
			n += sizeOf(element)
		}
	case map[string]any:
		for key, element := range v {
			n += 2 + len(key)/64 + sizeOf(element)
		}
	}
	return n
}

// termText returns the text form of a column's value; false for lists and objects, which
// have none.
func termText(term *ast.Term) (string, bool) {
	switch v := term.Value.(type) {
	case ast.String:
		return string(v), true
	case ast.Boolean:
		return textForm(bool(v))
	case ast.Number:
		return textForm(json.Number(v))
	}
	return "", false
}

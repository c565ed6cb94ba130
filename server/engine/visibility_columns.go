package engine

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// columns are what aggregations read of the visible items: all that is kept of
// them. A value that is missing or null is nil. Texts that occur often are kept
// once.
type columns struct {
	read   []tables.FieldRef
	values [][]*ast.Term // by column, then by item
	count  int
	bytes  int
	texts  map[string]*ast.Term
}

const (
	// maxColumns bounds what one request's items may take in memory.
	maxColumns = 128 << 20
	// maxShared bounds what is remembered to be kept once.
	maxShared = 10_000
)

var errTooManyItems = errors.New("the visible items are too many to be aggregated")

func newColumns(read []tables.FieldRef) *columns {
	return &columns{read: read, values: make([][]*ast.Term, len(read)), texts: make(map[string]*ast.Term)}
}

func (c *columns) add(item *decision.Item) error {
	for i, column := range c.read {
		term, err := c.term(column, item)
		if err != nil {
			return err
		}
		c.values[i] = append(c.values[i], term)
	}
	c.count++
	if c.bytes += 8 * len(c.read); c.bytes > maxColumns {
		return errTooManyItems
	}
	return nil
}

func (c *columns) term(of tables.FieldRef, item *decision.Item) (*ast.Term, error) {
	var value any
	switch {
	case !of.Own:
		value = item.Fields[of.Name]
	case of.Name == "name" && item.Name != "":
		value = item.Name
	case of.Name == "namespace" && item.Namespace != "":
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
	c.bytes += 64 * weight(value)
	return ast.NewTerm(v), nil
}

func (c *columns) text(text string) *ast.Term {
	if term, ok := c.texts[text]; ok {
		return term
	}
	text = strings.Clone(text) // it is part of a whole line
	term := ast.StringTerm(text)
	c.bytes += 64 + len(text)
	if len(c.texts) < maxShared {
		c.texts[text] = term
	}
	return term
}

// weight is about how many values a value is made of, a long text as several.
func weight(value any) int {
	n := 1
	switch v := value.(type) {
	case string:
		n += len(v) / 64
	case []any:
		for _, element := range v {
			n += weight(element)
		}
	case map[string]any:
		for key, element := range v {
			n += 2 + len(key)/64 + weight(element)
		}
	}
	return n
}

// termText is the text form of a column's value; false for what has none.
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

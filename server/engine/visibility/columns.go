package visibility

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/internal/limits"
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
	bytes  int // in memory, approximately
	texts  map[string]*ast.Term

	limit   int // of bytes
	shared  *limits.Budget
	charged int // to shared
}

// Bytes that values take in memory, with what aggregations make of them.
const (
	cellBytes   = 48  // of each item in each column
	numberBytes = 128 // of a number, beside its digits
	textBytes   = 96  // of a text, beside its characters
	valueBytes  = 200 // of each value in an object or array
)

const (
	// defaultMaxColumns bounds what one request's items may take in memory.
	defaultMaxColumns = 96 << 20
	// chargeStep is by how much the charge to the shared budget grows.
	chargeStep = 256 << 10
	// maxInterned bounds the number of texts that share a term.
	maxInterned = 10_000
)

var (
	errTooManyItems = errors.New("the visible items are too many to be aggregated")
	errItemsInUse   = errors.New("the visible items of all requests are too many to be aggregated")
)

// newColumns returns columns of at most limit bytes, which are charged to shared until
// release.
func newColumns(fields []tables.FieldRef, limit int, shared *limits.Budget) *columns {
	return &columns{
		fields: fields, values: make([][]*ast.Term, len(fields)), texts: make(map[string]*ast.Term), limit: limit, shared: shared,
	}
}

// charge charges what was added. It returns an error if that is too much.
func (c *columns) charge() error {
	if c.bytes > c.limit {
		return errTooManyItems
	}
	if c.bytes <= c.charged {
		return nil
	}
	step := c.bytes - c.charged + chargeStep
	if !c.shared.Acquire(int64(step)) {
		return errItemsInUse
	}
	c.charged += step
	return nil
}

// release gives back what was charged. It may be called on nil.
func (c *columns) release() {
	if c != nil {
		c.shared.Release(int64(c.charged))
		c.charged = 0
	}
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
	c.bytes += cellBytes * len(c.fields)
	return c.charge()
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
		c.bytes += numberBytes + len(v)
		return ast.NumberTerm(json.Number(strings.Clone(string(v)))), nil
	}
	v, err := ast.InterfaceToValue(value)
	if err != nil {
		return nil, err
	}
	c.bytes += valueBytes * sizeOf(value)
	return ast.NewTerm(v), nil
}

func (c *columns) text(text string) *ast.Term {
	if term, ok := c.texts[text]; ok {
		return term
	}
	text = strings.Clone(text) // otherwise the term would retain the whole line
	term := ast.StringTerm(text)
	c.bytes += textBytes + len(text)
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

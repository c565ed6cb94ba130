package filter

import (
	"maps"
	"slices"
)

// Columns states where rows have what filters read: the member "columns" of a request. The
// zero value is not valid; see ParseColumns.
type Columns struct {
	name, namespace         *column // nil: no row has it
	labels, namespaceLabels *labelColumns
	fields                  *fieldColumns
	mapped                  map[string]bool
}

// column is where rows have a value.
type column struct {
	name []string // the column, or its table and the column
	// notNull and exact are promises of the caller: the column has no NULL, and compares
	// byte by byte.
	notNull, exact bool
	kind           fieldType
	isJSON         bool   // the column has a JSON array
	key            string // the member of a JSON object in the column; empty without one
}

// fieldType is the type of a field.
type fieldType string

const (
	textType    fieldType = "text"
	integerType fieldType = "integer"
	numberType  fieldType = "number"
	booleanType fieldType = "boolean"
)

// labelColumns is where rows have labels: in a JSON object, or in a column for each key. A
// key without a column, which is nil, is on no row.
type labelColumns struct {
	json    []string
	columns map[string]*column
}

type fieldColumns struct {
	json    []string
	types   map[string]fieldType
	columns map[string]*column
}

// ColumnsError is the error of a member that is malformed.
type ColumnsError struct{ Field, Message string }

func (e *ColumnsError) Error() string { return e.Field + " " + e.Message }

// reader reads the member "columns". The first problem is kept.
type reader struct{ err *ColumnsError }

func (r *reader) refuse(at, message string) {
	if r.err == nil {
		r.err = &ColumnsError{at, message}
	}
}

// object returns the members of an object with known keys.
func (r *reader) object(at string, value any, known ...string) map[string]any {
	object, ok := value.(map[string]any)
	if !ok {
		r.refuse(at, "must be an object")
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if known != nil && !slices.Contains(known, key) {
			r.refuse(at+"."+key, "is not a known key")
		}
	}
	return object
}

// identifier reads the name of a column, or a list of a table and a column.
func (r *reader) identifier(at string, value any) []string {
	var parts []string
	switch v := value.(type) {
	case string:
		parts = []string{v}
	case []any:
		for _, part := range v {
			text, _ := part.(string)
			parts = append(parts, text)
		}
		if len(parts) != 2 {
			parts = nil
		}
	}
	for _, part := range parts {
		if part == "" || slices.Contains([]byte(part), 0) {
			parts = nil
			break
		}
	}
	if parts == nil {
		r.refuse(at, "must be the name of a column, or a list of a table and a column")
	}
	return parts
}

func (r *reader) boolean(at string, value any) bool {
	b, ok := value.(bool)
	if !ok {
		r.refuse(at, "must be a boolean")
	}
	return b
}

func (r *reader) fieldType(at string, value any) fieldType {
	text, _ := value.(string)
	switch t := fieldType(text); t {
	case textType, integerType, numberType, booleanType:
		return t
	}
	r.refuse(at, "must be text, integer, number or boolean")
	return textType
}

// textColumn reads the column of a name or a namespace, nil for null.
func (r *reader) textColumn(at string, value any) *column {
	object, isObject := value.(map[string]any)
	switch {
	case value == nil:
		return nil
	case !isObject:
		return &column{name: r.identifier(at, value), kind: textType}
	}
	r.object(at, value, "column", "nullable", "exact")
	c := &column{name: r.identifier(at+".column", object["column"]), kind: textType}
	if nullable, ok := object["nullable"]; ok {
		c.notNull = !r.boolean(at+".nullable", nullable)
	}
	if exact, ok := object["exact"]; ok {
		c.exact = r.boolean(at+".exact", exact)
	}
	return c
}

// labelColumns reads where rows have labels. null is an empty list of columns in which no
// key is known: no row has them.
func (r *reader) labelColumns(at string, value any) *labelColumns {
	if value == nil {
		return &labelColumns{}
	}
	object := r.object(at, value, "json", "columns")
	if len(object) != 1 {
		r.refuse(at, `must have one of "json" and "columns"`)
		return &labelColumns{}
	}
	if json, ok := object["json"]; ok {
		return &labelColumns{json: r.identifier(at+".json", json)}
	}
	out := &labelColumns{columns: map[string]*column{}}
	for key, value := range r.object(at+".columns", object["columns"]) {
		if out.columns[key] = nil; value != nil {
			out.columns[key] = &column{name: r.identifier(at+".columns."+key, value), kind: textType}
		}
	}
	return out
}

func (r *reader) fieldColumns(at string, value any) *fieldColumns {
	if value == nil {
		return nil
	}
	object := r.object(at, value, "json", "types", "columns")
	out := &fieldColumns{types: map[string]fieldType{}, columns: map[string]*column{}}
	_, isJSON := object["json"]
	if _, hasColumns := object["columns"]; isJSON == hasColumns {
		r.refuse(at, `must have one of "json" and "columns"`)
		return out
	}
	if isJSON {
		out.json = r.identifier(at+".json", object["json"])
		if types, ok := object["types"]; ok {
			for key, value := range r.object(at+".types", types) {
				if value == nil {
					out.columns[key] = nil
				} else {
					out.types[key] = r.fieldType(at+".types."+key, value)
				}
			}
		}
		return out
	}
	if _, ok := object["types"]; ok {
		r.refuse(at+".types", `belongs beside "json"`)
	}
	for key, value := range r.object(at+".columns", object["columns"]) {
		out.columns[key] = r.fieldColumn(at+".columns."+key, value)
	}
	return out
}

func (r *reader) fieldColumn(at string, value any) *column {
	object, isObject := value.(map[string]any)
	switch {
	case value == nil:
		return nil
	case !isObject:
		return &column{name: r.identifier(at, value), kind: textType}
	}
	r.object(at, value, "column", "type", "json")
	if json, ok := object["json"]; ok {
		if len(object) != 1 {
			r.refuse(at, `must have nothing beside "json"`)
		}
		return &column{name: r.identifier(at+".json", json), isJSON: true}
	}
	c := &column{name: r.identifier(at+".column", object["column"]), kind: textType}
	if kind, ok := object["type"]; ok {
		c.kind = r.fieldType(at+".type", kind)
	}
	return c
}

// ParseColumns reads the member "columns" of a request, nil where it has none. The error
// names the member that is malformed.
func ParseColumns(value any) (*Columns, *ColumnsError) {
	r, c := new(reader), &Columns{
		name: &column{name: []string{"name"}, kind: textType}, namespace: &column{name: []string{"namespace"}, kind: textType},
		labels: &labelColumns{json: []string{"labels"}}, mapped: map[string]bool{"name": true, "namespace": true, "labels": true},
	}
	if value == nil {
		return c, nil
	}
	for key, value := range r.object("columns", value, "name", "namespace", "labels", "namespaceLabels", "fields") {
		c.mapped[key] = true
		switch at := "columns." + key; key {
		case "name":
			c.name = r.textColumn(at, value)
		case "namespace":
			c.namespace = r.textColumn(at, value)
		case "labels":
			c.labels = r.labelColumns(at, value)
		case "namespaceLabels":
			c.namespaceLabels = r.labelColumns(at, value)
		case "fields":
			c.fields = r.fieldColumns(at, value)
		}
	}
	return c, r.err
}

// plainColumns are those of a row whose members have the names of a request, as the objects
// of an API server and the items of an expression.
func (c *Columns) plain() *Columns {
	out, _ := ParseColumns(nil)
	out.namespaceLabels, out.mapped["namespaceLabels"] = &labelColumns{json: []string{"namespaceLabels"}}, true
	if c != nil {
		out.fields, out.mapped["fields"] = c.fields, c.mapped["fields"]
	}
	return out
}

// of returns the column of an attribute; mapped is false if the caller has not stated where
// it is, and the column is nil if no row has it.
func (c *Columns) of(a attribute, key string) (found *column, mapped bool) {
	switch a.kind {
	case nameAttribute:
		return c.name, true
	case namespaceAttribute:
		return c.namespace, true
	case labelsAttribute:
		return c.label("labels", c.labels, key)
	case namespaceLabelsAttribute:
		return c.label("namespaceLabels", c.namespaceLabels, key)
	case fieldAttribute:
		switch {
		case c.fields == nil:
			return nil, c.mapped["fields"]
		case c.fields.json == nil:
			found, mapped = c.fields.columns[a.key]
			return found, mapped
		}
		if _, isNull := c.fields.columns[a.key]; isNull {
			return nil, true
		}
		kind, ok := c.fields.types[a.key]
		isList := a.key == availableIn || a.key == roles
		if a.key == displayName && !ok {
			kind, ok = textType, true
		}
		return &column{name: c.fields.json, kind: kind, key: a.key, isJSON: isList}, ok || isList
	case elementAttribute:
		return &column{kind: textType}, true
	case noAttribute:
	}
	return nil, true
}

// label returns where a label is; of a JSON object, the column of all.
func (c *Columns) label(member string, l *labelColumns, key string) (*column, bool) {
	switch {
	case l == nil:
		return nil, c.mapped[member]
	case l.json != nil:
		return &column{name: l.json, isJSON: true, key: key}, true
	case l.columns == nil:
		return nil, true
	}
	found, ok := l.columns[key]
	return found, ok
}

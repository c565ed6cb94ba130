package openapi

import (
	"cmp"
	"encoding"
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
)

// schemaSet makes the schemas of a document.
type schemaSet struct {
	// named are the schemas of schemas.yaml and of package rego, and those of Go types.
	named map[string]any
	// types are the names of those made from Go types; it is empty before the first.
	types map[reflect.Type]string
	// wanted are the names that the document refers to.
	wanted map[string]bool
}

// schema returns the schema that an Operation states.
func (s *schemaSet) schema(v any) map[string]any {
	switch v := v.(type) {
	case Name:
		return s.reference(string(v))
	case Partial:
		properties := map[string]any{}
		s.fields(reflect.TypeOf(v.Of), properties, new([]any))
		return map[string]any{"type": "object", "properties": properties}
	}
	return s.of(reflect.TypeOf(v))
}

const referencePrefix = "#/components/schemas/"

func (s *schemaSet) reference(name string) map[string]any {
	schema, ok := s.named[name]
	if !ok {
		panic("openapi: no schema has the name " + name)
	}
	if s.wanted == nil {
		s.wanted = make(map[string]bool)
	}
	if !s.wanted[name] {
		s.wanted[name] = true
		s.want(schema)
	}
	return map[string]any{"$ref": referencePrefix + name}
}

// want marks the names that a schema refers to.
func (s *schemaSet) want(schema any) {
	switch schema := schema.(type) {
	case map[string]any:
		for key, value := range schema {
			if text, ok := value.(string); ok && key == "$ref" {
				s.reference(strings.TrimPrefix(text, referencePrefix))
			}
			s.want(value)
		}
	case []any:
		for _, element := range schema {
			s.want(element)
		}
	}
}

// used returns the schemas that the document refers to.
func (s *schemaSet) used() map[string]any {
	used := make(map[string]any, len(s.wanted))
	for name := range s.wanted {
		used[name] = s.named[name]
	}
	return used
}

// of returns the schema of what encoding/json writes for values of a type. A type with
// MarshalJSON must have the form of its fields.
func (s *schemaSet) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

// object returns a reference to the schema of a struct, or the schema if the type has no
// name.
func (s *schemaSet) object(t reflect.Type) map[string]any {
	if name, ok := s.types[t]; ok {
		return s.reference(name)
	}
	schema := map[string]any{"type": "object"}
	if t.Name() != "" {
		s.name(t, schema)
	}
	properties, required := map[string]any{}, []any{}
	s.fields(t, properties, &required)
	schema["properties"] = properties
	if len(required) > 0 {
		schema["required"] = required
	}
	if t.Name() == "" {
		return schema
	}
	return s.reference(s.types[t])
}

// name enters the schema of a type by the type's name without a suffix JSON, or that of its
// package; with both if another schema has the name.
func (s *schemaSet) name(t reflect.Type, schema map[string]any) {
	title := func(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
	in := title(path.Base(t.PkgPath()))
	name := in
	if own := strings.TrimSuffix(t.Name(), "JSON"); own != "" {
		name = title(own)
	}
	if _, taken := s.named[name]; taken {
		name = in + name
	}
	if s.types == nil {
		s.types = make(map[reflect.Type]string)
	}
	s.types[t], s.named[name] = name, schema
}

// fields adds the fields of a struct.
func (s *schemaSet) fields(t reflect.Type, properties map[string]any, required *[]any) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			s.embedded(f.Type, properties, required)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		name = cmp.Or(name, f.Name)
		schema := s.of(f.Type)
		if !slices.Contains(strings.Split(options, ","), "omitempty") && !slices.Contains(strings.Split(options, ","), "omitzero") {
			*required = append(*required, name)
			if f.Type.Kind() == reflect.Pointer {
				schema = map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
			}
		}
		properties[name] = schema
	}
}

// embedded adds the fields of an embedded struct; those of a pointer may be absent.
func (s *schemaSet) embedded(t reflect.Type, properties map[string]any, required *[]any) {
	if t.Kind() == reflect.Pointer {
		t, required = t.Elem(), new([]any)
	}
	s.fields(t, properties, required)
}

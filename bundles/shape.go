package bundles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// maxDepth bounds how deep JSON of a bundle may nest.
const maxDepth = 64

// checkShape refuses JSON that encoding/json and OPA would read differently, or
// whose meaning this version does not know: an object's key twice, a key that is
// a field's name but for case, a key of no field. Keys of free objects have to be
// sorted, as writ and OPA both write them; that makes a second one of a name
// visible without remembering all.
func checkShape(content []byte, like any) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	s := shape{decoder: decoder, fields: map[reflect.Type]map[string]reflect.Type{}}
	return s.value(reflect.TypeOf(like), 0)
}

type shape struct {
	decoder *json.Decoder
	fields  map[reflect.Type]map[string]reflect.Type
}

func (s *shape) value(t reflect.Type, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := s.decoder.Token()
	if err != nil {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case json.Delim('{'):
		return s.object(t, depth)
	case json.Delim('['):
		for s.decoder.More() {
			if err := s.value(element(t), depth+1); err != nil {
				return err
			}
		}
		_, err = s.decoder.Token()
		return err
	}
	return nil
}

func (s *shape) object(t reflect.Type, depth int) error {
	var known map[string]reflect.Type
	var seen map[string]bool
	if t != nil && t.Kind() == reflect.Struct {
		known, seen = s.fieldsOf(t), map[string]bool{}
	}
	last, first := "", true
	for s.decoder.More() {
		token, err := s.decoder.Token()
		if err != nil {
			return err
		}
		key := token.(string)
		inner := element(t)
		switch field, ok := known[key]; {
		case known != nil && !ok:
			return fmt.Errorf("unknown key %q", key)
		case known != nil && seen[key], known == nil && !first && key == last:
			return fmt.Errorf("key %q twice", key)
		case known == nil && !first && key < last:
			return fmt.Errorf("key %q: keys are not sorted", key)
		case known != nil:
			seen[key] = true
			inner = field
		}
		last, first = key, false
		if err := s.value(inner, depth+1); err != nil {
			return err
		}
	}
	_, err := s.decoder.Token()
	return err
}

// fieldsOf is the JSON names of a struct's fields with their types.
func (s *shape) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := s.fields[t]; ok {
		return known
	}
	known := make(map[string]reflect.Type)
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[name] = field.Type
	}
	s.fields[t] = known
	return known
}

// element is what is inside a map or list; nil, which allows anything, inside
// what is not typed.
func element(t reflect.Type) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Map, reflect.Slice:
		return t.Elem()
	}
	return nil
}

package bundles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// maxDepth bounds how deep JSON of a bundle may nest.
const maxDepth = 64

// decodeStrictly reads one JSON value into the struct to points to, numbers of
// free values as json.Number. It refuses what encoding/json and OPA would read
// differently, or whose meaning this version does not know: an object's key
// twice, a key that is a field's name but for case, a key of no field. Keys of
// free objects have to be sorted, as writ and OPA both write them; that makes a
// second one of a name visible without remembering all.
func decodeStrictly(content []byte, to any) error {
	if err := decodeValue(content, to); err != nil {
		return err
	}
	s := shape{rest: content, fields: map[reflect.Type]map[string]reflect.Type{}}
	return s.value(reflect.TypeOf(to), 0)
}

// decodeValue reads one JSON value, numbers of free values as json.Number.
func decodeValue(content []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := decoder.Decode(to); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// shape walks over JSON that is known to be well-formed. That saves reading
// every token a second time, which takes longer than all else.
type shape struct {
	rest   []byte
	fields map[reflect.Type]map[string]reflect.Type
}

// next is the first byte that is not white space.
func (s *shape) next() byte {
	s.rest = bytes.TrimLeft(s.rest, " \t\r\n")
	return s.rest[0]
}

// value walks over one value, which goes into t; nil allows anything.
func (s *shape) value(t reflect.Type, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	t = formOf(t)
	switch s.next() {
	case '{':
		return s.object(t, depth)
	case '[':
		return s.list(t, depth)
	case '"':
		s.text()
	default: // a number or a word
		end := bytes.IndexAny(s.rest, " \t\r\n,]}")
		if end < 0 {
			end = len(s.rest)
		}
		s.rest = s.rest[end:]
	}
	return nil
}

func (s *shape) list(t reflect.Type, depth int) error {
	for s.rest = s.rest[1:]; s.next() != ']'; {
		if err := s.value(element(t), depth+1); err != nil {
			return err
		}
		if s.next() == ',' {
			s.rest = s.rest[1:]
		}
	}
	s.rest = s.rest[1:]
	return nil
}

func (s *shape) object(t reflect.Type, depth int) error {
	keys := order{}
	if t != nil && t.Kind() == reflect.Struct {
		keys.known = s.fieldsOf(t)
		keys.seen = make([]string, 0, len(keys.known))
	}
	inner := element(t)
	for s.rest = s.rest[1:]; s.next() != '}'; {
		key := s.text()
		if err := keys.take(key); err != nil {
			return err
		}
		if keys.known != nil {
			inner = keys.known[key]
		}
		s.next()
		s.rest = s.rest[1:] // the colon
		if err := s.value(inner, depth+1); err != nil {
			return err
		}
		if s.next() == ',' {
			s.rest = s.rest[1:]
		}
	}
	s.rest = s.rest[1:]
	return nil
}

// text walks over a string and is what it says.
func (s *shape) text() string {
	end := 1
	for s.rest[end] != '"' {
		if s.rest[end] == '\\' {
			end++
		}
		end++
	}
	quoted := s.rest[:end+1]
	s.rest = s.rest[end+1:]
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:end])
	}
	var plain string
	_ = json.Unmarshal(quoted, &plain) // well-formed, as all of it
	return plain
}

// order holds the keys of one object to what they may be.
type order struct {
	known map[string]reflect.Type // of a struct; nil: free
	seen  []string                // of a struct's keys
	last  string
	begun bool
}

func (o *order) take(key string) error {
	if o.known == nil {
		last, begun := o.last, o.begun
		o.last, o.begun = key, true
		switch {
		case begun && key == last:
			return fmt.Errorf("key %q twice", key)
		case begun && key < last:
			return fmt.Errorf("key %q: keys are not sorted", key)
		}
		return nil
	}
	if _, ok := o.known[key]; !ok {
		return fmt.Errorf("unknown key %q", key)
	}
	for _, seen := range o.seen {
		if seen == key {
			return fmt.Errorf("key %q twice", key)
		}
	}
	o.seen = append(o.seen, key)
	return nil
}

// fieldsOf is the JSON names of a struct's fields with their types.
func (s *shape) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := s.fields[t]; ok {
		return known
	}
	known := make(map[string]reflect.Type)
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" {
			known[name] = field.Type
		}
	}
	s.fields[t] = known
	return known
}

// formOf is the type whose JSON a type has.
func formOf(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && t.Implements(reflect.TypeFor[interface{ Form() reflect.Type }]()) {
		return reflect.Zero(t).Interface().(interface{ Form() reflect.Type }).Form()
	}
	return t
}

// element is what is inside a map or list; nil inside what is not typed.
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

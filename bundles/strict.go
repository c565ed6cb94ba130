package bundles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	kubejson "sigs.k8s.io/json"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/jsontext"
	"github.com/writ-policy/writ/translator/tables"
)

// maxDepth bounds how deep JSON of a bundle may nest.
const maxDepth = 64

// checkJSON rejects what encoding/json and OPA would read differently: a key twice,
// invalid UTF-8, half of a surrogate pair, a second value.
func checkJSON(content []byte) error {
	if err := jsontext.Check(content, jsontext.Limits{Depth: maxDepth, LongNumbers: true}); err != nil {
		return err
	}
	return nil
}

// decodeStrict decodes JSON into the struct to points to. Names of fields are
// case-sensitive, and an unknown one is an error.
func decodeStrict(content []byte, to any) error {
	if err := checkJSON(content); err != nil {
		return err
	}
	strict, err := kubejson.UnmarshalStrict(content, to)
	return errors.Join(append(strict, err)...)
}

// decodeTables decodes the tables of a bundle as strictly. It uses encoding/json,
// because free values (parameters, values of gateway rules) must keep the digits of
// their numbers, and checks the names of fields beforehand.
func decodeTables(content []byte) (tables.List, tables.Features, error) {
	if err := checkJSON(content); err != nil {
		return nil, nil, err
	}
	if content = bytes.TrimSpace(content); content[0] != '{' {
		return nil, nil, errors.New("must be an object")
	}
	data := maps.Collect(jsontext.Members(content))
	all := translator.Tables()
	var list tables.List
	for _, table := range all {
		key := table.Key()
		if key == "" {
			continue
		}
		text := data[key]
		delete(data, key)
		if len(text) == 0 || string(text) == "null" {
			continue
		}
		if err := decodeTable(text, table); err != nil {
			return nil, nil, err
		}
		list = append(list, table)
	}
	features, err := decodeFeatures(data[tables.FeaturesKey], all.Features())
	if err != nil {
		return nil, nil, err
	}
	delete(data, tables.FeaturesKey)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		return nil, nil, fmt.Errorf("unknown field %q", key)
	}
	if tables.Of[*tables.Access](list) == nil {
		return nil, nil, errors.New("no access tables")
	}
	return list, features, nil
}

func decodeTable(content []byte, table tables.Table) error {
	names := fieldNames{content: content, tokens: jsontext.TokensOf(content), fields: map[reflect.Type]map[string]reflect.Type{}}
	if err := names.check(names.tokens.Next(), reflect.TypeOf(table)); err != nil {
		return err
	}
	return decodeValue(content, table)
}

// decodeFootprint returns nil without content, and for a footprint of another version.
func decodeFootprint(content []byte) (*footprint.Footprint, error) {
	if len(content) == 0 {
		return nil, nil
	}
	var other struct {
		Version int `json:"version"`
	}
	if err := decodeValue(content, &other); err != nil {
		return nil, err
	}
	if other.Version != footprint.Version {
		return nil, checkJSON(content)
	}
	f := new(footprint.Footprint)
	if err := decodeStrict(content, f); err != nil {
		return nil, err
	}
	return f, nil
}

// decodeFeatures returns an error if a feature is not among the known ones. The features
// are nil without content.
func decodeFeatures(content []byte, known tables.Features) (features tables.Features, err error) {
	if len(content) == 0 {
		return nil, nil
	}
	if err := decodeValue(content, &features); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(features)) {
		if _, ok := known[name]; !ok {
			return nil, fmt.Errorf("unknown field %q", name)
		}
	}
	return features, nil
}

// decodeValue decodes one JSON value, numbers of free values as json.Number.
func decodeValue(content []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	return decoder.Decode(to)
}

// fieldNames checks that each object that is decoded into a struct has only keys
// that are exactly names of its fields: encoding/json ignores case.
type fieldNames struct {
	content []byte
	tokens  *jsontext.Tokens
	fields  map[reflect.Type]map[string]reflect.Type // by struct
}

// check checks the value that begins with token and is decoded into t; nil is any type.
func (f *fieldNames) check(token jsontext.Token, t reflect.Type) error {
	t = formOf(t)
	switch token.Kind {
	case '{':
		return f.object(t)
	case '[':
		for token = f.tokens.Next(); token.Kind != ']'; token = f.tokens.Next() {
			if err := f.check(token, element(t)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fieldNames) object(t reflect.Type) error {
	var known map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		known = f.of(t)
	}
	inner := element(t)
	for key := f.tokens.Next(); key.Kind != '}'; key = f.tokens.Next() {
		if known != nil {
			var ok bool
			// A name that is written with escapes is not a field's.
			if inner, ok = known[string(f.content[key.Start+1:key.End-1])]; !ok {
				return fmt.Errorf("unknown field %q", f.tokens.Text(key))
			}
		}
		if err := f.check(f.tokens.Next(), inner); err != nil {
			return err
		}
	}
	return nil
}

// of returns the types of a struct's fields by their JSON names.
func (f *fieldNames) of(t reflect.Type) map[string]reflect.Type {
	if known, ok := f.fields[t]; ok {
		return known
	}
	known := make(map[string]reflect.Type)
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" {
			known[name] = field.Type
		}
	}
	f.fields[t] = known
	return known
}

// formOf returns the type whose JSON form t has.
func formOf(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && t.Implements(reflect.TypeFor[interface{ Form() reflect.Type }]()) {
		return reflect.Zero(t).Interface().(interface{ Form() reflect.Type }).Form()
	}
	return t
}

// element returns the type of a map's or list's values; nil if t is neither.
func element(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Map && t.Kind() != reflect.Slice {
		return nil
	}
	return t.Elem()
}

package bundles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	kubejson "sigs.k8s.io/json"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// maxDepth bounds how deep JSON of a bundle may nest.
const maxDepth = 64

// checkJSON rejects what encoding/json and OPA would read differently: a key twice,
// invalid UTF-8, half of a surrogate pair, a second value.
func checkJSON(content []byte) error { return checkBelow(content, 0) }

// checkBelow is checkJSON for what stands in so many objects.
func checkBelow(content []byte, depth int) error {
	if err := jsontext.Check(content, jsontext.Limits{Depth: maxDepth - depth, LongNumbers: true}); err != nil {
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

// decodeTables decodes the tables of a bundle as strictly.
func decodeTables(d *dataFile) (tables.List, tables.Features, error) {
	if d.object != nil {
		if data, err := d.members(); err == nil {
			if list, features, err := decodeMembers(data, d.groups); err == nil {
				return list, features, nil
			}
		}
	}
	content := d.text.Bytes() // the error is that of the whole text
	if err := checkJSON(content); err != nil {
		return nil, nil, err
	}
	if content = bytes.TrimSpace(content); content[0] != '{' {
		return nil, nil, errors.New("must be an object")
	}
	data := make(map[string]dataMember)
	for key, text := range jsontext.Members(content) {
		data[key] = dataMember{text: text}
	}
	return decodeMembers(data, nil)
}

// dataMember is a member of the data: a text, or a large object.
type dataMember struct {
	text   []byte
	object *jsontext.Object
}

// members returns the members of the data.
func (d *dataFile) members() (map[string]dataMember, error) {
	data := make(map[string]dataMember)
	for i := range d.object.Members {
		m := &d.object.Members[i]
		if m.Object != nil {
			data[m.First] = dataMember{object: m.Object}
			continue
		}
		object, err := d.groups()(m)
		if err != nil {
			return nil, err
		}
		for key, text := range jsontext.Members(object) {
			data[key] = dataMember{text: text}
		}
	}
	return data, nil
}

// decodeMembers decodes the members of the data.
func decodeMembers(data map[string]dataMember, groups tables.Groups) (tables.List, tables.Features, error) {
	all := translator.Tables()
	var list tables.List
	for _, table := range all {
		key := table.Key()
		if key == "" {
			continue
		}
		m := data[key]
		delete(data, key)
		var err error
		switch {
		case m.object != nil:
			err = tables.DecodeObject(m.object, groups, table)
		case len(m.text) == 0 || string(m.text) == "null":
			continue
		default:
			err = tables.Decode(m.text, table)
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, table)
	}
	if data[tables.FeaturesKey].object != nil {
		return nil, nil, errors.New("features are read whole")
	}
	features, err := decodeFeatures(data[tables.FeaturesKey].text, all.Features())
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

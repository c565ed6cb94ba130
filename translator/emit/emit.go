// Package emit turns lowered tables into the files of a bundle: data, Rego and
// generated tests. It decides nothing and knows no family's meaning: equal
// tables give equal bytes.
package emit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/writ-policy/writ/translator/document"
	"github.com/writ-policy/writ/translator/lower"
)

// DataPath is the path of the compiled data in a bundle.
const DataPath = "compiled/data.json"

// Options say what is emitted. The zero value emits what decides and no tests.
type Options struct {
	// Tests adds generated tests, one file a role, for the first TestedRoles
	// roles that are bound.
	Tests bool
}

// Emit returns the files by their path in the bundle. The error is of values
// JSON cannot hold, which a decoder never lets in.
func Emit(tables *lower.Tables, extensions []*document.Extension, o Options) (map[string][]byte, error) {
	files := make(map[string][]byte)
	data, err := compiledData(tables)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", DataPath, err)
	}
	files[DataPath] = data
	maps.Copy(files, accessFiles(tables.Access, o))
	maps.Copy(files, extensionFiles(extensions))
	maps.Copy(files, denyFiles(tables.Deny, o))
	maps.Copy(files, visibilityFiles(tables.Visibility, o))
	maps.Copy(files, gatewayFiles(tables.Gateway, o))
	return files, nil
}

// compiledData returns data.compiled with sorted keys. A family without documents
// has no table. The tables of visibility and gateway are called views and effective,
// because data cannot have the name of a package, and compiled.visibility and
// compiled.gateway are the packages of their generated rules.
func compiledData(tables *lower.Tables) ([]byte, error) {
	parts := append([][]byte{[]byte(`{"access":`)}, tables.Access.JSON()...)
	add := func(key string, table any) error {
		text, err := marshal(table)
		parts = append(parts, []byte(`,"`+key+`":`), bytes.TrimSpace(text))
		return err
	}
	var err error
	features := tables.Features()
	if features.Gateway {
		err = add("effective", tables.Gateway)
	}
	err = errors.Join(err, add("features", features))
	if features.Visibility {
		err = errors.Join(err, add("views", tables.Visibility))
	}
	return bytes.Join(append(parts, []byte("}\n")), nil), err
}

// marshal is JSON with sorted keys, a line end, and text as it is written.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

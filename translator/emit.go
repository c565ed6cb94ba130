package translator

import (
	"bytes"
	"errors"
	"fmt"
	"maps"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/gateway"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/visibility"
)

// dataPath is the path of the compiled data in a bundle.
const dataPath = "compiled/data.json"

// emitFiles returns the files by their path in the bundle. The error is of values
// JSON cannot hold, which a decoder never lets in.
func emitFiles(lowered *tables.Tables, extensions []*extension.Extension, o emit.Options) (map[string][]byte, error) {
	files := make(map[string][]byte)
	data, err := compiledData(lowered)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", dataPath, err)
	}
	files[dataPath] = data
	maps.Copy(files, access.Emit(lowered.Access, o))
	maps.Copy(files, extension.Emit(extensions))
	maps.Copy(files, deny.Emit(lowered.Deny, o))
	maps.Copy(files, visibility.Emit(lowered.Visibility, o))
	maps.Copy(files, gateway.Emit(lowered.Gateway, o))
	return files, nil
}

// compiledData returns data.compiled with sorted keys. A family without documents
// has no table. The tables of visibility and gateway are called views and effective,
// because data cannot have the name of a package, and compiled.visibility and
// compiled.gateway are the packages of their generated rules.
func compiledData(lowered *tables.Tables) ([]byte, error) {
	parts := append([][]byte{[]byte(`{"access":`)}, lowered.Access.JSON()...)
	add := func(key string, table any) error {
		text, err := emit.Marshal(table)
		parts = append(parts, []byte(`,"`+key+`":`), bytes.TrimSpace(text))
		return err
	}
	var err error
	features := lowered.Features()
	if features.Gateway {
		err = add("effective", lowered.Gateway)
	}
	err = errors.Join(err, add("features", features))
	if features.Visibility {
		err = errors.Join(err, add("visibility_tables", lowered.Visibility))
	}
	return bytes.Join(append(parts, []byte("}\n")), nil), err
}

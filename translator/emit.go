package translator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// dataPath is the path of the compiled data in a bundle.
const dataPath = "compiled/data.json"

// emit returns the files by their path in the bundle, and the footprint that is among
// them. The error is of values JSON cannot hold, which a decoder never lets in.
func (p *phases) emit(lowered tables.List, o emit.Options) (map[string][]byte, *footprint.Footprint, error) {
	files := make(map[string][]byte)
	data, err := CompiledData(lowered, lowered.Features())
	if err != nil {
		return nil, nil, fmt.Errorf("encode %s: %w", dataPath, err)
	}
	f, text, err := p.footprints.Build(lowered)
	if err != nil {
		return nil, nil, fmt.Errorf("encode %s: %w", footprint.Path, err)
	}
	files[dataPath], files[footprint.Path] = data, text
	for _, family := range p.families {
		maps.Copy(files, family.Emit(o))
	}
	return files, f, nil
}

// CompiledData returns data.compiled with sorted keys: the tables that are not empty, and
// the features. Nil features are left out. The footprint is a file of its own.
func CompiledData(lowered tables.List, features tables.Features) ([]byte, error) {
	members := make(map[string][][]byte)
	if features != nil {
		text, err := json.Marshal(features)
		if err != nil {
			return nil, err
		}
		members[tables.FeaturesKey] = [][]byte{text}
	}
	var err error
	for _, table := range lowered.Data() {
		if members[table.Key()], err = table.JSON(); err != nil {
			return nil, err
		}
	}
	separator := []byte("{")
	var parts [][]byte
	for _, key := range slices.Sorted(maps.Keys(members)) {
		parts = append(parts, separator, []byte(`"`+key+`":`))
		parts = append(parts, members[key]...)
		separator = []byte(",")
	}
	return bytes.Join(append(parts, []byte("}\n")), nil), nil
}

package translator

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// phases are the families, and the names of the documents that they have seen. The
// families lower one directory after another.
type phases struct {
	names      directory.Names
	families   []Family
	footprints footprint.Builder
	emitted    map[tables.Table]map[string][]byte // the files of the last tables, with the same options
}

// lower reads documents together and returns their tables, and all diagnostics about them. The
// list of documents is kept and must not be changed.
func (p *phases) lower(documents []syntax.Document, o directory.Options) (d *directory.Directory, lowered tables.List, list diag.List) {
	o.Points = points(p.families)
	d = p.names.NewDirectory(documents, o)
	for _, family := range p.families {
		table, more := family.Lower(d)
		list = append(list, more...)
		if table != nil {
			lowered = append(lowered, table)
		}
	}
	return d, lowered, append(list, d.List...)
}

// points returns the names of the points that families answer: the folders of their
// entrypoints.
func points(families []Family) []string {
	var names []string
	for _, family := range families {
		if table := family.NewTable(); table != nil && tables.Point(table) != "" {
			names = append(names, tables.Point(table))
		}
	}
	return names
}

// emit returns the data, the files by their path in the bundle, and the footprint that is
// among them. The error is of values JSON cannot hold, which a decoder never lets in.
func (p *phases) emit(lowered tables.List, o emit.Options) (data tables.Text, files map[string][]byte, f *footprint.Footprint, err error) {
	files = make(map[string][]byte)
	if data, err = CompiledData(lowered, lowered.Features()); err != nil {
		return data, nil, nil, fmt.Errorf("encode the data: %w", err)
	}
	if f, files[footprint.Path], err = p.footprints.Build(lowered); err != nil {
		return data, nil, nil, fmt.Errorf("encode %s: %w", footprint.Path, err)
	}
	if o.Tests {
		stated, err := statedTests(data.Bytes())
		if err != nil {
			return data, nil, nil, fmt.Errorf("encode %s: %w", statedPath, err)
		}
		if stated != nil {
			files[statedPath] = stated
		}
	}
	emitted := make(map[tables.Table]map[string][]byte, len(p.families))
	for _, family := range p.families {
		table := tableOf(lowered, family)
		own, ok := p.emitted[table]
		if !ok {
			own = family.Emit(table, o)
		}
		if table != nil {
			emitted[table] = own
		}
		maps.Copy(files, own)
	}
	p.emitted = emitted
	return data, files, f, nil
}

// tableOf returns the table of a family, empty if the list has none, nil if the family
// never has one.
func tableOf(list tables.List, family Family) tables.Table {
	empty := family.NewTable()
	for _, table := range list {
		if reflect.TypeOf(table) == reflect.TypeOf(empty) {
			return table
		}
	}
	return empty
}

// CompiledData returns data.compiled with sorted keys: the tables that are not empty, and
// the features. Nil features are left out. The footprint is a file of its own.
func CompiledData(lowered tables.List, features tables.Features) (tables.Text, error) {
	members := make(map[string]tables.Text)
	if features != nil {
		text, err := json.Marshal(features)
		if err != nil {
			return tables.Text{}, err
		}
		members[tables.FeaturesKey] = tables.TextOf(text)
	}
	var err error
	for _, table := range lowered.Data() {
		if members[table.Key()], err = table.JSON(); err != nil {
			return tables.Text{}, err
		}
	}
	separator := "{"
	var all []tables.Text
	for _, key := range slices.Sorted(maps.Keys(members)) {
		all = append(all, tables.TextOf([]byte(separator+`"`+key+`":`)), members[key])
		separator = ","
	}
	return tables.JoinText(append(all, tables.TextOf([]byte("}\n")))...), nil
}

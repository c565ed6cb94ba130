// Package translator runs the phases that turn the documents of a directory
// into the files of a bundle: decode, resolve, lower, emit. Snapshots come in,
// results and diagnostics go out. It knows the order of the phases and what may
// be kept between two runs, and no document's meaning.
//
// # Design
//
// A snapshot is translated as a whole: what a document means depends on the
// others. But most of it is what it was in the last one, and every phase has its
// own way to see that. Decoded files are kept by path and content, so a document
// that is the same pointer has not changed. Resolving keeps the names, lowering
// the rows of roles and bindings, which come by the hundred thousand; their tables share
// their pieces with those before, and a piece the hash of its JSON. What there is less of is made
// anew. Nothing has two ways: the first snapshot is a change of nothing.
package translator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/writ-policy/writ/internal/parallel"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Translator translates snapshots of one source. It is safe for concurrent use;
// translations run one at a time.
type Translator struct {
	options Options

	mu      sync.Mutex          // held through a whole translation
	decoded map[string]*decoded // by path: the files of the last snapshot
	rego    rego.Budget         // of the files of the last snapshot
	shared  syntax.Shared
	phases  *phases // nil before the first snapshot and after one that was interrupted

	families  func() []Family
	kinds     syntax.Kinds
	rejected  tables.List       // of the last snapshot, if it had errors
	documents []syntax.Document // of the last snapshot
	master    string            // of the last snapshot, empty for the default
	cluster   string            // of the last snapshot, empty for all
	skipped   []syntax.Skipped  // of the last snapshot
	notes     []Note            // of the last snapshot
	// bootstrap are the documents of roles.Bootstrap that were needed so far, by family and
	// master namespace.
	bootstrap map[string][]syntax.Document
}

// decoded is a file that was read, and what it was read from.
type decoded struct {
	hash [32]byte
	syntax.Former
}

// New returns a Translator that has read nothing yet.
func New(o Options) *Translator { return newTranslator(o, registered) }

func newTranslator(o Options, families func() []Family) *Translator {
	return &Translator{options: o, families: families, kinds: kindsOf(families()), decoded: make(map[string]*decoded)}
}

// Translate runs all phases. The list is sorted and holds the warnings of a good
// directory too. The result is nil if and only if the list has errors. If the context
// ends, the list has an error, because part of a directory must not become policy.
func (t *Translator) Translate(ctx context.Context, snapshot source.Snapshot) (*Result, diag.List) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rejected = nil
	state := t.state(snapshot)
	if t.options.Reads != nil {
		t.options.Reads(source.Size(snapshot.Files))
	}
	read, err := t.decode(ctx, snapshot, state)
	if err != nil {
		return nil, interrupted(nil, err)
	}
	documents, list := read.documents, read.list
	p := t.phases
	if t.master != state.master || t.cluster != snapshot.Cluster {
		p = nil // what was lowered reaches the namespaces and clusters of the last snapshot
	}
	t.skipped, t.documents, t.master, t.cluster = skippedOf(read.skipped), documents, state.master, snapshot.Cluster
	if t.phases = nil; p == nil {
		p = &phases{families: t.families()}
	}
	all, notes, err := t.addBootstrap(documents, state)
	if err != nil {
		return nil, interrupted(list, err)
	}
	t.notes = notes
	d, lowered, resolved := p.lower(all, directory.Options{
		Master:               state.master,
		Cluster:              snapshot.Cluster,
		ImpliedGroups:        state.implied,
		SessionGroupPrefixes: settings.List(state.prefixes),
		AllowEmpty:           t.options.AllowEmpty || snapshot.MayBeEmpty(),
		Partial:              list.HasErrors() || t.options.Files,
		Undecoded:            read.undecoded,
	})
	t.phases = p
	if t.options.Files || holdsAnything(read.undecoded) {
		resolved = withoutAbsences(resolved)
	}
	list = capped(withoutBootstrap(slices.Concat(list, resolved, state.strictKinds(read.skipped), state.list).Sorted()))
	if list.HasErrors() {
		t.rejected = lowered
		return nil, list
	}
	if err := ctx.Err(); err != nil {
		return nil, interrupted(list, err)
	}
	data, files, f, err := p.emit(lowered, emit.Options{Tests: t.options.Tests})
	if err != nil {
		return nil, interrupted(list, err)
	}
	return &Result{
		Tables:    lowered,
		Counts:    d.Counts(),
		Data:      data,
		Files:     files,
		Footprint: f,
		Directory: d,
		Documents: len(documents),
		Skipped:   skippedOf(read.skipped),
		grants:    grantsOf(p.families),
	}, list
}

// contents are what the files of a snapshot have, in the order of the files.
type contents struct {
	documents []syntax.Document
	skipped   []skipped
	undecoded []syntax.Undecoded
	list      diag.List
}

// decode reads the files of a snapshot on all cores, those of the last one that
// have not changed taken from memory.
func (t *Translator) decode(ctx context.Context, snapshot source.Snapshot, state state) (contents, error) {
	files := make([]*decoded, len(snapshot.Files))
	t.rego.Keep(func(yield func(string) bool) {
		for _, file := range snapshot.Files {
			if _, ok := t.kept(file, state); ok && !yield(file.Path) {
				return
			}
		}
	})
	under := progress.FromContext(ctx)
	parallel.Each(len(files), 1, func(i, _ int) {
		file := snapshot.Files[i]
		if kept, ok := t.kept(file, state); ok {
			files[i] = kept
		} else if ctx.Err() == nil {
			files[i] = decodeFile(t.kinds, file, state.decoding[file.Origin], t.decoded[file.Path])
		}
		under.Count(1, "files translated")
	})
	if err := ctx.Err(); err != nil {
		return contents{}, err
	}
	t.keepFinal(snapshot, files)
	all := joinFiles(snapshot, files)
	if file, refusal := t.rego.Check(); refusal != nil {
		all.list.Add(diag.Diagnostic{
			Position: diag.Position{File: file, Line: 1, Column: 1}, Code: diag.Rego, Message: refusal.Message, Hint: rego.RefusalHint,
		})
	}
	if !t.options.AllowEmpty && !all.list.HasErrors() {
		all.list = append(all.list, emptyOrigins(snapshot, files)...)
	}
	return all, nil
}

// decodeFile reads one file, which was another one before; nil for a new one. A panic ends in an error of
// that file.
func decodeFile(kinds syntax.Kinds, file source.File, o syntax.Options, before *decoded) (d *decoded) {
	defer func() {
		if cause := recover(); cause != nil {
			d = &decoded{Former: syntax.Former{File: syntax.File{List: interrupted(nil, fmt.Errorf("reading %s: %v", file.Path, cause))}}}
		}
	}()
	d = &decoded{hash: file.Hash, Former: syntax.Former{Content: file.Content.Bytes, Options: o}}
	content := file.Content.Bytes()
	switch {
	case file.Object:
		d.File = kinds.DecodeObject(file.Path, content, o)
	case before == nil:
		d.File = kinds.Decode(file.Path, content, o)
	default:
		d.File = kinds.DecodeAgain(file.Path, content, o, &before.Former)
	}
	return d
}

// kept returns a file of the last snapshot; false if it has changed.
func (t *Translator) kept(file source.File, state state) (*decoded, bool) {
	kept := t.decoded[file.Path]
	return kept, kept != nil && kept.hash == file.Hash && kept.Options == state.decoding[file.Origin]
}

// joinFiles returns what all files have.
func joinFiles(snapshot source.Snapshot, files []*decoded) (all contents) {
	count := 0
	for _, file := range files {
		count += len(file.Documents)
	}
	all.documents = make([]syntax.Document, 0, count)
	for i, file := range files {
		all.documents = append(all.documents, file.Documents...)
		for _, s := range file.Skipped {
			all.skipped = append(all.skipped, skipped{s, snapshot.Files[i].Origin})
		}
		all.undecoded = append(all.undecoded, file.Undecoded...)
		all.list = append(all.list, file.List...)
	}
	return all
}

// keepFinal remembers the files of this snapshot and forgets those of the last, and those whose
// decoding another reason than their content ended.
func (t *Translator) keepFinal(snapshot source.Snapshot, files []*decoded) {
	final := 0
	for i, file := range files {
		if path := snapshot.Files[i].Path; isFinal(file.List) {
			final++
			t.decoded[path] = file
		}
	}
	if len(t.decoded) == final {
		return
	}
	t.decoded = make(map[string]*decoded, final) // files are gone, or cannot be kept
	for i, file := range files {
		if isFinal(file.List) {
			t.decoded[snapshot.Files[i].Path] = file
		}
	}
}

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

// Package translator runs the phases that turn the documents of a directory
// into the files of a bundle: decode, resolve, lower, emit. Snapshots come in,
// results and diagnostics go out. It knows the order of the phases and what may
// be kept between two runs, and no document's meaning.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// A snapshot is translated as a whole: what a document means depends on the
// others. But most of it is what it was in the last one, and every phase has its
// own way to see that. Decoded files are kept by path and content, so a document
// that is the same pointer has not changed. Resolving keeps the names, lowering
// the rows of roles and bindings, which come by the hundred thousand; their tables share
// their pieces with those before, and a piece its JSON. What there is less of is made
// anew. Nothing has two ways: the first snapshot is a change of nothing.
package translator

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Options say how documents are read. The zero value is what commands use
// without flags, save for Tests.
type Options struct {
	// Settings take precedence over those of the sources.
	Settings settings.Settings
	// AllowEmpty accepts a directory without a single policy document.
	AllowEmpty bool
	// Files states that the snapshot is a part of a directory: what other files may hold is
	// not reported as absent. The result of a part must not be used.
	Files bool
	// Tests emits generated tests along with the policy.
	Tests bool
}

// Result is what a directory without errors translates to. It is immutable, and
// its members are shared with later results.
type Result struct {
	// Tables are what the documents come to, a table a family. Consumers of one family
	// use tables.Of.
	Tables tables.List
	// Counts are the numbers of documents by family and kind, as "kubernetes/Role".
	// DecisionTests are not among them: they are not part of a bundle.
	Counts map[string]int
	// Files are the emitted files by their path in a bundle.
	Files map[string][]byte
	// Footprint is what the documents can tell apart. It is also one of Files.
	Footprint *footprint.Footprint
	// Directory holds the documents.
	Directory *directory.Directory
	// Documents is how many documents there are, containers' contents included and skipped
	// ones excluded.
	Documents int
	// Skipped are the documents of other kinds, in the order of the files.
	Skipped []syntax.Skipped

	grants *access.Resolved // keeps positions for Lint
}

// Translator translates snapshots of one source. It is safe for concurrent use;
// translations run one at a time.
type Translator struct {
	options Options

	mu      sync.Mutex         // held through a whole translation
	decoded map[string]decoded // by path: the files of the last snapshot
	phases  *phases            // nil before the first snapshot and after one that was interrupted

	families  func() []Family
	kinds     syntax.Kinds
	rejected  tables.List       // of the last snapshot, if it had errors
	documents []syntax.Document // of the last snapshot
	master    string            // of the last snapshot, empty for the default
	skipped   []syntax.Skipped  // of the last snapshot
	notes     []Note            // of the last snapshot
	// bootstrap are the documents of roles.Bootstrap, nil before they are needed.
	bootstrap []syntax.Document
}

// decoded is a file that was read, and what it was read from.
type decoded struct {
	hash    [32]byte
	options syntax.Options
	syntax.File
}

// New returns a Translator that has read nothing yet.
func New(o Options) *Translator { return newTranslator(o, registered) }

func newTranslator(o Options, families func() []Family) *Translator {
	return &Translator{options: o, families: families, kinds: kindsOf(families())}
}

// Translate runs all phases. The list is sorted and holds the warnings of a good
// directory too. The result is nil if and only if the list has errors. If the context
// ends, the list has an error, because part of a directory must not become policy.
func (t *Translator) Translate(ctx context.Context, snapshot source.Snapshot) (*Result, diag.List) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rejected = nil
	state := t.state(snapshot)
	documents, skipped, undecoded, list, err := t.decode(ctx, snapshot, state)
	if err != nil {
		return nil, interrupted(list, err)
	}
	t.skipped, t.documents, t.master = skippedOf(skipped), documents, state.master
	p := t.phases
	if t.phases = nil; p == nil {
		p = &phases{families: t.families()}
	}
	all, notes := documents, []Note(nil)
	if state.bootstrap {
		all, notes = t.addBootstrap(documents)
	}
	t.notes = notes
	d := p.resolve(all, directory.Options{
		Master:       state.master,
		AllowEmpty:   t.options.AllowEmpty,
		StrictRoutes: state.strictRoutes,
		Partial:      list.HasErrors() || t.options.Files,
		Undecoded:    undecoded,
	})
	lowered, more := p.lower()
	t.phases = p
	resolved := slices.Concat(d.List, more)
	if t.options.Files || holdsAnything(undecoded) {
		resolved = withoutAbsences(resolved)
	}
	list = capped(withoutBootstrap(slices.Concat(list, resolved, state.strictKinds(skipped), state.list).Sorted()))
	if list.HasErrors() {
		t.rejected = lowered
		return nil, list
	}
	if err := ctx.Err(); err != nil {
		return nil, interrupted(list, err)
	}
	files, f, err := p.emit(lowered, emit.Options{Tests: t.options.Tests})
	if err != nil {
		return nil, interrupted(list, err)
	}
	return &Result{
		Tables:    lowered,
		Counts:    counts(documents),
		Files:     files,
		Footprint: f,
		Directory: d,
		Documents: len(documents),
		Skipped:   skippedOf(skipped),
		grants:    grantsOf(p.families),
	}, list
}

// counts returns how many documents there are of each family and kind, containers
// and their contents included.
func counts(documents []syntax.Document) map[string]int {
	type key struct{ family, kind string }
	byKey := make(map[key]int)
	for _, d := range documents {
		if h := d.Meta(); !h.TestOnly {
			byKey[key{h.Family, h.Kind}]++
		}
	}
	n := make(map[string]int, len(byKey))
	for k, count := range byKey {
		n[k.family+"/"+k.kind] = count
	}
	return n
}

// decode reads the files of a snapshot on all cores, those of the last one that
// have not changed taken from memory. Documents are in the order of the files.
func (t *Translator) decode(ctx context.Context, snapshot source.Snapshot, state state) ([]syntax.Document, []skipped, []syntax.Undecoded, diag.List, error) {
	files := make([]decoded, len(snapshot.Files))
	under := progress.FromContext(ctx)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range snapshot.Files {
		options := state.decoding[file.Origin]
		if kept, ok := t.decoded[file.Path]; ok && kept.hash == file.Hash && kept.options == options {
			files[i] = kept
			under.Count(1, "files translated")
			continue
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if ctx.Err() == nil {
				files[i] = decodeFile(t.kinds, file, options)
				under.Count(1, "files translated")
			}
			return nil
		})
	}
	_ = group.Wait() // no function of it fails
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, nil, err
	}
	documents, others, undecoded, list := t.keep(snapshot, files)
	if !t.options.AllowEmpty && !list.HasErrors() {
		list = append(list, emptyOrigins(snapshot, files)...)
	}
	return documents, others, undecoded, list, nil
}

// decodeFile reads one file. A panic ends in an error of that file: it would end
// the process, for no caller is on this goroutine.
func decodeFile(kinds syntax.Kinds, file source.File, o syntax.Options) (d decoded) {
	defer func() {
		if cause := recover(); cause != nil {
			d = decoded{File: syntax.File{List: interrupted(nil, fmt.Errorf("reading %s: %v", file.Path, cause))}}
		}
	}()
	decode := kinds.Decode
	if file.Object {
		decode = kinds.DecodeObject
	}
	return decoded{file.Hash, o, decode(file.Path, file.Content, o)}
}

// keep remembers the files of this snapshot and forgets those of the last.
func (t *Translator) keep(snapshot source.Snapshot, files []decoded) (documents []syntax.Document, others []skipped, undecoded []syntax.Undecoded, list diag.List) {
	t.decoded = make(map[string]decoded, len(files))
	for i, file := range files {
		t.decoded[snapshot.Files[i].Path] = file
		documents = append(documents, file.Documents...)
		for _, s := range file.Skipped {
			others = append(others, skipped{s, snapshot.Files[i].Origin})
		}
		undecoded = append(undecoded, file.Undecoded...)
		list = append(list, file.List...)
	}
	return documents, others, undecoded, list
}

// Skipped returns the documents of other kinds of the last snapshot, also if it had
// errors. The list must not be modified.
func (t *Translator) Skipped() []syntax.Skipped {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skipped
}

// Documents returns the documents of the last snapshot, also if it had errors, in the order
// of the files. The list must not be modified.
func (t *Translator) Documents() []syntax.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.documents
}

// Master returns the master namespace of the last snapshot.
func (t *Translator) Master() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return directory.MasterOr(t.master)
}

// emptyOrigins reports the sources without a policy document, if there are several: the
// documents of the others do not show that one of them is an unmounted volume.
func emptyOrigins(snapshot source.Snapshot, files []decoded) (list diag.List) {
	if len(snapshot.Origins) < 2 {
		return nil
	}
	filled := make([]bool, len(snapshot.Origins))
	for i, file := range files {
		filled[snapshot.Files[i].Origin] = filled[snapshot.Files[i].Origin] ||
			slices.ContainsFunc(file.Documents, func(d syntax.Document) bool { return !d.Meta().Auxiliary })
	}
	for i, origin := range snapshot.Origins {
		if !filled[i] {
			list.Add(diag.Diagnostic{
				Position: diag.Position{File: origin.Name},
				Code:     diag.NoDocuments,
				Message:  "the source holds no policy document",
				Hint:     "an unmounted volume looks like this; use --allow-empty if it is intended",
			})
		}
	}
	return list
}

// maxDiagnostics bounds what is said about a directory: a hundred thousand
// bindings to one role that is gone are one mistake.
const maxDiagnostics = 10_000

// capped keeps errors before warnings, each in the order they are in, and counts
// what it leaves out.
func capped(list diag.List) diag.List {
	left := len(list) - maxDiagnostics
	if left <= 0 {
		return list
	}
	var errors, warnings diag.List
	for _, d := range list {
		if d.Severity == diag.Error {
			errors = append(errors, d)
		} else {
			warnings = append(warnings, d)
		}
	}
	severity := diag.Warning
	if len(errors) > maxDiagnostics {
		severity = diag.Error
	}
	kept := append(errors, warnings...)[:maxDiagnostics]
	kept.Add(diag.Diagnostic{
		Severity: severity,
		Code:     diag.TooManyMistakes,
		Message:  fmt.Sprintf("%d further mistakes in this directory are not shown", left),
	})
	return kept.Sorted()
}

// interrupted adds the error of a translation that did not come to its end.
func interrupted(list diag.List, err error) diag.List {
	list.Add(diag.Diagnostic{
		Code:    diag.Interrupted,
		Message: fmt.Sprintf("the documents were not translated: %v", err),
	})
	return list.Sorted()
}

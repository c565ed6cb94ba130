package assertions

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// Carried returns the assertions that a bundle carries. It returns an error if the manifest has
// none that can be read. A bundle has no files of policy, so that independent has no reference.
func Carried(b *bundles.Bundle, compile Compile) (*Set, error) {
	m := &b.Manifest.Metadata
	var documents []syntax.Document
	for i := range m.AssertionDocuments {
		d, err := m.AssertionDocuments[i].Read()
		if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
	return OfBundle(documents, b, compile), nil
}

// OfBundle returns the assertions among documents, which refer to the files of a bundle.
func OfBundle(documents []syntax.Document, b *bundles.Bundle, compile Compile) *Set {
	files := b.Manifest.Metadata.References
	s := Of(documents, source.Snapshot{Aside: func(_ context.Context, name string) (source.Snapshot, diag.List, error) {
		return carriedFiles(files, name)
	}}, compile)
	for i := range s.All {
		if a := &s.All[i]; a.Form == assertion.Independent {
			s.List.Add(a.Documents.Diagnostic(diag.Error, diag.NoReference, "verify the directory that the bundle is built from", "a bundle does not have the files of its documents"))
		}
	}
	return s
}

func carriedFiles(files map[string]string, name string) (source.Snapshot, diag.List, error) {
	var out source.Snapshot
	for _, file := range slices.Sorted(maps.Keys(files)) {
		within, isBelow := strings.CutPrefix(file, name+"/")
		if file == name {
			within, isBelow = path.Base(file), true
		}
		if isBelow {
			content := []byte(files[file])
			out.Files = append(out.Files, source.NewFile(within, content))
		}
	}
	if len(out.Files) == 0 {
		return out, nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return out, nil, nil
}

// References returns the files that assertions of the source refer to, by path, for a bundle
// that carries them.
func (s *Set) References(ctx context.Context) (map[string]string, error) {
	var out map[string]string
	for i := range s.All {
		a := &s.All[i]
		if _, isOutside := s.outside[a.At.File]; isOutside || a.Documents.Value == "" || a.Form == assertion.Independent {
			continue
		}
		snapshot, _, err := s.compared(a).read(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Documents.Value, err)
		}
		if out == nil {
			out = make(map[string]string)
		}
		name := path.Join(path.Dir(a.At.File), a.Documents.Value)
		for _, f := range snapshot.Files {
			at := path.Join(name, f.Path)
			if len(snapshot.Files) == 1 && filepath.Base(f.Path) == path.Base(name) {
				at = name // it is a file itself
			}
			out[at] = string(f.Content.Bytes())
		}
	}
	return out, nil
}

package bundles

import (
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// BuildOptions are the metadata of a bundle, which do not enter its revision, and the
// library. The zero value is valid.
type BuildOptions struct {
	// Version is the version of writ.
	Version string
	// Commit is the commit of the documents. It may be empty.
	Commit string
	// Sequence is a number that grows with every build. Zero means that the bundle has none.
	Sequence int64
	// Library replaces the embedded Rego library, by path in the bundle. Nil stands for the
	// embedded one.
	Library map[string][]byte
}

// notNil keeps counts from being encoded as null.
func notNil(counts map[string]int) map[string]int {
	if counts == nil {
		return map[string]int{}
	}
	return counts
}

// assemble joins the parts. It returns an error if two parts have the same file: a module of
// the documents must not replace one of the library.
func assemble(lowered tables.List, counts map[string]int, o BuildOptions, parts ...map[string][]byte) (*Bundle, error) {
	files := make(map[string][]byte)
	taken := names{}
	for _, part := range parts {
		for _, path := range slices.Sorted(maps.Keys(part)) {
			if err := checkPath(path); err != nil {
				return nil, err
			}
			if err := taken.add(path); err != nil {
				return nil, err
			}
			files[path] = part[path]
		}
	}
	access := tables.Of[*tables.Access](lowered)
	if _, ok := files[DataPath]; !ok || access == nil {
		return nil, fmt.Errorf("%s not found", DataPath)
	}
	return &Bundle{
		Manifest: Manifest{
			Revision:    revision(files),
			Roots:       roots(),
			RegoVersion: regoVersion,
			Metadata: Metadata{
				Version:     o.Version,
				Master:      access.Master,
				Entrypoints: lowered.Entrypoints(),
				Counts:      notNil(counts),
				Commit:      o.Commit,
				Sequence:    o.Sequence,
			},
		},
		Files: files,
		// As in the data, so that a bundle that was read equals one that was built.
		Tables:   lowered.Data(),
		Features: lowered.Features(),
	}, nil
}

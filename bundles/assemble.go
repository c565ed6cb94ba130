package bundles

import (
	"fmt"
	"maps"
	"slices"
)

// BuildOptions are what a builder says of a bundle. None of it enters the
// revision; the zero value says nothing.
type BuildOptions struct {
	// Version is that of writ.
	Version string
	// Commit and Sequence say what the documents were: a commit, and a number
	// that grows with every build. Zero is no number.
	Commit   string
	Sequence int64
	// Library replaces the Rego library, by path in the bundle. Nil is the
	// embedded one.
	Library map[string][]byte
}

func notNil(counts map[string]int) map[string]int {
	if counts == nil {
		return map[string]int{}
	}
	return counts
}

// assemble puts the parts together. A file of two parts is refused: a module of
// the directory must not stand in for one of the library.
func assemble(tables Tables, counts map[string]int, o BuildOptions, parts ...map[string][]byte) (*Bundle, error) {
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
	if _, ok := files[DataPath]; !ok || tables.Access == nil {
		return nil, fmt.Errorf("%s: not in the bundle", DataPath)
	}
	// What is empty the data has not either.
	if v := tables.Visibility; v != nil && len(v.Policies)+len(v.Sources) == 0 {
		tables.Visibility = nil
	}
	if g := tables.Gateway; g != nil && len(g.Gateways)+len(g.Policies) == 0 {
		tables.Gateway = nil
	}
	return &Bundle{
		Manifest: Manifest{
			Revision:    revision(files),
			Roots:       roots(),
			RegoVersion: regoVersion,
			Metadata: Metadata{
				Version:     o.Version,
				Master:      tables.Access.Master,
				Entrypoints: entrypoints(),
				Counts:      notNil(counts),
				Commit:      o.Commit,
				Sequence:    o.Sequence,
			},
		},
		Files:  files,
		Tables: tables,
	}, nil
}

package bundles

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/tables"
)

// Build builds a bundle from a translated directory and the Rego library. Equal results give
// equal bundles. It returns an error if a path is not valid in a bundle, or the documents and
// the library have the same file. It does not compile the Rego; Check does.
func Build(r *translator.Result, o BuildOptions) (*Bundle, error) {
	library := o.Library
	if library == nil {
		library = rego.Files()
	}
	b, err := assemble(r.Tables, r.Counts, o, r.Data, library, r.Files)
	if err != nil {
		return nil, fmt.Errorf("build the bundle: %w", err)
	}
	m := &b.Manifest.Metadata
	m.Skipped = len(r.Skipped)
	if r.Directory != nil {
		for _, d := range directory.DocumentsOf[*assertion.Document](r.Directory) {
			m.AssertionDocuments = append(m.AssertionDocuments, d.Carry())
		}
	}
	b.Footprint = r.Footprint
	return b, nil
}

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
func assemble(lowered tables.List, counts map[string]int, o BuildOptions, data tables.Text, parts ...map[string][]byte) (*Bundle, error) {
	files := make(map[string][]byte)
	taken := names{}
	if err := taken.add(dataPath); err != nil {
		return nil, err
	}
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
	if access == nil {
		return nil, errors.New("no access tables")
	}
	return &Bundle{
		Manifest: Manifest{
			Revision:    revision(data.Sum(), files),
			Roots:       roots(),
			RegoVersion: regoVersion,
			Metadata: Metadata{
				Version:     o.Version,
				Master:      access.Master,
				Cluster:     access.Cluster,
				Entrypoints: lowered.Entrypoints(),
				Counts:      notNil(counts),
				Commit:      o.Commit,
				Sequence:    o.Sequence,
			},
		},
		Data:  data,
		Files: files,
		// As in the data, so that a bundle that was read equals one that was built.
		Tables:   lowered.Data(),
		Features: lowered.Features(),
	}, nil
}

// revision returns the hash of the files that affect decisions: paths and contents, each
// after its length, in the order of the paths. The sum of the data stands for the data, which a
// change makes again in part only.
func revision(data [sha256.Size]byte, files map[string][]byte) string {
	all := maps.Clone(files)
	all[dataPath] = data[:]
	return formerRevision(all)
}

// formerRevision is the revision of a bundle by a version of writ that hashed the whole data.
func formerRevision(all map[string][]byte) string {
	return digest(all, func(path string) bool { return !IsTest(path) })
}

// RegoHash returns a hash of the modules that an engine loads. Bundles with the same hash
// differ only in data and tests, so one compilation does for all of them.
func (b *Bundle) RegoHash() string { return digest(b.Files, isModule) }

func digest(files map[string][]byte, isIncluded func(path string) bool) string {
	h := sha256.New()
	var length [8]byte
	write := func(content []byte) {
		binary.BigEndian.PutUint64(length[:], uint64(len(content)))
		h.Write(length[:])
		h.Write(content)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if isIncluded(path) {
			write([]byte(path))
			write(files[path])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

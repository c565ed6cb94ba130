package bundles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/writ-policy/writ/translator/assertion"
)

// Manifest is OPA's manifest of a bundle with writ's metadata. Entrypoints are in the
// metadata, because OPA has a field for them only in WebAssembly bundles.
type Manifest struct {
	Revision    string   `json:"revision"`
	Roots       []string `json:"roots"`
	RegoVersion int      `json:"rego_version"`
	Metadata    Metadata `json:"metadata"`
}

// Metadata describes a bundle. It does not enter the revision.
type Metadata struct {
	// Version is the version of writ that built the bundle. It may be empty.
	Version string `json:"version,omitempty"`
	// Master is the name of the Origin master namespace.
	Master string `json:"master"`
	// Cluster is the only cluster whose requests the bundle decides; empty stands for all.
	Cluster string `json:"cluster,omitempty"`
	// Entrypoints are the rules to query, as paths of OPA's Data API.
	Entrypoints []string `json:"entrypoints"`
	// Counts are the numbers of documents by family and kind, as "kubernetes/Role",
	// containers and their contents included.
	Counts map[string]int `json:"counts"`
	// Skipped is the number of documents of other kinds, which are not in Counts.
	Skipped int `json:"skipped,omitempty"`
	// Commit is the commit of the documents. It may be empty.
	Commit string `json:"commit,omitempty"`
	// Sequence is a number that grows with every build. Zero means that the bundle has none.
	Sequence int64 `json:"sequence,omitempty"`
	// Assertions is set if the assertions were verified before the bundle was written.
	Assertions *Verified `json:"assertions,omitempty"`
	// AssertionDocuments are the directory's documents with assertions, and References the files
	// that they refer to, by path.
	AssertionDocuments []assertion.Carried `json:"assertionDocuments,omitempty"`
	References         map[string]string   `json:"references,omitempty"`
}

// Verified is how many assertions were verified, and when.
type Verified struct {
	Verified int       `json:"verified"`
	At       time.Time `json:"at"`
}

// Own returns the metadata without what the documents of assertions say.
func (m Metadata) Own() Metadata {
	m.AssertionDocuments, m.References = nil, nil
	return m
}

const regoVersion = 1

func roots() []string { return []string{"compiled", "writ"} }

// encode returns the content of .manifest.
func (m Manifest) encode() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(m); err != nil {
		return nil, fmt.Errorf("encode %s: %w", ManifestPath, err)
	}
	return out.Bytes(), nil
}

// decodeManifest returns an error unless the manifest has the roots and the Rego version of
// this package: they affect how OPA reads the files, and are not part of the revision because
// they are constant.
func decodeManifest(content []byte) (Manifest, error) {
	var m Manifest
	if err := decodeStrict(content, &m); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", ManifestPath, err)
	}
	switch {
	case !slices.Equal(m.Roots, roots()):
		return Manifest{}, fmt.Errorf("%s: roots must be %q, not %q", ManifestPath, roots(), m.Roots)
	case m.RegoVersion != regoVersion:
		return Manifest{}, fmt.Errorf("%s: rego_version must be %d, not %d", ManifestPath, regoVersion, m.RegoVersion)
	}
	return m, nil
}

package bundles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Manifest is OPA's, with what writ says of a bundle in its metadata. OPA has no
// key for entrypoints outside of WebAssembly, so they stand there as well.
type Manifest struct {
	Revision    string   `json:"revision"`
	Roots       []string `json:"roots"`
	RegoVersion int      `json:"rego_version"`
	Metadata    Metadata `json:"metadata"`
}

// Metadata is what one may want to know of a bundle. None of it enters the
// revision.
type Metadata struct {
	// Version is that of the writ which built the bundle; may be empty.
	Version string `json:"version,omitempty"`
	// Master is the name of the Origin master namespace.
	Master string `json:"master"`
	// Entrypoints are the rules to ask, as OPA's Data API spells them.
	Entrypoints []string `json:"entrypoints"`
	// Counts are the numbers of documents by family and kind, as "kubernetes/Role",
	// containers and their contents included.
	Counts map[string]int `json:"counts"`
	// Commit and Sequence say what the bundle was built from, where the builder
	// was told.
	Commit   string `json:"commit,omitempty"`
	Sequence int64  `json:"sequence,omitempty"`
}

const regoVersion = 1

func roots() []string { return []string{"compiled", "writ"} }

func entrypoints() []string {
	return []string{"writ/access/decision", "writ/visibility/decision", "writ/gateway/decision"}
}

// encode is the manifest as it stands in a bundle.
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

// decodeManifest reads a manifest of this version's form and no other: the roots
// and the Rego version decide what OPA makes of the files, and are not in the
// revision because they are always the same.
func decodeManifest(content []byte) (Manifest, error) {
	var m Manifest
	if err := decodeStrict(content, &m); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", ManifestPath, err)
	}
	switch {
	case !slices.Equal(m.Roots, roots()):
		return Manifest{}, fmt.Errorf("%s: roots %q, want %q", ManifestPath, m.Roots, roots())
	case m.RegoVersion != regoVersion:
		return Manifest{}, fmt.Errorf("%s: rego_version %d, want %d", ManifestPath, m.RegoVersion, regoVersion)
	}
	return m, nil
}

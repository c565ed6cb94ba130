package bundles

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Inspection is what can be told of a bundle without running it, of a bad one as far
// as it can be read.
type Inspection struct {
	// Manifest is what the bundle says of itself; nil where it cannot be read.
	Manifest *Manifest `json:"manifest,omitempty"`
	// Content is the revision of the files that are there.
	Content   string             `json:"content,omitempty"`
	Files     []InspectedFile    `json:"files"`
	Signature InspectedSignature `json:"signature"`
	// Problems are why the bundle does not hold; empty: it does.
	Problems []string `json:"problems"`
}

// InspectedFile is a file of a bundle.
type InspectedFile struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// InspectedSignature is who signed a bundle, as far as that is known.
type InspectedSignature struct {
	Signed bool `json:"signed"`
	// Key is the ID the signature names, to be believed where Verified is true.
	Key      string   `json:"key,omitempty"`
	State    KeyState `json:"state,omitempty"`
	Verified bool     `json:"verified"`
}

// Holds reports whether nothing speaks against the bundle.
func (i *Inspection) Holds() bool { return len(i.Problems) == 0 }

// Inspect reads a gzipped tarball. Nil keys leave its signature unverified, other
// keys want one.
func Inspect(r io.Reader, keys *Keys) *Inspection {
	c, err := collect(r, defaultLimits)
	return inspect(c, err, keys)
}

// InspectDir is Inspect of a folder.
func InspectDir(path string, keys *Keys) *Inspection {
	c, err := collectDir(path, defaultLimits)
	return inspect(c, err, keys)
}

func inspect(c *collection, err error, keys *Keys) *Inspection {
	i := &Inspection{Files: []InspectedFile{}, Problems: []string{}}
	if err != nil {
		i.problem(err)
		return i
	}
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		i.Files = append(i.Files, InspectedFile{Path: path, Bytes: len(c.files[path])})
	}
	content, ok := c.files[ManifestPath]
	manifest, err := decodeManifest(content)
	switch {
	case !ok:
		i.problem(fmt.Errorf("no %s", ManifestPath))
	case err != nil:
		i.problem(err)
	default:
		i.Manifest = &manifest
	}
	i.sign(c.files[SignaturesPath])
	// All else is said as a reader says it: first of the signature, then of the rest.
	files := maps.Clone(c.files)
	delete(files, ManifestPath)
	delete(files, SignaturesPath)
	i.Content = revision(files)
	if keys != nil {
		key, err := keys.verify(c.files[SignaturesPath], content, files)
		if err != nil {
			i.problem(err)
		} else {
			i.Signature.Key, i.Signature.State, i.Signature.Verified = key.ID, key.State, true
		}
	}
	if i.Manifest != nil {
		if _, err := c.bundle(nil); err != nil {
			i.problem(err)
		}
	}
	return i
}

func (i *Inspection) problem(err error) { i.Problems = append(i.Problems, err.Error()) }

// sign says what the signature says of itself.
func (i *Inspection) sign(content []byte) {
	i.Signature.Signed = len(content) > 0
	if config, err := decodeSignatures(content); err == nil {
		i.Signature.Key, _ = keyID(config.Signatures[0])
	}
}

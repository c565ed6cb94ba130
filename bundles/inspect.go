package bundles

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Inspection describes a bundle without compiling it. For an invalid bundle it has the parts
// that can be read.
type Inspection struct {
	// Manifest is nil if it cannot be read.
	Manifest *Manifest `json:"manifest,omitempty"`
	// Content is the revision computed from the files.
	Content   string             `json:"content,omitempty"`
	Files     []InspectedFile    `json:"files"`
	Signature InspectedSignature `json:"signature"`
	// Problems are the errors of the bundle, empty for a valid one.
	Problems []string `json:"problems"`
}

// InspectedFile is a file of a bundle.
type InspectedFile struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// InspectedSignature describes the signature of a bundle.
type InspectedSignature struct {
	Signed bool `json:"signed"`
	// Key is the ID that the signature names. It is unverified unless Verified is true.
	Key      string   `json:"key,omitempty"`
	State    KeyState `json:"state,omitempty"`
	Verified bool     `json:"verified"`
}

// IsValid reports whether the bundle has no problems.
func (i *Inspection) IsValid() bool { return len(i.Problems) == 0 }

// Inspect reads a gzipped tarball. With nil keys the signature is not verified; otherwise the
// bundle must have a valid one.
func Inspect(r io.Reader, keys *Keys) *Inspection {
	c, err := collect(r, defaultLimits)
	return inspect(c, err, keys)
}

// InspectDir is like Inspect, for a bundle in a folder.
func InspectDir(path string, keys *Keys) *Inspection {
	c, err := collectDir(path, defaultLimits)
	return inspect(c, err, keys)
}

func inspect(c *collection, err error, keys *Keys) *Inspection {
	i := &Inspection{Files: []InspectedFile{}, Problems: []string{}}
	if err != nil {
		i.addProblem(err)
		return i
	}
	for path, content := range c.files {
		i.Files = append(i.Files, InspectedFile{Path: path, Bytes: len(content)})
	}
	if c.data != nil {
		i.Files = append(i.Files, InspectedFile{Path: dataPath, Bytes: c.data.text.Len()})
	}
	slices.SortFunc(i.Files, func(a, b InspectedFile) int { return strings.Compare(a.Path, b.Path) })
	content, ok := c.files[ManifestPath]
	manifest, err := decodeManifest(content)
	switch {
	case !ok:
		i.addProblem(fmt.Errorf("no %s", ManifestPath))
	case err != nil:
		i.addProblem(err)
	default:
		i.Manifest = &manifest
	}
	i.readSignature(c.files[SignaturesPath])
	// The rest has the order of ReadSigned: first the signature, then the content.
	files := maps.Clone(c.files)
	delete(files, ManifestPath)
	delete(files, SignaturesPath)
	i.Content = c.revision(manifest.Revision)
	if keys != nil {
		key, err := keys.verify(c.files[SignaturesPath], content, contentsOf(files, c.data))
		if err != nil {
			i.addProblem(err)
		} else {
			i.Signature.Key, i.Signature.State, i.Signature.Verified = key.ID, key.State, true
		}
	}
	if i.Manifest != nil {
		if _, err := c.bundle(nil); err != nil {
			i.addProblem(err)
		}
	}
	return i
}

func (i *Inspection) addProblem(err error) { i.Problems = append(i.Problems, err.Error()) }

// readSignature sets the unverified facts of the signature.
func (i *Inspection) readSignature(content []byte) {
	i.Signature.Signed = len(content) > 0
	if config, err := decodeSignatures(content); err == nil {
		i.Signature.Key, _ = keyID(config.Signatures[0])
	}
}

package bundles

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"maps"

	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// Read reads a gzipped tarball without verifying its signature. It returns an error if the
// bundle has a file that this package does not write, exceeds a limit, or its manifest does
// not match the files. It does not compile the Rego; Check does.
func Read(r io.Reader) (*Bundle, error) { return read(r, defaultLimits, nil) }

// ReadSigned is like Read, but also returns an error unless an active or next key has signed
// the bundle. It verifies the signature before it decodes any file. With nil keys it is Read.
func ReadSigned(r io.Reader, keys *Keys) (*Bundle, error) { return read(r, defaultLimits, keys) }

// ReadManifest reads only the manifest of a gzipped tarball. It verifies neither the files
// nor the signature. It returns an error if the tarball does not start with a valid manifest.
func ReadManifest(r io.Reader) (Manifest, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return Manifest{}, fmt.Errorf("read the bundle: %w", err)
	}
	defer packed.Close()
	archive := tar.NewReader(packed)
	header, err := archive.Next()
	if err != nil {
		return Manifest{}, fmt.Errorf("read the bundle: %w", err)
	}
	if header.Name != ManifestPath {
		return Manifest{}, fmt.Errorf("read the bundle: the first file must be %s", ManifestPath)
	}
	const maxBytes = 64 << 20 // with its assertions
	content, err := io.ReadAll(io.LimitReader(archive, maxBytes))
	if err != nil {
		return Manifest{}, fmt.Errorf("read the bundle: %w", err)
	}
	return decodeManifest(content)
}

// ReadDir is like Read, for a bundle in a folder. Links are an error.
func ReadDir(path string) (*Bundle, error) { return readDir(path, defaultLimits, nil) }

// ReadSignedDir is like ReadSigned, for a bundle in a folder. Links are an error.
func ReadSignedDir(path string, keys *Keys) (*Bundle, error) {
	return readDir(path, defaultLimits, keys)
}

func read(r io.Reader, limit limits, keys *Keys) (*Bundle, error) {
	c, err := collect(r, limit)
	return decode(c, err, keys)
}

// decode returns the bundle of collected files, or the error of collecting or decoding them.
func decode(c *collection, err error, keys *Keys) (*Bundle, error) {
	var b *Bundle
	if err == nil {
		b, err = c.bundle(keys)
	}
	if err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	return b, nil
}

func readDir(path string, limit limits, keys *Keys) (*Bundle, error) {
	c, err := collectDir(path, limit)
	return decode(c, err, keys)
}

// bundle decodes the files, after it has verified the signature if keys is not nil.
func (c *collection) bundle(keys *Keys) (*Bundle, error) {
	manifest, ok := c.files[ManifestPath]
	if !ok {
		return nil, fmt.Errorf("no %s", ManifestPath)
	}
	b := &Bundle{Files: c.files, Signatures: c.files[SignaturesPath]}
	delete(b.Files, ManifestPath)
	delete(b.Files, SignaturesPath)
	if c.data != nil {
		go c.data.sum() // for the revision, beside the hash of the signature
	}
	if keys != nil {
		key, err := keys.verify(b.Signatures, manifest, contentsOf(b.Files, c.data))
		if err != nil {
			return nil, err
		}
		b.SignedBy = key
	}
	var err error
	if b.Manifest, err = decodeManifest(manifest); err != nil {
		return nil, err
	}
	if got := c.revision(b.Manifest.Revision); got != b.Manifest.Revision {
		return nil, fmt.Errorf("the revision in the manifest is %q, but %q according to the files", b.Manifest.Revision, got)
	}
	if c.data == nil {
		return nil, fmt.Errorf("no %s", dataPath)
	}
	if b.Tables, b.Features, err = decodeTables(c.data); err != nil {
		return nil, fmt.Errorf("%s: %w", dataPath, err)
	}
	b.Data = c.data.text
	if b.Footprint, err = decodeFootprint(b.Files[footprint.Path]); err != nil {
		return nil, fmt.Errorf("%s: %w", footprint.Path, err)
	}
	access, stated := tables.Of[*tables.Access](b.Tables), b.Manifest.Metadata
	if access.Master != stated.Master {
		return nil, fmt.Errorf("the master namespace in the manifest is %q, but %q according to the data", stated.Master, access.Master)
	}
	if access.Cluster != stated.Cluster {
		return nil, fmt.Errorf("the cluster in the manifest is %q, but %q according to the data", stated.Cluster, access.Cluster)
	}
	return b, nil
}

// revision returns the revision of the files, without manifest and signatures. A bundle that an
// earlier version of writ built has the revision stated, if it is that of all its files.
func (c *collection) revision(stated string) string {
	files := maps.Clone(c.files)
	delete(files, ManifestPath)
	delete(files, SignaturesPath)
	sum := (tables.Text{}).Sum()
	if c.data != nil {
		sum = c.data.sum()
	}
	got := revision(sum, files)
	if got == stated {
		return got
	}
	if c.data != nil {
		files[dataPath] = c.data.text.Bytes()
	}
	if formerRevision(files) == stated {
		return stated
	}
	return got
}

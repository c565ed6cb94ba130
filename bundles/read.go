package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// limits bound what is read from an untrusted bundle.
type limits struct {
	files int
	bytes int64 // of all files, unpacked
}

var defaultLimits = limits{files: 100_000, bytes: 1 << 30}

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
	const maxBytes = 1 << 20
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

// collect reads all files of a gzipped tarball.
func collect(r io.Reader, limit limits) (*collection, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	c := &collection{limit: limit, names: names{}, files: map[string][]byte{}}
	archive := tar.NewReader(packed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := c.addEntry(header, archive); err != nil {
			return nil, err
		}
	}
	return c, checkEnd(packed)
}

// checkEnd reads to the checksum. It returns an error if the last file is followed by more
// than padding.
func checkEnd(r io.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return err
	}
	if len(bytes.Trim(rest, "\x00")) > 0 || len(rest) == 1<<20 {
		return errors.New("data after the last file")
	}
	return nil
}

func readDir(path string, limit limits, keys *Keys) (*Bundle, error) {
	c, err := collectDir(path, limit)
	return decode(c, err, keys)
}

func collectDir(path string, limit limits) (*collection, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(path, ManifestPath)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no %s in the folder: writ build creates a bundle from documents", ManifestPath)
	}
	paths, err := listFolder(path, limit)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := &collection{limit: limit, names: names{}, files: map[string][]byte{}}
	for _, name := range paths {
		f, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		err = c.add(name, f)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// listFolder returns the paths of the files in a folder. It returns an error if one of them
// is not valid in a bundle.
func listFolder(path string, limit limits) ([]string, error) {
	var paths []string
	err := fs.WalkDir(os.DirFS(path), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%q: not a regular file", name)
		case len(paths) == limit.files:
			return fmt.Errorf("%q: more than %d files", name, limit.files)
		}
		paths = append(paths, name)
		return checkPath(name)
	})
	return paths, err
}

// collection holds the files of a bundle while it is read.
type collection struct {
	limit   limits
	names   names
	files   map[string][]byte
	size    int64
	folders int
}

func (c *collection) addEntry(header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeReg:
		return c.add(header.Name, content)
	case tar.TypeDir:
		// Folders are ignored, so their names are not checked. Their number is: a small
		// tarball can have an enormous one.
		if c.folders++; c.folders > c.limit.files {
			return fmt.Errorf("%q: more than %d folders", header.Name, c.limit.files)
		}
		return nil
	}
	return fmt.Errorf("%q: not a regular file", header.Name)
}

func (c *collection) add(path string, r io.Reader) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if err := c.names.add(path); err != nil {
		return err
	}
	if len(c.files) == c.limit.files {
		return fmt.Errorf("%q: more than %d files", path, c.limit.files)
	}
	// The size in the header is not trusted: the buffer grows with the content.
	content, err := io.ReadAll(io.LimitReader(r, c.limit.bytes-c.size+1))
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	if c.size += int64(len(content)); c.size > c.limit.bytes {
		return fmt.Errorf("%q: more than %d bytes unpacked", path, c.limit.bytes)
	}
	if !utf8.Valid(content) {
		return fmt.Errorf("%q: must be UTF-8", path)
	}
	c.files[path] = content
	return nil
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
	if keys != nil {
		key, err := keys.verify(b.Signatures, manifest, b.Files)
		if err != nil {
			return nil, err
		}
		b.SignedBy = key
	}
	var err error
	if b.Manifest, err = decodeManifest(manifest); err != nil {
		return nil, err
	}
	if got := revision(b.Files); got != b.Manifest.Revision {
		return nil, fmt.Errorf("the revision in the manifest is %q, but %q according to the files", b.Manifest.Revision, got)
	}
	data, ok := b.Files[DataPath]
	if !ok {
		return nil, fmt.Errorf("no %s", DataPath)
	}
	if b.Tables, b.Features, err = decodeTables(data); err != nil {
		return nil, fmt.Errorf("%s: %w", DataPath, err)
	}
	if b.Footprint, err = decodeFootprint(b.Files[footprint.Path]); err != nil {
		return nil, fmt.Errorf("%s: %w", footprint.Path, err)
	}
	if access := tables.Of[*tables.Access](b.Tables); access.Master != b.Manifest.Metadata.Master {
		return nil, fmt.Errorf("the master namespace in the manifest is %q, but %q according to the data", b.Manifest.Metadata.Master, access.Master)
	}
	return b, nil
}

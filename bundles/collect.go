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
)

// limits bound what is read from an untrusted bundle.
type limits struct {
	files int
	bytes int64 // of all files, unpacked
}

var defaultLimits = limits{files: 100_000, bytes: 1 << 30}

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

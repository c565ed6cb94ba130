package bundles

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
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
	files   map[string][]byte // without the data
	data    *dataFile         // nil without
	size    int64
	folders int
}

func (c *collection) addEntry(header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeReg:
		return c.add(header.Name, content, header.Size)
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

// add reads a file of a size that its archive or folder states.
func (c *collection) add(path string, r io.Reader, size int64) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if err := c.names.add(path); err != nil {
		return err
	}
	if len(c.files) == c.limit.files {
		return fmt.Errorf("%q: more than %d files", path, c.limit.files)
	}
	if size > c.limit.bytes-c.size {
		return fmt.Errorf("%q: more than %d bytes unpacked", path, c.limit.bytes)
	}
	c.size += size
	if err := c.read(path, r, size); err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return nil
}

// read reads a file.
func (c *collection) read(path string, r io.Reader, size int64) (err error) {
	if path == dataPath {
		if c.data, err = readData(io.LimitReader(r, size)); err == nil && int64(c.data.text.Len()) < size {
			return io.ErrUnexpectedEOF
		}
	} else if c.files[path], err = readSized(r, size); err == nil && !utf8.Valid(c.files[path]) {
		return errNotUTF8
	}
	if err != nil {
		return err
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return errors.New("the file changed while it was read")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// shown is how much of a file must have arrived before its stated size is believed.
const shown = 16 << 20

// readSized reads size bytes. A buffer that grows as io.ReadAll's
// needs more than twice as much memory as the file, which a bomb would use.
func readSized(r io.Reader, size int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, min(size, shown)))
	if n := int64(len(content)); err == nil && n < size {
		content = append(make([]byte, 0, size), content...)[:size]
		_, err = io.ReadFull(r, content[n:])
	}
	return content, err
}

// collect reads all files of a gzipped tarball.
func collect(r io.Reader, limit limits) (*collection, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	unpacked, stop := ahead(packed)
	defer stop()
	c := &collection{limit: limit, names: names{}, files: map[string][]byte{}}
	archive := tar.NewReader(unpacked)
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
	return c, checkEnd(unpacked)
}

// ahead returns a reader of what r has, which reads ahead: unpacking is as much work as what is done with the text.
// After stop, r is not read.
func ahead(r io.Reader) (read io.Reader, stop func()) {
	const chunk = 256 << 10
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := io.CopyBuffer(in, struct{ io.Reader }{r}, make([]byte, chunk))
		in.CloseWithError(err)
	}()
	return out, func() {
		out.Close()
		<-ended
	}
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
		info, err := f.Stat()
		if err == nil {
			err = c.add(name, f, info.Size())
		}
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

package bundles

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/writ-policy/writ/translator/tables"
)

// WriteTar writes the bundle as a gzipped tarball. Equal bundles give equal bytes: the
// tarball contains no names, owners or times of the machine. It returns the errors of w.
func (b *Bundle) WriteTar(w io.Writer) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	err = b.each(func(path string, content tables.Text) error {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: path, Size: int64(content.Len()),
			Mode: 0o644, ModTime: time.Unix(0, 0),
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := content.WriteTo(archive)
		return err
	})
	if err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	if err := packed.Close(); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}

// each calls f with the manifest, with the signatures, and then with every file in the order
// of the paths. The manifest is first for ReadManifest, which reads only the start of a
// stream.
func (b *Bundle) each(f func(path string, content tables.Text) error) error {
	manifest, err := b.Manifest.encode()
	if err != nil {
		return err
	}
	if err := f(ManifestPath, tables.TextOf(manifest)); err != nil {
		return fmt.Errorf("write %s: %w", ManifestPath, err)
	}
	if b.Signatures != nil {
		if err := f(SignaturesPath, tables.TextOf(b.Signatures)); err != nil {
			return fmt.Errorf("write %s: %w", SignaturesPath, err)
		}
	}
	files := map[string]tables.Text{dataPath: b.Data}
	for path, content := range b.Files {
		files[path] = tables.TextOf(content)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := f(path, files[path]); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}

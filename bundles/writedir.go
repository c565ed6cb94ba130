package bundles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteDir writes the bundle as a folder at path. It is written beside it first
// and then put in its place, so nobody finds half of one. An earlier bundle at
// path is replaced and an empty folder filled; anything else is left alone and
// refused.
func (b *Bundle) WriteDir(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	replaces, err := replaceable(path)
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	// After the exchange this is the earlier bundle.
	defer os.RemoveAll(fresh)
	if err := b.fill(fresh); err != nil {
		return err
	}
	if replaces {
		err = renameExchange(fresh, path)
	} else {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}

func (b *Bundle) fill(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	return b.each(func(path string, content []byte) error {
		at := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		return os.WriteFile(at, content, 0o644)
	})
}

// replaceable reports whether there is something at path, and refuses to lose
// what is not a bundle.
func replaceable(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, fmt.Errorf("%s is there and not a folder", path)
	}
	files, err := listFolder(path, defaultLimits)
	if err != nil {
		return false, fmt.Errorf("%s is there and not an earlier bundle: %w", path, err)
	}
	if len(files) == 0 {
		return true, nil
	}
	for _, file := range files {
		if file == ManifestPath {
			return true, nil
		}
	}
	return false, fmt.Errorf("%s is there and not an earlier bundle: it has no %s", path, ManifestPath)
}

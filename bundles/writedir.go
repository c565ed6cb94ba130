package bundles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// WriteDir writes the bundle as a folder at path, replacing an earlier bundle or an empty
// folder. It writes to a temporary folder and renames that, so path never has an incomplete
// bundle. It returns an error if path is something else, which it leaves unchanged, or if
// writing fails.
func (b *Bundle) WriteDir(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	exists, err := checkReplaceable(path)
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	// After an exchange, fresh is the earlier bundle.
	defer os.RemoveAll(fresh)
	if err := b.writeFiles(fresh); err != nil {
		return err
	}
	if exists {
		err = renameExchange(fresh, path)
	} else {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}

func (b *Bundle) writeFiles(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	return b.each(func(path string, content tables.Text) error {
		at := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		_, err = content.WriteTo(f)
		return errors.Join(err, f.Close())
	})
}

// checkReplaceable reports whether path exists. It returns an error if it is neither a bundle
// nor an empty folder.
func checkReplaceable(path string) (exists bool, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, fmt.Errorf("%s exists and is not a folder", path)
	}
	files, err := listFolder(path, defaultLimits)
	if err != nil {
		return false, fmt.Errorf("%s exists and is not a bundle: %w", path, err)
	}
	if len(files) == 0 {
		return true, nil
	}
	if slices.Contains(files, ManifestPath) {
		return true, nil
	}
	return false, fmt.Errorf("%s exists and is not a bundle: it has no %s", path, ManifestPath)
}

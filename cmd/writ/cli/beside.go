package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteBeside writes a file of another name in the folder of a path, so that renaming it to the
// path replaces all of the content or nothing. It returns the name of the file, which is on the
// disk. If it returns an error, it leaves no file.
func WriteBeside(path string, mode fs.FileMode, write func(io.Writer) error) (string, error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".writ-*")
	if at, ok := errors.AsType[*fs.PathError](err); ok { // the temporary name means nothing to the user
		return "", fmt.Errorf("%s: %w", path, at.Err)
	}
	if err != nil {
		return "", err
	}
	if err := errors.Join(write(file), file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

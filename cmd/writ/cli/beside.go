package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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

// WriteFile replaces a file, or creates it, so that an interrupted write loses nothing: the path
// has its former content or the new one. A link is followed. A file that cannot be replaced is
// written in place: a device, one that is a mount by itself, one in a folder that is not writable.
func WriteFile(path string, content []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return replaceFile(path, 0o644, content)
	}
	if !info.Mode().IsRegular() {
		return os.WriteFile(path, content, 0o644)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	err = replaceFile(target, info.Mode().Perm(), content)
	if errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		return os.WriteFile(path, content, 0o644)
	}
	return err
}

func replaceFile(path string, mode fs.FileMode, content []byte) error {
	staged, err := WriteBeside(path, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	if err := os.Rename(staged, path); err != nil {
		return errors.Join(err, os.Remove(staged))
	}
	return nil
}

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/writ-policy/writ/translator/source/ignore"
)

// addLink follows a link to its end, but not out of the checkout: write access to the
// repository must not select other files of the machine for reading.
func (l *listing) addLink(ctx context.Context, name, real string, trail []fs.FileInfo, rules ignore.Rules) error {
	info, err := os.Stat(real)
	if isFolder := err == nil && info.IsDir(); (isFolder || IsDocument(name)) && l.ignores(rules, name, isFolder) {
		return nil
	}
	switch {
	case errors.Is(err, syscall.ELOOP):
		l.reject(name, LinkLoop)
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		l.reject(name, BrokenLink)
		return nil
	case err != nil:
		return listedError(name, err)
	}
	if !info.IsDir() && !IsDocument(name) {
		l.warnMisnamed(rules, name)
		return nil
	}
	if !IsPrintable(path.Base(name)) {
		l.reject(name, UnprintableName(name))
		return nil
	}
	target, err := filepath.EvalSymlinks(real)
	if err != nil {
		return listedError(name, err)
	}
	if l.isOutside(target) {
		l.reject(name, OutsideCheckout)
		return nil
	}
	if info.IsDir() {
		return l.addFolder(ctx, name, target, trail, rules)
	}
	l.folders[filepath.Dir(target)] = struct{}{}
	if info, err = os.Lstat(target); err != nil {
		return listedError(name, err)
	}
	l.addFile(name, target, info)
	return nil
}

// listedError converts an error on a listed file. A listed file that no longer exists means
// that the directory is changing.
func listedError(name string, err error) error {
	if name != "" && errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	name = cmp.Or(name, "the policy directory")
	return fmt.Errorf("read %s: %w", name, TrimPath(err))
}

package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/writ-policy/writ/translator/source"
)

// localStorage is the storage of a repository in the local file system. Objects that it
// borrows from another repository (git clone --shared, --reference) are found.
type localStorage struct{ *filesystem.Storage }

// readable are the extensions of a repository that do not change how objects and
// references are stored. Sparse and partial clones set them.
var readable = []string{"worktreeConfig", "partialClone", "preciousObjects"}

// Config returns the configuration without the extensions that do not matter to a reader:
// go-git rejects a repository with an extension that it does not know.
func (s localStorage) Config() (*config.Config, error) {
	c, err := s.Storage.Config()
	if err == nil && c.Raw.HasSection("extensions") {
		for _, name := range readable {
			c.Raw.Section("extensions").RemoveOption(name)
		}
	}
	return c, err
}

// openLocal opens the repository at a directory: a working tree, a bare repository or a
// directory .git. The error wraps gogit.ErrRepositoryNotExists for any other directory.
func openLocal(dir string) (localStorage, error) {
	dot, err := dotGit(dir)
	if err != nil {
		return localStorage{}, source.TrimPath(err)
	}
	common, err := readPath(filepath.Join(dot, "commondir"), "")
	switch {
	case errors.Is(err, os.ErrNotExist):
		common = dot
	case err != nil:
		return localStorage{}, source.TrimPath(err)
	}
	fs := dotgit.NewRepositoryFilesystem(osfs.New(dot), osfs.New(common))
	s := localStorage{filesystem.NewStorageWithOptions(fs, cache.NewObjectLRUDefault(), filesystem.Options{
		AlternatesFS: osfs.New("/"),
		// Larger objects are streamed, so that their size is known before they fill memory.
		LargeObjectThreshold: 1 << 20,
	})}
	_, err = gogit.Open(s, nil) // it checks the version of the format
	return s, err
}

// dotGit returns the directory with objects and references.
func dotGit(dir string) (string, error) {
	dot := filepath.Join(dir, gogit.GitDirName)
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if info, err := os.Stat(filepath.Join(dir, "refs")); err != nil || !info.IsDir() {
			return "", gogit.ErrRepositoryNotExists
		}
		return dir, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return dot, nil
	}
	return readPath(dot, "gitdir: ") // of a worktree or a submodule
}

// readPath returns the path in a file, relative to the directory of the file.
func readPath(file, prefix string) (string, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the caller names the repository
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(string(content), prefix)
	if !ok {
		return "", fmt.Errorf("file %s must begin with %q", filepath.Base(file), prefix)
	}
	if path = strings.TrimSpace(path); !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return path, nil
}

// findLocal returns the nearest directory, of the given one and those above it, that has a
// repository.
func findLocal(dir string) (localStorage, string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		s, err := openLocal(at)
		if !errors.Is(err, gogit.ErrRepositoryNotExists) || at == filepath.Dir(at) {
			return s, at, err
		}
	}
}

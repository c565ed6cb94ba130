package remote

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/source"
)

// fileOrigin is a local tarball or folder. It is not safe for concurrent use.
type fileOrigin struct {
	path string
	seen []fs.FileInfo
	tag  int // of what was seen
}

func (f *fileOrigin) every() time.Duration { return defaultFileEvery }

func (f *fileOrigin) fetch(_ context.Context, known string) (*arrival, error) {
	seen, err := look(f.path)
	if err != nil {
		return nil, source.TrimPath(err)
	}
	if f.tag == 0 || !slices.EqualFunc(f.seen, seen, untouched) {
		f.seen, f.tag = seen, f.tag+1
	}
	tag := strconv.Itoa(f.tag)
	switch {
	case tag == known:
		return &arrival{tag: tag}, nil
	case seen[0].IsDir():
		return &arrival{tag: tag, folder: f.path}, nil
	case !seen[0].Mode().IsRegular():
		return nil, errors.New("neither a file nor a folder")
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, source.TrimPath(err)
	}
	return &arrival{tag: tag, body: file}, nil
}

// look returns the state of the files that change with each bundle. In a folder they are
// the manifest and the signature: a change of another file alone makes it invalid.
func look(path string) ([]fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	seen := []fs.FileInfo{info}
	if info.IsDir() {
		for _, name := range []string{bundles.ManifestPath, bundles.SignaturesPath} {
			if info, err := os.Stat(filepath.Join(path, name)); err == nil {
				seen = append(seen, info)
			}
		}
	}
	return seen, nil
}

// untouched reports whether a file was neither replaced nor written in between.
func untouched(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

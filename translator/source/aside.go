package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// ReadBelow reads a file or folder by its path below a folder. The error wraps fs.ErrNotExist
// if it does not exist, or is not below the folder, links followed.
func ReadBelow(ctx context.Context, folder, name string, o DirOptions) (Snapshot, diag.List, error) {
	at := filepath.FromSlash(name)
	if !filepath.IsLocal(at) {
		return Snapshot{}, nil, fmt.Errorf("%s: %w below the folder", name, fs.ErrNotExist)
	}
	at = filepath.Join(folder, at)
	top, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return Snapshot{}, nil, err
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return Snapshot{}, nil, err
	}
	if !isWithin(top, real) {
		return Snapshot{}, nil, fmt.Errorf("%s: %w below the folder", name, fs.ErrNotExist)
	}
	if info, err := os.Stat(real); err != nil || info.IsDir() {
		return Dir(at, o).Snapshot(ctx)
	}
	return ReadFiles(ctx, []string{at}, o)
}

// aside reads documents of the member that a path of the union is in.
func (u *Union) aside(ctx context.Context, name string) (Snapshot, diag.List, error) {
	for _, m := range u.members {
		within, ok := name, m.name == ""
		if !ok {
			within, ok = strings.CutPrefix(name, m.name+"/")
		}
		m.mu.Lock()
		last := m.last
		m.mu.Unlock()
		if ok && last != nil && last.snapshot.Aside != nil {
			return last.snapshot.Aside(ctx, within)
		}
	}
	return Snapshot{}, nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

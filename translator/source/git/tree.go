package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/source"
)

// tree is one reading of a commit's tree.
type tree struct {
	objects objectStore
	top     *object.Tree
	o       source.Limits
	files   []source.File
	bytes   int64
	seen    int
	list    diag.List
}

func (t *tree) reject(name string, r *source.Rejection) { t.list.Add(r.At(name)) }

// readTree reads the documents below subdir, by the rules of a directory: names
// that begin with a dot are left out, links are followed within the repository.
func readTree(ctx context.Context, objects objectStore, commit *object.Commit, subdir string, o source.Limits) ([]source.File, diag.List, error) {
	t := &tree{objects: objects, o: o}
	top, err := t.folderOf(&object.TreeEntry{Hash: commit.TreeHash})
	if err != nil {
		return nil, nil, err
	}
	t.top = top
	folder := top
	if subdir != "" {
		real, entry, err := t.follow(subdir)
		var rejection *source.Rejection
		if err != nil && !errors.As(err, &rejection) {
			return nil, nil, err
		}
		if err != nil || entry.Mode != filemode.Dir {
			return nil, nil, fmt.Errorf("there is no folder %s", strconv.Quote(subdir))
		}
		subdir = real
		if folder, err = t.folderOf(entry); err != nil {
			return nil, nil, err
		}
	}
	if err := t.walk(ctx, "", subdir, folder, nil); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(t.files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return t.files, t.list, nil
}

// walk reads one folder, known as name, standing at real in the repository. The
// trail holds the folders above it.
func (t *tree) walk(ctx context.Context, name, real string, folder *object.Tree, trail []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if slices.Contains(trail, real) {
		t.reject(name, source.FolderLoop)
		return nil
	}
	trail = append(trail[:len(trail):len(trail)], real)
	if err := checkNames(folder.Entries); err != nil {
		return fmt.Errorf("the folder %s: %w", strconv.Quote(name), err)
	}
	seen := make(map[string]string)
	for i := range folder.Entries {
		entry := &folder.Entries[i]
		if strings.HasPrefix(entry.Name, ".") {
			continue
		}
		if other, ok := seen[strings.ToLower(entry.Name)]; ok && candidate(entry) {
			t.reject(path.Join(name, entry.Name), source.SameName(other))
			continue
		}
		if candidate(entry) {
			seen[strings.ToLower(entry.Name)] = entry.Name
		}
		if t.seen++; t.seen > t.o.MaxEntries {
			t.reject(path.Join(name, entry.Name), source.TooManyEntries(t.o.MaxEntries))
			return nil
		}
		if err := t.entry(ctx, path.Join(name, entry.Name), path.Join(real, entry.Name), entry, trail); err != nil {
			return err
		}
	}
	return nil
}

// checkNames refuses a tree that no git makes: names that lead elsewhere, and two
// entries of one name, of which every reader could take another one.
func checkNames(entries []object.TreeEntry) error {
	seen := make(map[string]struct{}, len(entries))
	for i := range entries {
		name := entries[i].Name
		quoted := strconv.QuoteToASCII(name)
		if name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.ContainsAny(name, "/\\") {
			return fmt.Errorf("an entry is named %s", quoted)
		}
		if _, twice := seen[name]; twice {
			return fmt.Errorf("%s twice", quoted)
		}
		seen[name] = struct{}{}
	}
	return nil
}

// candidate reports whether an entry is one to read, or to refuse: nothing that could
// hold documents is left out in silence.
func candidate(entry *object.TreeEntry) bool {
	return entry.Mode == filemode.Dir || entry.Mode == filemode.Symlink || entry.Mode == filemode.Submodule || source.IsDocument(entry.Name)
}

func (t *tree) entry(ctx context.Context, name, real string, entry *object.TreeEntry, trail []string) error {
	if entry.Mode == filemode.Symlink {
		target, end, err := t.follow(real)
		var rejection *source.Rejection
		switch {
		case errors.As(err, &rejection):
			t.reject(name, rejection)
			return nil
		case err != nil:
			return err
		}
		real, entry = target, end
	}
	if entry.Mode != filemode.Dir && entry.Mode != filemode.Submodule && !source.IsDocument(name) {
		return nil
	}
	if !source.IsPrintable(path.Base(name)) {
		t.reject(name, source.Unprintable(name))
		return nil
	}
	switch entry.Mode {
	case filemode.Dir:
		folder, err := t.folderOf(entry)
		if err != nil {
			return err
		}
		return t.walk(ctx, name, real, folder, trail)
	case filemode.Regular, filemode.Executable, filemode.Deprecated:
		progress.FromContext(ctx).Count(1, "files read")
		return t.file(name, entry)
	}
	if entry.Mode == filemode.Submodule {
		t.reject(name, source.Submodule)
		return nil
	}
	t.reject(name, source.NotRegular)
	return nil
}

func (t *tree) folderOf(entry *object.TreeEntry) (*object.Tree, error) {
	folder, err := object.GetTree(t.objects, entry.Hash)
	if err != nil {
		return nil, fmt.Errorf("read the folder %s: %w", strconv.Quote(entry.Name), err)
	}
	return folder, nil
}

func (t *tree) file(name string, entry *object.TreeEntry) error {
	blob, err := t.objects.EncodedObject(plumbing.BlobObject, entry.Hash)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if blob.Size() > t.o.MaxFileBytes {
		t.reject(name, source.FileTooLarge(blob.Size(), t.o.MaxFileBytes))
		return nil
	}
	if t.bytes += blob.Size(); t.bytes > t.o.MaxBytes {
		if t.bytes-blob.Size() <= t.o.MaxBytes {
			t.reject(name, source.TotalTooLarge(t.o.MaxBytes))
		}
		return nil
	}
	content, err := t.read(blob, entry.Hash)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	t.files = append(t.files, source.File{Path: name, Content: content, Hash: sha256.Sum256(content)})
	return nil
}

// read is the content of a blob, which is what its hash says.
func (t *tree) read(blob plumbing.EncodedObject, hash plumbing.Hash) ([]byte, error) {
	content, err := contentOf(blob)
	if err != nil {
		return nil, err
	}
	return content, checkHash(plumbing.BlobObject, content, hash)
}

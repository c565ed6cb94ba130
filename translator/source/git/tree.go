package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/ignore"
)

// tree reads the tree of one commit.
type tree struct {
	objects objectStore
	top     *object.Tree
	limits  source.Limits
	files   []source.File
	bytes   int64
	seen    int
	list    diag.List
	// origin has what files of patterns and settings state, unless noIgnore is set.
	origin   source.Origin
	noIgnore bool
}

func (t *tree) reject(name string, r *source.Rejection) { t.list.Add(r.At(name)) }

// readTree reads the documents below subdir by the rules of source.Directory: names that
// begin with a dot are skipped, links are followed within the repository. It returns an error
// if subdir does not exist, an object is missing or damaged, or a name in the tree is one
// that git would not create.
func readTree(ctx context.Context, objects objectStore, commit *object.Commit, o *Options) (source.Snapshot, diag.List, error) {
	t := &tree{objects: objects, limits: o.Limits, noIgnore: o.NoIgnore}
	subdir := o.Location.Subdir
	top, err := t.readFolder(&object.TreeEntry{Hash: commit.TreeHash})
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	t.top = top
	folder := top
	if subdir != "" {
		real, entry, err := t.follow(subdir)
		var rejection *source.Rejection
		switch {
		case errors.Is(err, source.BrokenLink):
			return source.Snapshot{}, nil, fmt.Errorf("%w: %s", ErrNoFolder, strconv.Quote(subdir))
		case errors.As(err, &rejection):
			return source.Snapshot{}, nil, fmt.Errorf("%w: %s: %w", ErrNotFolder, strconv.Quote(subdir), err)
		case err != nil:
			return source.Snapshot{}, nil, err
		case entry.Mode != filemode.Dir:
			return source.Snapshot{}, nil, fmt.Errorf("%w: %s is a file or a submodule", ErrNotFolder, strconv.Quote(subdir))
		}
		subdir = real
		if folder, err = t.readFolder(entry); err != nil {
			return source.Snapshot{}, nil, err
		}
	}
	if err := t.walk(ctx, "", subdir, folder, nil, ignore.Rules{}); err != nil {
		return source.Snapshot{}, nil, err
	}
	slices.SortFunc(t.files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return source.Snapshot{Files: t.files, Commit: commit.Hash.String(), Origins: []source.Origin{t.origin}}, t.list, nil
}

// walk reads one folder. Its path is name in the policy directory and real in the
// repository. The trail holds the real paths of the folders above it.
func (t *tree) walk(ctx context.Context, name, real string, folder *object.Tree, trail []string, rules ignore.Rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if slices.Contains(trail, real) {
		t.reject(name, source.FolderLoop)
		return nil
	}
	trail = append(slices.Clip(trail), real)
	if err := checkNames(folder.Entries); err != nil {
		return fmt.Errorf("folder %s: %w", strconv.Quote(name), err)
	}
	rules, err := t.addControls(name, real, folder.Entries, rules)
	if err != nil {
		return err
	}
	seen := make(map[string]string)
	for i := range folder.Entries {
		entry := &folder.Entries[i]
		if strings.HasPrefix(entry.Name, ".") {
			continue
		}
		if other, ok := seen[strings.ToLower(entry.Name)]; ok && isCandidate(entry) {
			t.reject(path.Join(name, entry.Name), source.DuplicateName(other))
			continue
		}
		if isCandidate(entry) {
			seen[strings.ToLower(entry.Name)] = entry.Name
		}
		if t.seen++; t.seen > t.limits.MaxEntries {
			t.reject(path.Join(name, entry.Name), source.TooManyEntries(t.limits.MaxEntries))
			return nil
		}
		if err := t.readEntry(ctx, path.Join(name, entry.Name), path.Join(real, entry.Name), entry, trail, rules); err != nil {
			return err
		}
	}
	return nil
}

// checkNames rejects a tree that git does not create: names that are paths, and two entries
// of the same name, of which each reader could take a different one.
func checkNames(entries []object.TreeEntry) error {
	seen := make(map[string]struct{}, len(entries))
	for i := range entries {
		name := entries[i].Name
		quoted := strconv.QuoteToASCII(name)
		if name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.ContainsAny(name, "/\\") {
			return fmt.Errorf("invalid name of an entry: %s", quoted)
		}
		if _, twice := seen[name]; twice {
			return fmt.Errorf("duplicate entry %s", quoted)
		}
		seen[name] = struct{}{}
	}
	return nil
}

// isCandidate reports whether an entry could hold documents, so that it must be read or
// rejected.
func isCandidate(entry *object.TreeEntry) bool {
	return entry.Mode == filemode.Dir || entry.Mode == filemode.Symlink || entry.Mode == filemode.Submodule || source.IsDocument(entry.Name)
}

func (t *tree) readEntry(ctx context.Context, name, real string, entry *object.TreeEntry, trail []string, rules ignore.Rules) error {
	if entry.Mode == filemode.Symlink {
		target, end, err := t.follow(real)
		var rejection *source.Rejection
		switch {
		case errors.As(err, &rejection) && rules.Ignores(name, false):
			t.origin.Ignored++
			return nil
		case errors.As(err, &rejection):
			t.reject(name, rejection)
			return nil
		case err != nil:
			return err
		}
		real, entry = target, end
	}
	isFolder := entry.Mode == filemode.Dir || entry.Mode == filemode.Submodule
	isMisnamed := !isFolder && source.IsMisnamed(name)
	if !isFolder && !isMisnamed && !source.IsDocument(name) {
		return nil
	}
	if rules.Ignores(name, isFolder) {
		t.origin.Ignored++
		return nil
	}
	if isMisnamed {
		t.list.Add(source.Misnamed(name))
		return nil
	}
	if !source.IsPrintable(path.Base(name)) {
		t.reject(name, source.UnprintableName(name))
		return nil
	}
	switch entry.Mode {
	case filemode.Dir:
		folder, err := t.readFolder(entry)
		if err != nil {
			return err
		}
		return t.walk(ctx, name, real, folder, trail, rules)
	case filemode.Regular, filemode.Executable, filemode.Deprecated:
		progress.FromContext(ctx).Count(1, "files read")
		return t.readFile(name, entry)
	}
	if entry.Mode == filemode.Submodule {
		t.reject(name, source.Submodule)
		return nil
	}
	t.reject(name, source.NotRegular)
	return nil
}

func (t *tree) readFolder(entry *object.TreeEntry) (*object.Tree, error) {
	folder, err := object.GetTree(t.objects, entry.Hash)
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", strconv.Quote(entry.Name), err)
	}
	return folder, nil
}

func (t *tree) readFile(name string, entry *object.TreeEntry) error {
	blob, err := t.objects.EncodedObject(plumbing.BlobObject, entry.Hash)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if blob.Size() > t.limits.MaxFileBytes {
		t.reject(name, source.FileTooLarge(blob.Size(), t.limits.MaxFileBytes))
		return nil
	}
	if t.bytes += blob.Size(); t.bytes > t.limits.MaxBytes {
		if t.bytes-blob.Size() <= t.limits.MaxBytes {
			t.reject(name, source.TotalTooLarge(t.limits.MaxBytes))
		}
		return nil
	}
	content, err := readBlob(blob, entry.Hash)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	t.files = append(t.files, source.NewFile(name, content))
	return nil
}

// readBlob returns an error if the content of the blob does not have the given hash.
func readBlob(blob plumbing.EncodedObject, hash plumbing.Hash) ([]byte, error) {
	content, err := readContent(blob)
	if err != nil {
		return nil, err
	}
	return content, checkHash(plumbing.BlobObject, content, hash)
}

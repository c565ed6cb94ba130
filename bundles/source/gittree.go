package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/writ-policy/writ/bundles/phase"
	"github.com/writ-policy/writ/translator/diag"
)

// gitTree is one reading of a commit's tree.
type gitTree struct {
	objects objectStore
	top     *object.Tree
	o       DirOptions
	files   []File
	bytes   int64
	seen    int
	list    listing // for what it says of files
}

// readTree reads the documents below subdir, by the rules of a directory: names
// that begin with a dot are left out, links are followed within the repository.
func readTree(ctx context.Context, objects objectStore, commit *object.Commit, subdir string, o DirOptions) ([]File, diag.List, error) {
	top, err := commit.Tree()
	if err != nil {
		return nil, nil, err
	}
	t := &gitTree{objects: objects, top: top, o: o}
	folder := top
	if subdir != "" {
		real, entry, err := t.follow(subdir)
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
	slices.SortFunc(t.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return t.files, t.list.diagnostics, nil
}

// walk reads one folder, known as name, standing at real in the repository. The
// trail holds the folders above it.
func (t *gitTree) walk(ctx context.Context, name, real string, folder *object.Tree, trail []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if slices.Contains(trail, real) {
		t.list.refuse(name, CodeLinkLoop, "the link leads back to a folder above it", "remove the link")
		return nil
	}
	trail = append(trail[:len(trail):len(trail)], real)
	for i := range folder.Entries {
		entry := &folder.Entries[i]
		if strings.HasPrefix(entry.Name, ".") {
			continue
		}
		if entry.Name == "" || strings.ContainsAny(entry.Name, "/\\") {
			return fmt.Errorf("the tree has an entry named %s", strconv.QuoteToASCII(entry.Name))
		}
		if t.seen++; t.seen > t.o.MaxEntries {
			t.list.refuse(path.Join(name, entry.Name), CodeTooLarge, fmt.Sprintf("the directory has more than %d files and folders", t.o.MaxEntries),
				"point writ at the folder that holds the policies")
			return nil
		}
		if err := t.entry(ctx, path.Join(name, entry.Name), path.Join(real, entry.Name), entry, trail); err != nil {
			return err
		}
	}
	return nil
}

func (t *gitTree) entry(ctx context.Context, name, real string, entry *object.TreeEntry, trail []string) error {
	if entry.Mode == filemode.Symlink {
		target, end, err := t.follow(real)
		var wrong *linkError
		switch {
		case errors.As(err, &wrong):
			t.list.refuse(name, wrong.code, wrong.message, wrong.hint)
			return nil
		case err != nil:
			return err
		}
		real, entry = target, end
	}
	if entry.Mode != filemode.Dir && !isDocument(name) {
		return nil
	}
	if !plain(path.Base(name)) {
		t.list.refuse(name, CodeFileName, fmt.Sprintf("the name %s is not printable text", strconv.QuoteToASCII(path.Base(name))), "rename it")
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
		phase.From(ctx).Count(1, "files read")
		return t.file(name, entry)
	}
	t.list.refuse(name, CodeNotRegular, "not a regular file", "remove it, or give it a name that is not a document's")
	return nil
}

func (t *gitTree) folderOf(entry *object.TreeEntry) (*object.Tree, error) {
	return object.GetTree(t.objects, entry.Hash)
}

func (t *gitTree) file(name string, entry *object.TreeEntry) error {
	file, err := t.top.TreeEntryFile(entry)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if file.Size > t.o.MaxFileBytes {
		t.list.refuse(name, CodeTooLarge, fmt.Sprintf("the file has %d bytes, more than the %d that are read", file.Size, t.o.MaxFileBytes),
			"split it into several files")
		return nil
	}
	if t.bytes += file.Size; t.bytes > t.o.MaxBytes {
		if t.bytes-file.Size <= t.o.MaxBytes {
			t.list.refuse(name, CodeTooLarge, fmt.Sprintf("with this file the directory has more than the %d bytes that are read", t.o.MaxBytes),
				"point writ at the folder that holds the policies")
		}
		return nil
	}
	reader, err := file.Reader()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer reader.Close()
	content, err := io.ReadAll(io.LimitReader(reader, file.Size+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(content)) != file.Size {
		return fmt.Errorf("read %s: not the %d bytes it should have", name, file.Size)
	}
	t.files = append(t.files, File{Path: name, Content: content, Hash: sha256.Sum256(content)})
	return nil
}

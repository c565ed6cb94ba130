package git

import (
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/writ-policy/writ/translator/source"
)

// maxLinks bounds the links in one path; Linux has the same limit.
const maxLinks = 40

// maxLinkBytes bounds the target of a link.
const maxLinkBytes = 4096

// follow returns the entry at a path of the repository and its real path, with all links
// followed. The error is a *source.Rejection if a link must not or cannot be followed.
func (t *tree) follow(name string) (real string, entry *object.TreeEntry, err error) {
	rest := strings.Split(name, "/")
	var done []string
	links := 0
	entries := []*object.TreeEntry{{Mode: filemode.Dir, Hash: t.top.Hash}} // of the top and each name in done
	for len(rest) > 0 {
		step := rest[0]
		rest = rest[1:]
		switch step {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", nil, source.OutsideCheckout
			}
			done, entries = done[:len(done)-1], entries[:len(entries)-1]
			continue
		}
		parent := entries[len(entries)-1]
		if parent.Mode != filemode.Dir {
			return "", nil, source.BrokenLink
		}
		next, err := t.child(parent, step)
		if err != nil {
			return "", nil, err
		}
		if next.Mode != filemode.Symlink {
			done, entries = append(done, step), append(entries, next)
			continue
		}
		if links++; links > maxLinks {
			return "", nil, source.LinkLoop
		}
		target, err := t.readLink(next)
		if err != nil {
			return "", nil, err
		}
		if path.IsAbs(target) {
			return "", nil, source.OutsideCheckout
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return path.Join(done...), entries[len(entries)-1], nil
}

// child returns the entry called name in the folder parent.
func (t *tree) child(parent *object.TreeEntry, name string) (*object.TreeEntry, error) {
	folder, err := t.readFolder(parent)
	if err != nil {
		return nil, err
	}
	for i := range folder.Entries {
		if folder.Entries[i].Name == name {
			return &folder.Entries[i], nil
		}
	}
	return nil, source.BrokenLink
}

func (t *tree) readLink(link *object.TreeEntry) (string, error) {
	blob, err := t.objects.EncodedObject(plumbing.BlobObject, link.Hash)
	if err != nil {
		return "", err
	}
	if blob.Size() > maxLinkBytes {
		return "", source.BrokenLink
	}
	content, err := readBlob(blob, link.Hash)
	return string(content), err
}

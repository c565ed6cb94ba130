package git

import (
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/writ-policy/writ/translator/source"
)

// mostLinks is how many links one path may go through, as Linux has it.
const mostLinks = 40

// longestLink bounds what a link may say.
const longestLink = 4096

// follow finds what stands at a path of the repository, links on the way and at its
// end followed, and where that really is.
func (t *tree) follow(at string) (string, *object.TreeEntry, error) {
	rest := strings.Split(at, "/")
	var done []string
	links := 0
	entry := &object.TreeEntry{Mode: filemode.Dir, Hash: t.top.Hash}
	entries := []*object.TreeEntry{entry} // of done, the top first
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
		if links++; links > mostLinks {
			return "", nil, source.LinkLoop
		}
		target, err := t.target(next)
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

// child is the entry of a name in a folder.
func (t *tree) child(parent *object.TreeEntry, name string) (*object.TreeEntry, error) {
	folder, err := t.folderOf(parent)
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

func (t *tree) target(link *object.TreeEntry) (string, error) {
	blob, err := t.objects.EncodedObject(plumbing.BlobObject, link.Hash)
	if err != nil {
		return "", err
	}
	if blob.Size() > longestLink {
		return "", source.BrokenLink
	}
	content, err := t.read(blob, link.Hash)
	return string(content), err
}

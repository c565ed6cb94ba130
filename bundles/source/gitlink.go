package source

import (
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/writ-policy/writ/translator/diag"
)

// linkError is what is wrong with a link: a mistake in the repository.
type linkError struct {
	code          diag.Code
	message, hint string
}

func (e *linkError) Error() string { return e.message }

var (
	errLinkLoop = &linkError{CodeLinkLoop, "the link leads to itself", "remove the link"}
	errBroken   = &linkError{CodeBrokenLink, "what the link points to is not there", "remove the link, or put its target in place"}
	errOutside  = &linkError{CodeOutsideCheckout, "the link leads out of the git checkout", "copy what it points to into the repository"}
)

// mostLinks is how many links one path may go through, as Linux has it.
const mostLinks = 40

// longestLink bounds what a link may say.
const longestLink = 4096

// follow finds what stands at a path of the repository, links on the way and at its
// end followed, and where that really is.
func (t *gitTree) follow(at string) (string, *object.TreeEntry, error) {
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
				return "", nil, errOutside
			}
			done, entries = done[:len(done)-1], entries[:len(entries)-1]
			continue
		}
		parent := entries[len(entries)-1]
		if parent.Mode != filemode.Dir {
			return "", nil, errBroken
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
			return "", nil, errLinkLoop
		}
		target, err := t.target(next)
		if err != nil {
			return "", nil, err
		}
		if path.IsAbs(target) {
			return "", nil, errOutside
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return path.Join(done...), entries[len(entries)-1], nil
}

// child is the entry of a name in a folder.
func (t *gitTree) child(parent *object.TreeEntry, name string) (*object.TreeEntry, error) {
	folder, err := t.folderOf(parent)
	if err != nil {
		return nil, err
	}
	for i := range folder.Entries {
		if folder.Entries[i].Name == name {
			return &folder.Entries[i], nil
		}
	}
	return nil, errBroken
}

func (t *gitTree) target(link *object.TreeEntry) (string, error) {
	blob, err := t.objects.EncodedObject(plumbing.BlobObject, link.Hash)
	if err != nil {
		return "", err
	}
	if blob.Size() > longestLink {
		return "", errBroken
	}
	content, err := t.read(blob, link.Hash)
	return string(content), err
}

package git

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Written returns when texts came into the files of a folder: the time of the oldest commit, of
// the given one and its first parents, since which a file has a text as often as now. Texts are
// by file and so is the result, which lacks those that the commit does not have, and those that
// are older than what a shallow clone has. The error is that of a context that ends, or of a
// commit that cannot be read.
func (c *Checkout) Written(ctx context.Context, commit, folder string, texts map[string][]string) (map[string]map[string]time.Time, error) {
	at, err := c.repository.CommitObject(plumbing.NewHash(commit))
	if err != nil {
		return nil, err
	}
	now := folderOf(at, folder)
	out, open := make(map[string]map[string]time.Time), make(map[string]map[string]int)
	for file, list := range texts {
		content := contentOf(now, file)
		out[file], open[file] = make(map[string]time.Time), make(map[string]int)
		for _, text := range list {
			if n := strings.Count(content, text); n > 0 && text != "" {
				open[file][text] = n
			}
		}
	}
	for len(open) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parent, err := at.Parent(0)
		if err != nil && len(at.ParentHashes) > 0 {
			break // the clone does not have it
		}
		var before *object.Tree
		if parent != nil {
			before = folderOf(parent, folder)
		}
		if before == nil || before.Hash != now.Hash {
			settle(open, out, now, before, at.Committer.When)
		}
		if before == nil {
			break
		}
		at, now = parent, before
	}
	return out, nil
}

// settle records the texts that files have more often than before.
func settle(open map[string]map[string]int, out map[string]map[string]time.Time, now, before *object.Tree, when time.Time) {
	for file, counts := range open {
		if before != nil {
			a, errNow := now.FindEntry(file)
			b, errBefore := before.FindEntry(file)
			if errNow == nil && errBefore == nil && a.Hash == b.Hash {
				continue
			}
		}
		content := contentOf(before, file)
		for text, n := range counts {
			if strings.Count(content, text) < n {
				out[file][text] = when
				delete(counts, text)
			}
		}
		if len(counts) == 0 {
			delete(open, file)
		}
	}
}

// folderOf returns the tree of a folder, nil if the commit does not have it.
func folderOf(c *object.Commit, folder string) *object.Tree {
	tree, err := c.Tree()
	if err != nil {
		return nil
	}
	if folder = path.Clean(folder); folder == "." {
		return tree
	}
	if tree, err = tree.Tree(folder); err != nil {
		return nil
	}
	return tree
}

// contentOf returns the text of a file, empty if the file does not exist.
func contentOf(tree *object.Tree, file string) string {
	if tree == nil {
		return ""
	}
	found, err := tree.File(file)
	if err != nil {
		return ""
	}
	content, _ := found.Contents() // empty if it cannot be read, as a file that is not there
	return content
}

package source

import (
	"io/fs"
	"strings"

	"github.com/writ-policy/writ/internal/parallel"
)

// statted is a file with what its Info returned.
type statted struct {
	fs.DirEntry
	info fs.FileInfo
	err  error
}

// Info returns what it returned before.
func (s *statted) Info() (fs.FileInfo, error) { return s.info, s.err }

// statsPerWorker is how many files one goroutine asks the file system about.
const statsPerWorker = 128

// statAll asks the file system about all documents of a folder at once: with many files
// these calls are most of the time of a listing.
func statAll(children []fs.DirEntry) []fs.DirEntry {
	if len(children) <= statsPerWorker {
		return children
	}
	out := make([]fs.DirEntry, len(children))
	parallel.Each(len(children), statsPerWorker, func(from, end int) {
		for i := from; i < end; i++ {
			out[i] = statOf(children[i])
		}
	})
	return out
}

func statOf(child fs.DirEntry) fs.DirEntry {
	if !child.Type().IsRegular() || !IsDocument(child.Name()) || strings.HasPrefix(child.Name(), ".") {
		return child
	}
	info, err := child.Info()
	return &statted{child, info, err}
}

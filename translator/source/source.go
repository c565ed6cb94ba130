// Package source reads documents from a directory into one consistent snapshot and
// reports when the directory may have changed. It knows file names, links and bytes; it
// does not parse contents. Package git below does the same for a git repository.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// A snapshot is consistent or it is not taken: identity, size and times of every file are
// compared before and after it is read, and the directory is listed again at the end. The
// alternative, reading what is there and repairing it at the next event, would compile half
// of a checkout.
//
// A file that could hold documents and must not be read stops the whole directory with a
// diagnostic. Files are never skipped silently, because the skipped file could hold a
// denial.
package source

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// File is one file of a snapshot.
type File struct {
	// Path is relative to the policy directory, with slashes.
	Path string
	// Content is shared between snapshots and must not be changed.
	Content []byte
	// Hash is the SHA-256 of Content.
	Hash [sha256.Size]byte
}

// Snapshot is one consistent reading of a source. The zero value is an empty directory.
type Snapshot struct {
	// Files are sorted by path.
	Files []File
	// Commit is the commit of the files in hexadecimal digits, empty for a directory.
	// Key ignores it: the same documents under two commits are the same documents.
	Commit string
}

// Key returns a hash over the paths and contents of all files. Two snapshots with the same
// key hold the same documents.
func (s Snapshot) Key() string {
	h := sha256.New()
	var length [8]byte
	for _, f := range s.Files {
		binary.BigEndian.PutUint64(length[:], uint64(len(f.Path)))
		h.Write(length[:])
		h.Write([]byte(f.Path))
		h.Write(f.Hash[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

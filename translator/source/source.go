// Package source says where documents come from: it reads a directory into one
// consistent snapshot and tells when the directory has changed. It knows file
// names, links and bytes, and nothing of what is written in them.
//
// # Design
//
// A snapshot is consistent or it is not taken: every file's identity, size and
// times are compared before, while and after it is read, and the directory is
// listed again at the end. The alternative, reading whatever is there and
// letting the next event repair it, would compile half of a checkout.
//
// What cannot be a document stops the directory with a diagnostic or an error;
// nothing is left out in silence, because the file left out could be the one
// that denies.
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

// Snapshot is one consistent reading of a source, its files sorted by path. The
// zero value is an empty directory.
type Snapshot struct {
	Files []File
	// Commit is the commit the files are of, as hexadecimal digits; empty where
	// they are of none. It is no part of Key: the same documents under two commits
	// are the same documents.
	Commit string
}

// Key is a hash over the names and contents of all files: two snapshots with
// one key hold the same documents.
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

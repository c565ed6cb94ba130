// Package source reads documents from a directory into one consistent snapshot and
// reports when the directory may have changed. It knows file names, links and bytes; it
// parses the files that state how it is read (".writignore", ".writ.yaml") and no other
// contents. Packages git and kube below do the same for a git repository
// and for a cluster. A Union joins several sources.
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
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
)

// Source provides documents. Implementations are safe for concurrent use.
type Source interface {
	// Snapshot reads the documents. It returns an error if they cannot be read; what must
	// not be read is a diagnostic. An unreadable source is never read as an empty one.
	Snapshot(ctx context.Context) (Snapshot, diag.List, error)
	// Watch calls notify once after it has started to watch and whenever the documents
	// may have changed, until ctx is done. It returns nil then, and an error if it cannot
	// watch. Notify must not block.
	Watch(ctx context.Context, notify func()) error
}

// File is one file of a snapshot.
type File struct {
	// Path is relative to the policy directory, with slashes. It begins with the name of
	// the source if the snapshot has several.
	Path    string
	Content Text
	// Hash is the SHA-256 of Content.
	Hash [sha256.Size]byte
	// Origin is the index of the source in Snapshot.Origins.
	Origin int
	// Object states that Content is one object of an API server as JSON, and that Path is
	// its name: positions in it are fields, because it has no lines.
	Object bool
}

// Size returns how many bytes files have.
func Size(files []File) (bytes int) {
	for i := range files {
		bytes += files[i].Content.Len()
	}
	return bytes
}

// Kind is a kind of document that an API server may serve.
type Kind struct {
	APIVersion string
	Name       string
}

// Origin is one of the sources of a snapshot.
type Origin struct {
	// Name identifies the source among others: the paths of its files begin with it if the
	// snapshot has several sources. Empty for the only source.
	Name string
	// Cluster states that the documents are the objects of an API server.
	Cluster bool
	// Unserved are the kinds that the API server does not serve, as KIND.GROUP, sorted.
	Unserved []string
	// MayBeEmpty states that the source is complete without a policy document: it has sessions
	// alone, and often none of them.
	MayBeEmpty bool
	// Settings are those of the file ".writ.yaml" of the source, and SettingsFile is the
	// file; its Path is empty for a source without one.
	Settings     settings.Settings
	SettingsFile File
	// Accepted are the warnings about files of the source that are not reported.
	Accepted []settings.Acceptance
	// Ignored is the number of files and folders that patterns leave out.
	Ignored int
	// Commit is the commit that was read; its Hash is empty for a source without commits.
	Commit Commit
}

// MayBeEmpty reports whether each source of the snapshot may be without a policy document.
func (s *Snapshot) MayBeEmpty() bool {
	return len(s.Origins) > 0 && !slices.ContainsFunc(s.Origins, func(o Origin) bool { return !o.MayBeEmpty })
}

// Commit is a commit of a repository, as people read it. Its texts are those of its author.
type Commit struct {
	Hash string
	// Author is a name, without an address.
	Author string
	Date   time.Time
	// Subject is the first line of the message.
	Subject string
}

// longestCommitText is how many characters of a name or a subject are kept.
const longestCommitText = 200

// NewCommit returns a commit whose texts are short and printable.
func NewCommit(hash, author string, date time.Time, message string) Commit {
	subject, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	clip := func(text string) string {
		runes := []rune(printable(strings.TrimSpace(text)))
		return string(runes[:min(len(runes), longestCommitText)])
	}
	return Commit{hash, clip(author), date.UTC(), clip(subject)}
}

// Snapshot is one consistent reading of a source. The zero value is an empty directory.
type Snapshot struct {
	// Files are sorted by path.
	Files []File
	// Commit is the commit of the files in hexadecimal digits, empty for a directory.
	// Key ignores it: the same documents under two commits are the same documents.
	Commit string
	// Cluster is the only cluster that the documents are for; empty stands for all.
	Cluster string
	// Origins are the sources of the files. Nil stands for one directory.
	Origins []Origin
	// Stale names the sources that cannot be read now, whose files are those of their last
	// good snapshot; nil if all were read.
	Stale error
	// Aside reads documents of the source that are not policy: a file or folder by its path in
	// the source, such as one whose name begins with a dot. The error wraps fs.ErrNotExist if
	// the path does not exist below the source. Nil if the source cannot read them.
	Aside func(ctx context.Context, name string) (Snapshot, diag.List, error)
}

// Key returns a hash over the paths and contents of all files, and the settings. Two snapshots with the same
// key hold the same documents.
func (s Snapshot) Key() string {
	h := sha256.New()
	add := func(text string) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		h.Write(length[:])
		h.Write([]byte(text))
	}
	for _, f := range s.Files {
		add(f.Path)
		h.Write(f.Hash[:])
	}
	// Each source must hold documents, so a source without files matters.
	for _, o := range s.Origins {
		add(o.Name)
		add(o.Settings.String())
		add(fmt.Sprint(o.Accepted))
	}
	return hex.EncodeToString(h.Sum(nil))
}

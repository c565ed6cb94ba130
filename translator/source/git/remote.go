package git

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/writ-policy/writ/translator/diag"
)

// remote is a repository to read from.
type remote interface {
	// resolve returns the hash that ref names; an empty ref names HEAD.
	resolve(ctx context.Context, ref string) (plumbing.Hash, error)
	// objects returns the objects of a commit or tag. They are valid until release is called.
	objects(ctx context.Context, hash plumbing.Hash) (objects objectStore, release func(), err error)
	// history returns at least the commits between a commit and base, if base is an
	// ancestor. They are valid until release is called.
	history(ctx context.Context, hash, base plumbing.Hash) (history objectStore, release func(), err error)
}

// newRemote returns the remote of the location, with fresh credentials and certificates.
func (r *Repository) newRemote() (remote, error) {
	u, err := url.Parse(r.o.Location.URL)
	if err != nil {
		return nil, errInvalidURL
	}
	if u.Scheme == "file" {
		return localRemote{u.Path}, nil
	}
	if u.Scheme == "ssh" && u.User == nil {
		u.User = url.User("git")
		if r.o.Location.User != "" {
			u.User = url.User(r.o.Location.User)
		}
	}
	server := &serverRemote{url: u.String(), o: &r.o}
	if server.http, err = r.httpTransport(); err != nil {
		return nil, err
	}
	if r.o.Credentials != nil {
		if server.auth, err = r.o.Credentials(r.o.Location); err != nil {
			return nil, fmt.Errorf("get credentials: %w", err)
		}
	}
	return server, nil
}

// errInvalidURL does not quote the URL, which may contain a password.
var errInvalidURL = errors.New("the git location must be a URL")

// findReference resolves ref in the order of git: a full name, then a tag, then a branch, then
// a branch of another repository. If no reference matches, it returns an error with the most
// similar name of known.
func findReference(lookup func(plumbing.ReferenceName) *plumbing.Reference, ref string, known []plumbing.ReferenceName) (plumbing.Hash, error) {
	names := []string{"refs/" + ref, "refs/tags/" + ref, "refs/heads/" + ref, "refs/remotes/" + ref}
	switch {
	case ref == "":
		names = []string{"HEAD"}
	case strings.HasPrefix(ref, "refs/") || ref == "HEAD":
		names = append([]string{ref}, names...)
	}
	for _, name := range names {
		const maxSymbolic = 5
		r := lookup(plumbing.ReferenceName(name))
		for range maxSymbolic {
			if r == nil || r.Type() == plumbing.HashReference {
				break
			}
			r = lookup(r.Target())
		}
		if r != nil && r.Type() == plumbing.HashReference {
			if r.Hash().IsZero() {
				return plumbing.ZeroHash, fmt.Errorf("the reference %q does not name a commit", name)
			}
			return r.Hash(), nil
		}
	}
	return plumbing.ZeroHash, &missingReference{ref, suggestion(known, ref)}
}

// suggestion returns the end of a message: a question with the most similar name, or nothing.
func suggestion(known []plumbing.ReferenceName, ref string) string {
	var names []string
	for _, name := range known {
		if name.IsBranch() || name.IsTag() {
			names = append(names, name.Short())
		}
	}
	slices.Sort(names)
	if near := diag.Suggest(ref, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

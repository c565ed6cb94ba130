package source

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Location says where documents are: in a directory of this machine, or in a git
// repository.
type Location struct {
	// Dir is the directory; empty where Git is set.
	Dir string
	Git *GitLocation
}

// GitLocation is a place in a git repository.
type GitLocation struct {
	// URL is the repository: http, https, ssh or file, without user and password.
	URL string
	// User is the user of ssh, empty for "git".
	User string
	// Subdir is the policy directory in the repository, with slashes; empty is its
	// top.
	Subdir string
	// Ref is a branch, a tag, a full reference or a commit's 40 digits; empty is
	// what the repository's HEAD names.
	Ref string
}

const gitPrefix = "git+"

// repositoryForm is what git takes for a place elsewhere, and would be a strange name
// of a folder.
var repositoryForm = regexp.MustCompile(`^[a-z+]+://|^[\w.-]+@[\w.-]+:`)

// ParseLocation reads a location as people write it: a path, or
// git+https://HOST/PATH//SUBDIR?ref=REF with https, http, ssh or file. Two slashes
// end the repository's path where a sub-directory follows. A password has no place
// in it: locations are logged.
func ParseLocation(text string) (Location, error) {
	rest, isGit := strings.CutPrefix(text, gitPrefix)
	if !isGit {
		if repositoryForm.MatchString(text) { // with a password in it, perhaps: it is not quoted
			return Location{}, errors.New("a git repository is named git+https://HOST/REPOSITORY//FOLDER?ref=REF, or git+ssh://USER@HOST/REPOSITORY")
		}
		return Location{Dir: text}, nil
	}
	u, err := url.Parse(rest)
	if err != nil {
		return Location{}, errors.New("the location is no URL") // the error quotes it, and what may be a password
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh" && u.Scheme != "file":
		return Location{}, fmt.Errorf("a git location begins with git+https, git+ssh, git+http or git+file, not git+%s", u.Scheme)
	case u.Scheme != "file" && u.Host == "":
		return Location{}, errors.New("the git location names no host")
	case u.Fragment != "":
		return Location{}, errors.New("a git location has no fragment; write ?ref=REF")
	}
	if u.User != nil {
		if _, has := u.User.Password(); has || u.Scheme != "ssh" {
			return Location{}, errors.New("user and password do not belong into a git location; give them by the environment or a credentials file")
		}
	}
	git := &GitLocation{User: u.User.Username()}
	for key, values := range u.Query() {
		if key != "ref" || len(values) != 1 {
			return Location{}, fmt.Errorf("a git location has no parameter %q but one ref", key)
		}
		git.Ref = values[0]
	}
	if git.Ref != "" && !plainRef(git.Ref) {
		return Location{}, fmt.Errorf("%q is no git reference", git.Ref)
	}
	repository := u.Path
	if at := strings.Index(strings.TrimPrefix(u.Path, "/"), "//"); at >= 0 {
		at += len(u.Path) - len(strings.TrimPrefix(u.Path, "/"))
		repository, git.Subdir = u.Path[:at], strings.Trim(path.Clean("/"+u.Path[at+2:]), "/")
	}
	if strings.Trim(repository, "/") == "" {
		return Location{}, errors.New("the git location names no repository")
	}
	git.URL = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: repository}).String()
	return Location{Git: git}, nil
}

// plainRef keeps out what git's own check of reference names does, as far as it
// could be taken for something else.
func plainRef(ref string) bool {
	return !strings.HasPrefix(ref, "-") && !strings.Contains(ref, "..") && !strings.ContainsAny(ref, " ~^:?*[\\\x7f") &&
		strings.IndexFunc(ref, func(r rune) bool { return r < ' ' }) < 0 && !strings.HasSuffix(ref, "/")
}

// String is the location as it is logged and shown.
func (l Location) String() string {
	if l.Git == nil {
		return l.Dir
	}
	text := gitPrefix + l.Git.URL
	if l.Git.Subdir != "" {
		text += "//" + l.Git.Subdir
	}
	if l.Git.Ref != "" {
		text += "?ref=" + url.QueryEscape(l.Git.Ref)
	}
	return text
}

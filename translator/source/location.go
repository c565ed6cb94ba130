package source

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// Location is a place of documents: a local directory, a git repository or a cluster.
type Location struct {
	// Dir is a directory, empty if Git or Kube is set.
	Dir  string
	Git  *GitLocation
	Kube *KubeLocation
}

// GitLocation is a folder in a git repository at one reference.
type GitLocation struct {
	// URL is the repository: http, https, ssh or file, without user and password.
	URL string
	// User is the SSH user; empty means "git".
	User string
	// Subdir is the policy directory in the repository, with slashes; empty means the top
	// of the repository.
	Subdir string
	// Ref is a branch, a tag, a full reference or the 40 digits of a commit; empty means
	// the repository's HEAD.
	Ref string
}

const gitPrefix = "git+"

// gitForm matches URLs and SCP-like addresses, which git accepts and which are unlikely
// names of local directories.
var gitForm = regexp.MustCompile(`^[a-z+]+://|^[\w.-]+@[\w.-]+:`)

// ParseLocation parses a path, a cluster in the form kube:CONTEXT?namespace=NS&kinds=KIND,KIND
// or kube:in-cluster, or a git location of the form
// git+https://HOST/PATH//SUBDIR?ref=REF with https, http, ssh or file. Two slashes end the
// path of the repository if a sub-directory follows. It returns an error if text is another
// kind of URL, or a git location without a host or a repository, or one with a password, a
// fragment, an unknown parameter or an invalid reference. Errors do not quote the URL, which
// may contain a password.
func ParseLocation(text string) (Location, error) {
	if rest, isKube := strings.CutPrefix(text, diag.ObjectPrefix); isKube {
		kube, err := parseKube(rest)
		return Location{Kube: kube}, err
	}
	rest, isGit := strings.CutPrefix(text, gitPrefix)
	if !isGit {
		if gitForm.MatchString(text) {
			return Location{}, errors.New("a git location must have the form git+https://HOST/REPOSITORY//FOLDER?ref=REF or git+ssh://USER@HOST/REPOSITORY")
		}
		return Location{Dir: text}, nil
	}
	u, err := url.Parse(rest)
	if err != nil {
		return Location{}, errors.New("the git location must be a URL") // err quotes the URL
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh" && u.Scheme != "file":
		return Location{}, fmt.Errorf("a git location must begin with git+https, git+ssh, git+http or git+file, not git+%s", u.Scheme)
	case u.Scheme != "file" && u.Host == "":
		return Location{}, errors.New("the git location has no host")
	case u.Fragment != "":
		return Location{}, errors.New("a git location must not have a fragment; use ?ref=REF")
	}
	if u.User != nil {
		if _, has := u.User.Password(); has || u.Scheme != "ssh" {
			return Location{}, errors.New("a git location must not contain a user or a password; use the environment or a credentials file")
		}
	}
	git := &GitLocation{User: u.User.Username()}
	for key, values := range u.Query() {
		if key != "ref" || len(values) != 1 {
			return Location{}, fmt.Errorf("unknown or repeated parameter %q: a git location takes one ref", key)
		}
		git.Ref = values[0]
	}
	if git.Ref != "" && !isSafeRef(git.Ref) {
		return Location{}, fmt.Errorf("%q is not a git reference", git.Ref)
	}
	repository := u.Path
	if at := strings.Index(strings.TrimPrefix(u.Path, "/"), "//"); at >= 0 {
		at += len(u.Path) - len(strings.TrimPrefix(u.Path, "/"))
		repository, git.Subdir = u.Path[:at], strings.Trim(path.Clean("/"+u.Path[at+2:]), "/")
	}
	if strings.Trim(repository, "/") == "" {
		return Location{}, errors.New("the git location has no repository")
	}
	git.URL = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: repository}).String()
	return Location{Git: git}, nil
}

// isSafeRef applies those rules of git-check-ref-format that prevent a reference from being
// read as an option, a range or a pattern.
func isSafeRef(ref string) bool {
	return !strings.HasPrefix(ref, "-") && !strings.Contains(ref, "..") && !strings.ContainsAny(ref, " ~^:?*[\\\x7f") &&
		strings.IndexFunc(ref, func(r rune) bool { return r < ' ' }) < 0 && !strings.HasSuffix(ref, "/")
}

// String returns the location in the form of ParseLocation, without the user.
func (l Location) String() string {
	switch {
	case l.Kube != nil:
		return l.Kube.String()
	case l.Git == nil:
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

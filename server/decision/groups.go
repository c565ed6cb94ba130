package decision

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Groups and users of Kubernetes' authentication.
const (
	authenticated   = "system:authenticated"
	unauthenticated = "system:unauthenticated"
	anonymous       = "system:anonymous"
	serviceAccounts = "system:serviceaccounts"
)

// Completed returns r with the groups that Kubernetes implies, if p adds them; otherwise r
// itself. Endpoints and commands whose requests are of the canonical form call it, so that
// keys of caches and logs have the groups. Reviews of an API server have them already.
func (r *Request) Completed(p Policies) *Request {
	if !p.Tables().Access().ImpliesGroups() {
		return r
	}
	return r.WithImpliedGroups()
}

// WithImpliedGroups returns r with the groups that a Kubernetes API server adds to its user,
// or r itself if it lacks none of them.
func (r *Request) WithImpliedGroups() *Request {
	groups, implied := AddImpliedGroups(r.User, r.Groups)
	if len(implied) == 0 {
		return r
	}
	completed := *r
	completed.Groups, completed.implied = groups, implied
	return &completed
}

// AddImpliedGroups returns groups, with those that a Kubernetes API server adds to a user,
// and what it added. Adding them twice changes nothing.
func AddImpliedGroups(user string, groups []string) (all, added []string) {
	for _, group := range impliedGroups(user, groups) {
		if !slices.Contains(groups, group) {
			added = append(added, group)
		}
	}
	return slices.Concat(groups, added), added
}

// impliedGroups returns the groups of a user. A user who is stated to be authenticated, or
// not to be, remains so: Kubernetes adds neither group then.
func impliedGroups(user string, groups []string) []string {
	var implied []string
	switch account, isAccount := strings.CutPrefix(user, tables.AccountPrefix); {
	case user == "":
		return nil // a question about groups alone
	case user == anonymous:
		return []string{unauthenticated}
	case isAccount:
		namespace, name, _ := strings.Cut(account, ":")
		if namespace != "" && name != "" && !strings.Contains(name, ":") {
			implied = []string{serviceAccounts, serviceAccounts + ":" + namespace}
		}
	}
	if slices.Contains(groups, unauthenticated) {
		return implied
	}
	return append(implied, authenticated)
}

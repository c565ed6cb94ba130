package cache

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
)

// authorizationKey encodes the parts of a request that its authorization depends on.
// Each part is preceded by its length, so that different parts give different keys.
// The revision is not part of it: authorizationCache keeps one for all entries.
func authorizationKey(r *decision.VisibilityRequest) string {
	var room [512]byte
	b := room[:0]
	account := r.ServiceAccount
	if account.Namespace == "" || account.Name == "" {
		account = decision.ServiceAccount{} // it does not count
	}
	for _, part := range [...]string{r.User, account.Namespace, account.Name, action(r), r.Type, r.Cluster.Name} {
		b = keyPart(b, part)
	}
	groups := groupSet(r)
	b = binary.AppendUvarint(b, uint64(len(groups)))
	for _, group := range groups {
		b = keyPart(b, group)
	}
	names := make([]string, 0, len(r.Cluster.Labels))
	for name := range r.Cluster.Labels {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b = keyPart(keyPart(b, name), r.Cluster.Labels[name])
	}
	return string(b)
}

func keyPart(b []byte, part string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

func action(r *decision.VisibilityRequest) string {
	if r.Action == "" {
		return decision.ActionView
	}
	return r.Action
}

// groupSet is the request's groups that count, sorted, each once.
func groupSet(r *decision.VisibilityRequest) []string {
	groups := slices.DeleteFunc(slices.Clone(r.Groups), func(group string) bool { return group == "" })
	slices.Sort(groups)
	return slices.Compact(groups)
}

// shownKey names an entry in the log. It is not unique and no entry is looked up by
// it.
func shownKey(r *decision.VisibilityRequest) string {
	user := r.User
	if names := r.Names(); user == "" && len(names) > 0 {
		user = names[0]
	}
	principal := user + ":" + strings.Join(groupSet(r), ",")
	if !r.IsCustom() {
		resource := r.Cluster.Name
		if r.Type != "" {
			resource += "/" + r.Type
		}
		return "rbac:decision:" + principal + ":" + action(r) + ":" + resource
	}
	cluster := r.Cluster.Name
	if cluster == "" {
		cluster = "all"
	}
	return "rbac:custom:" + principal + ":" + r.Type + ":" + cluster + ":" + action(r)
}

// weighAuthorization estimates how many bytes an entry keeps alive: it holds maps,
// which are several times as large as their text.
func weighAuthorization(key string, v *cachedAuthorization) int {
	const anEntry = 600
	return anEntry + 2*len(key) + len(v.shown) + 6*len(v.authorization.AppendJSON(nil))
}

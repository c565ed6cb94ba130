package cache

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
)

// viewKey is all of a request that its authorization is a matter of: different for
// any two requests that differ in it, since every part has its length before it.
// The revision is not in it but beside it, in views.
func viewKey(r *decision.VisibilityRequest) string {
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

// shownKey is how operators read of an entry. Different entries may look alike in
// it: nothing is ever found by it.
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

// weighView is about how many bytes an entry keeps alive: what it says is held in
// maps, several times as large as their text.
func weighView(key string, v *view) int {
	const anEntry = 600
	return anEntry + 2*len(key) + len(v.shown) + 6*len(v.authorization.AppendJSON(nil))
}

package engine

import (
	"strings"

	"github.com/writ-policy/writ/translator/lower"
)

// tree is the access tables expanded for look-ups: who is bound leads to grants,
// a grant's role leads by verb, group and resource (or verb and kind) to the
// numbers of its rules. Equal parts are one, which keeps a large tree small. It
// is never changed once it is made.
type tree struct {
	cluster    places
	namespaces map[string]*places
}

// places are the grants of each user and group in one scope.
type places struct {
	users, groups map[string][]grant
}

// grant is a binding together with the role it names.
type grant struct {
	binding *lower.Binding
	role    *role
}

// role is a role and the way to its rules.
type role struct {
	*lower.Role
	kubernetes verbs
	origin     originVerbs
	// paths are the numbers of the rules about paths.
	paths []int
}

// verbs, groups and resources are the levels of a Kubernetes role.
type (
	verbs     map[string]groups
	groups    map[string]resources
	resources map[resource][]int
)

// resource is an entry of a rule: its resource, and a name where the rule has
// names.
type resource struct {
	entry string
	name  string
	named bool
}

// originVerbs and originKinds are the levels of an Origin role, by positive
// entries; what a rule negates is looked at afterwards.
type (
	originVerbs map[string]originKinds
	originKinds map[string][]int
)

// all is the entry that a request for "*" looks up: rules that cover the whole,
// or, to deny, that touch it. Upper case keeps it apart from what requests and
// documents say, which is looked up in lower case.
const all = "ALL"

// expand makes the tree of the tables.
func expand(access *lower.Access) *tree {
	s := newSharer()
	roles := make(map[string]*role, len(access.Roles))
	grants := make(map[string]grant, len(access.Bindings))
	for key := range access.Bindings {
		binding := access.Bindings[key]
		if roles[binding.Role] == nil {
			declared := access.Roles[binding.Role]
			roles[binding.Role] = s.role(&declared)
		}
		grants[key] = grant{&binding, roles[binding.Role]}
	}
	t := &tree{cluster: *place(access.Subjects.Cluster, grants), namespaces: make(map[string]*places)}
	for namespace, subjects := range access.Subjects.Namespaces {
		t.namespaces[namespace] = place(subjects, grants)
	}
	return t
}

func place(subjects map[string][]string, grants map[string]grant) *places {
	p := &places{users: make(map[string][]grant), groups: make(map[string][]grant)}
	for subject, keys := range subjects {
		held := make([]grant, len(keys))
		for i, key := range keys {
			held[i] = grants[key]
		}
		if user, ok := strings.CutPrefix(subject, "user:"); ok {
			p.users[user] = held
		} else {
			p.groups[strings.TrimPrefix(subject, "group:")] = held
		}
	}
	return p
}

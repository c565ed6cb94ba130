package tables

import (
	"cmp"
	"slices"
)

// originPolicyName is the name of every Policy object. The tables have the roles of a Policy
// and not its name, and a namespace has at most one.
const originPolicyName = "default"

// OriginObject is a Role, a RoleBinding or a Policy as documents write it, in lower case and
// with sorted entries. Its Kind and APIVersion are not set.
type OriginObject struct {
	Kind       string                 `json:"kind"`
	APIVersion string                 `json:"apiVersion"`
	Metadata   originName             `json:"metadata"`
	Rules      []originRule           `json:"rules,omitempty"`
	Roles      map[string]originRules `json:"roles,omitempty"`
	RoleRef    *originName            `json:"roleRef,omitempty"`
	UserNames  []string               `json:"userNames,omitempty"`
	GroupNames []string               `json:"groupNames,omitempty"`
}

type (
	originName struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	}
	originRules struct {
		Rules []originRule `json:"rules"`
	}
	originRule struct {
		Deny                  bool           `json:"deny,omitempty"`
		Verbs                 []string       `json:"verbs"`
		ResourceKinds         []string       `json:"resourceKinds"`
		AttributeRestrictions map[string]any `json:"attributeRestrictions,omitempty"`
	}
)

// OriginObjects returns the objects of a kind, which is Role, RoleBinding or Policy, in a
// namespace, sorted by name; never nil. A name that is not empty selects one.
func (t *Access) OriginObjects(kind, namespace, name string) []OriginObject {
	list := []OriginObject{}
	switch kind {
	case "RoleBinding":
		list = t.originBindings(namespace, name)
	case "Policy":
		if name != "" && name != originPolicyName {
			break
		}
		roles := make(map[string]originRules)
		for _, role := range t.originRoles(namespace, "") {
			roles[role.Metadata.Name] = originRules{role.Rules}
		}
		if len(roles) > 0 {
			list = append(list, OriginObject{Metadata: originName{originPolicyName, namespace}, Roles: roles})
		}
	default:
		list = t.originRoles(namespace, name)
	}
	slices.SortFunc(list, func(a, b OriginObject) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) })
	return list
}

func (t *Access) originRoles(namespace, name string) []OriginObject {
	list := []OriginObject{}
	for _, role := range t.Roles.All() {
		if role.Family != FamilyOrigin || role.Namespace != namespace || name != "" && role.Name != name {
			continue
		}
		o := OriginObject{Metadata: originName{role.Name, namespace}, Rules: []originRule{}}
		for i := range role.Origin {
			from := &role.Origin[i]
			to := originRule{Deny: from.Deny, Verbs: Negated(from.Verbs, from.NotVerbs), ResourceKinds: Negated(from.Kinds, from.NotKinds)}
			if from.Restrictions != nil {
				to.AttributeRestrictions = from.Restrictions.Written()
			}
			o.Rules = append(o.Rules, to)
		}
		list = append(list, o)
	}
	return list
}

func (t *Access) originBindings(namespace, name string) []OriginObject {
	byKey := make(map[string]*OriginObject)
	for key, b := range t.Bindings.All() {
		if b.Family != FamilyOrigin || b.Namespace != namespace || name != "" && b.Name != name {
			continue
		}
		role := t.Roles.At(b.Role)
		byKey[key] = &OriginObject{Metadata: originName{b.Name, namespace}, RoleRef: &originName{role.Name, role.Namespace}}
	}
	within := namespace
	if namespace == t.Master {
		within = "" // its bindings reach every namespace
	}
	for subject, keys := range t.Subjects.In(within).All() {
		for _, key := range *keys {
			o := byKey[key]
			if o == nil {
				continue
			}
			if of := ParseSubject(subject); !of.IsGroup {
				o.UserNames = append(o.UserNames, of.Name)
			} else {
				o.GroupNames = append(o.GroupNames, of.Name)
			}
		}
	}
	list := []OriginObject{}
	for _, o := range byKey {
		slices.Sort(o.UserNames)
		slices.Sort(o.GroupNames)
		list = append(list, *o)
	}
	return list
}

// Negated returns entries as documents write them, those of not with a minus sign.
func Negated(entries, not []string) []string {
	out := slices.Clone(entries)
	for _, entry := range not {
		out = append(out, "-"+entry)
	}
	return out
}

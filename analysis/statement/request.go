package statement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// The beginnings of principals; an account is a user of this name. An unnamed user is one
// that no document names.
const (
	UserPrefix    = tables.UserPrefix
	GroupPrefix   = tables.GroupPrefix
	AccountPrefix = tables.AccountPrefix
	unnamed       = "unnamed"
)

// Request is a request under construction. A nil map or list is unknown.
type Request struct {
	User   string
	Groups []string

	Verb, Group, Resource, Subresource, Path string
	Name, Namespace                          string
	NamespaceLabels                          map[string]string
	tables.Scope
	ClusterLabels                map[string]string
	Labels                       map[string]string
	Fields                       []string
	Minion, PodMinion            string
	LabelSelector, FieldSelector []selector.Requirement
	Issuer                       string // of the user; see issuerOf

	// Facts are members that no statement reads: pod, type, items and the like.
	Facts map[string]any

	spelled *spelled // nil: its words are not kept
}

// KeepWords keeps the words that conditions compute of the request, which must not change any
// more: neither its verb nor its API group, resource or subresource. They are computed at the
// first match, so that a request that is kept is not safe for concurrent use.
func (r *Request) KeepWords() *Request {
	r.spelled = new(spelled)
	return r
}

// stage is a part of a request that is chosen at once. A condition on a part may depend
// on earlier parts.
type stage = int

// The stages of a request, in their order.
const (
	stageTarget    stage = iota // resource and subresource, or path
	stageVerb                   // verb
	stageGroup                  // API group
	stageName                   // name
	stageNamespace              // namespace and its labels
	StageCluster                // cluster and its labels
	stageScope                  // members of tables.Scope beside the cluster ...
	stageReferred               // ... and those for which an escalation stands
	stageLabels                 // labels
	stageFields                 // fields
	stageSelected               // the fields that a selector selects by
	stageNodes                  // the nodes of sameMinionRestriction
	stageIssuer                 // who has authenticated the user
	stages
)

// Object returns the request as JSON members for a point.
func (r *Request) Object(point string) map[string]any {
	o := map[string]any{"user": r.User}
	maps.Copy(o, r.Facts)
	if len(r.Groups) > 0 {
		o["groups"] = r.Groups
	}
	if point == PointVisibility {
		if r.Cluster != "" {
			cluster := map[string]any{"name": r.Cluster}
			if r.ClusterLabels != nil {
				cluster["labels"] = r.ClusterLabels
			}
			o["cluster"] = cluster
		}
		return o
	}
	for _, member := range textMembers {
		if value := *member.of(r); value != "" {
			o[member.name] = value
		}
	}
	if r.NamespaceLabels != nil {
		o["namespaceLabels"] = r.NamespaceLabels
	}
	if r.Labels != nil {
		o["labels"] = r.Labels
	}
	if r.Fields != nil {
		o["fields"] = r.Fields
	}
	attributes := make(map[string]any)
	if r.Minion != "" {
		attributes["minion"] = r.Minion
	}
	if r.PodMinion != "" {
		attributes["podMinion"] = r.PodMinion
	}
	for key, requirements := range map[string][]selector.Requirement{selector.LabelKey: r.LabelSelector, selector.FieldKey: r.FieldSelector} {
		if len(requirements) > 0 {
			attributes[key] = selector.Written(requirements)
		}
	}
	if _, given := o["attributes"]; !given && len(attributes) > 0 {
		o["attributes"] = attributes
	}
	if _, given := o["extra"]; !given && r.Issuer != "" {
		o["extra"] = map[string]any{tables.IssuerKey: []string{r.Issuer}}
	}
	return o
}

// RequestOf returns a request that holds some principals, unnamed if principals is empty. It
// returns false if no request holds all of them: it has one user, and at the point
// visibility a service account.
func RequestOf(point string, principals []string) (r Request, ok bool) {
	users := 0
	for _, p := range principals {
		user, isUser := strings.CutPrefix(p, UserPrefix)
		account, isAccount := strings.CutPrefix(user, AccountPrefix)
		namespace, name, isComplete := strings.Cut(account, ":")
		switch {
		case !isUser:
			r.Groups = append(r.Groups, strings.TrimPrefix(p, GroupPrefix))
		case isAccount && isComplete && name != "" && r.Facts == nil && point == PointVisibility:
			r.Facts = map[string]any{"serviceAccount": map[string]any{"namespace": namespace, "name": name}}
		default:
			r.User = user
			users++
		}
	}
	if r.User == "" && (len(r.Groups) == 0 || point == PointVisibility) && r.Facts == nil {
		r.User = unnamed // groups alone are not a principal there
	}
	return r, users <= 1
}

// IsUnnamed reports whether a request of RequestOf has a user that none of the principals is.
func (r *Request) IsUnnamed(principals []string) bool {
	return r.User == unnamed && !slices.Contains(principals, UserPrefix+unnamed)
}

// UnnamedUser returns a user whom none of some revisions names.
func UnnamedUser(worlds ...*World) string {
	user := unnamed
	isNamed := func(w *World) bool {
		return w.Names(UserPrefix+user) || slices.Contains(w.Sessions().Users(), UserPrefix+user)
	}
	for n := 1; slices.ContainsFunc(worlds, isNamed); n++ {
		user = fmt.Sprintf("%s-%d", unnamed, n)
	}
	return user
}

// textMap returns the text members of an object, nil if the value is not an object.
func textMap(value any) map[string]string {
	switch m := value.(type) {
	case map[string]string:
		return m
	case map[string]any:
		out := make(map[string]string, len(m))
		for k, v := range m {
			out[k], _ = v.(string)
		}
		return out
	}
	return nil
}

// textList returns the texts of a list, nil if the value is not a list.
func textList(value any) []string {
	switch l := value.(type) {
	case []string:
		return l
	case []any:
		out := make([]string, 0, len(l))
		for _, v := range l {
			text, _ := v.(string)
			out = append(out, text)
		}
		return out
	}
	return nil
}

// textMember is a member of a request that is a string, and the stage that chooses it.
type textMember struct {
	name  string
	stage stage
	of    func(*Request) *string
}

var textMembers = append([]textMember{
	{"path", stageTarget, func(r *Request) *string { return &r.Path }},
	{"subresource", stageTarget, func(r *Request) *string { return &r.Subresource }},
	{"resource", stageTarget, func(r *Request) *string { return &r.Resource }},
	{"verb", stageVerb, func(r *Request) *string { return &r.Verb }},
	{"apiGroup", stageGroup, func(r *Request) *string { return &r.Group }},
	{"name", stageName, func(r *Request) *string { return &r.Name }},
	{"namespace", stageNamespace, func(r *Request) *string { return &r.Namespace }},
}, scopeMembers()...)

func scopeMembers() (out []textMember) {
	for i, key := range tables.ScopeKeys() {
		out = append(out, textMember{key, stageOf(i), func(r *Request) *string { return r.At(i) }})
	}
	return out
}

// stageOf returns the stage that chooses a member of tables.ScopeAttributes.
func stageOf(i int) stage {
	switch {
	case i == tables.ScopeCluster:
		return StageCluster
	case tables.ScopeAttributes[i].IsReferred:
		return stageReferred
	}
	return stageScope
}

// Setters returns what sets each member of a request, other than its user and its groups,
// to its value in an object or to its absence. Members that are open have none.
func Setters(object map[string]any, open map[string]bool) []func(*Request) {
	var out []func(*Request)
	for _, member := range textMembers {
		if text, _ := object[member.name].(string); !open[member.name] {
			out = append(out, func(r *Request) { *member.of(r) = text })
		}
	}
	if labels := textMap(object["labels"]); !open["labels"] {
		out = append(out, func(r *Request) { r.Labels = labels })
	}
	if labels := textMap(object["namespaceLabels"]); !open["namespaceLabels"] {
		out = append(out, func(r *Request) { r.NamespaceLabels = labels })
	}
	if fields := textList(object["fields"]); !open["fields"] {
		out = append(out, func(r *Request) { r.Fields = fields })
	}
	if !open["extra"] {
		issuer := IssuerOf(object)
		out = append(out, func(r *Request) { r.Issuer = issuer })
	}
	if !open["attributes"] {
		attributes, _ := object["attributes"].(map[string]any)
		own, _ := attributes["minion"].(string)
		pods, _ := attributes["podMinion"].(string)
		labels, fields := selector.Labels(attributes), selector.Fields(attributes)
		out = append(out, func(r *Request) {
			r.Minion, r.PodMinion, r.LabelSelector, r.FieldSelector = own, pods, labels, fields
		})
	}
	return out
}

// IssuerOf returns the issuer that the extra values of a request state, empty for none. Of
// several different ones it returns a text that no document has.
func IssuerOf(object map[string]any) string {
	extra, _ := object["extra"].(map[string]any)
	list := tables.Once(slices.DeleteFunc(slices.Clone(textList(extra[tables.IssuerKey])), func(issuer string) bool { return issuer == "" }))
	return strings.Join(list, "\x00")
}

// Principals returns those of a user and its groups, the user first. An empty user is left out.
func Principals(user string, groups []string) []string {
	var out []string
	if user != "" {
		out = append(out, UserPrefix+user)
	}
	return append(out, elements.Map(groups, func(group string) string { return GroupPrefix + group })...)
}

// Selecting returns a request with a label selector for the labels of its object, or nil if it has
// none, has a selector already, or is one to which servers apply no selectors.
func Selecting(request map[string]any) map[string]any {
	text := func(key string) string { value, _ := request[key].(string); return value }
	labels, _ := request["labels"].(map[string]string)
	attributes, _ := request["attributes"].(map[string]any)
	if len(labels) == 0 || attributes[selector.LabelKey] != nil || !selector.Counts(text("verb"), text("resource"), text("subresource")) {
		return nil
	}
	var requirements []selector.Requirement
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		requirements = append(requirements, selector.Is(key, labels[key]))
	}
	attributes = maps.Clone(attributes)
	if attributes == nil {
		attributes = make(map[string]any)
	}
	attributes[selector.LabelKey] = selector.Written(requirements)
	out := With(request, "attributes", attributes)
	delete(out, "labels")
	return out
}

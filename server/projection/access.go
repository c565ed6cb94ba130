package projection

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// Subjects are the subjects of bindings. Subject reports whether cluster-wide bindings
// name a user or group, whether bindings of a namespace do, and what the restrictions of
// all their rules read. No binding has an empty namespace.
type Subjects interface {
	Subject(namespace string, group bool, name string) (reads tables.Reads, isClusterWide, isLocal bool)
}

// AccessKeys projects requests at the access point. It is immutable.
type AccessKeys struct {
	subjects                Subjects
	holds                   func(*decision.Request) bool // nil: no request
	whole                   bool                         // the bundle has no footprint
	verbs, resources        words
	subresources            words
	verbPrefixes            []string
	apiGroups               set
	names, namespaces       *values
	scope                   [len(tables.ScopeAttributes)]*values
	tenants                 tables.Tenants
	groups                  set // that escalations name
	paths                   set
	pathPrefixes            *values
	labels, namespaceLabels *labels
	selected                *labels // fields
	pods                    bool
}

// What the access point treats in a special way, whatever documents name, beside what stands
// for a subresource.
var (
	specialVerbs = append([]string{
		"*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", rule.Impersonate,
	}, rule.Streams...)
	specialResources = []string{"*", "pods"}
)

// impersonation is the prefix of verbs that ask for impersonation. Of such requests the
// verb and the subresource are kept.
const impersonation = "impersonate"

// AccessKey appends the projection of a validated request. Keys are not JSON and must not
// be stored: their form may change.
func (p *AccessKeys) AccessKey(b []byte, r *decision.Request) []byte {
	if p.whole || r.IsAlone() || p.holds != nil && p.holds(r) {
		return appendWhole(b, r)
	}
	if r.Path != "" {
		return p.appendPath(b, r)
	}
	start := len(b)
	s := subjectKey{namespace: r.Namespace}
	b = p.appendSubjects(append(b, 'r'), r, &s)
	if s.reads&tables.ReadsAll != 0 {
		return appendWhole(b[:start], r)
	}
	b = appendNamed(b, r.Verb, p.isNamedVerb(r.Verb))
	b = appendNamed(b, r.APIGroup, p.apiGroups.has(r.APIGroup))
	b = appendNamed(b, r.Resource, p.resources.has(r.Resource))
	b = appendNamed(b, r.Subresource, p.subresources.has(r.Subresource) || isImpersonation(r.Verb))
	if p.pods && (r.Pod != nil || r.PodError != "") {
		return p.appendPod(append(b, 'p'), r, s.reads)
	}
	b = p.names.append(append(b, '-'), r.Name)
	if s.isLocal {
		b = appendText(b, r.Namespace)
	} else {
		b = p.namespaces.append(b, r.Namespace)
	}
	return p.appendFacts(b, r, s.reads)
}

// appendPod appends the rest of a request with a pod. Pod security compares the pod with
// the request, and its text has values of both.
func (p *AccessKeys) appendPod(b []byte, r *decision.Request, reads tables.Reads) []byte {
	b = appendText(appendText(b, r.Name), r.Namespace)
	if reads&tables.ReadsNodes == 0 {
		b = appendObject(appendText(b, r.PodError), r.Pod)
	}
	return p.appendFacts(b, r, reads)
}

func (p *AccessKeys) isNamedVerb(verb string) bool {
	if p.verbs.has(verb) {
		return true
	}
	lower := strings.ToLower(verb)
	return slices.ContainsFunc(p.verbPrefixes, func(prefix string) bool { return strings.HasPrefix(lower, prefix) })
}

func isImpersonation(verb string) bool {
	return strings.HasPrefix(strings.ToLower(verb), impersonation)
}

// subjectKey is what the subjects of a request determine about its other attributes.
type subjectKey struct {
	namespace string       // of the request
	reads     tables.Reads // of restrictions
	isLocal   bool         // a binding in the namespace names a subject
}

// appendSubjects appends the subjects that bindings or escalations name, groups sorted and
// each once.
func (p *AccessKeys) appendSubjects(b []byte, r *decision.Request, s *subjectKey) []byte {
	var room [16]string
	groups := room[:0]
	for _, group := range r.Groups {
		if p.isBound(true, group, s) || p.groups.has(group) {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	if r.User != "" && p.isBound(false, r.User, s) {
		b = appendText(b, r.User)
	} else {
		b = append(b, absent) // an empty user is not a subject either
	}
	b = binary.AppendUvarint(b, uint64(len(groups)))
	for _, group := range groups {
		b = appendText(b, group)
	}
	return b
}

func (p *AccessKeys) isBound(group bool, name string, s *subjectKey) bool {
	reads, isClusterWide, isLocal := p.subjects.Subject(s.namespace, group, name)
	s.reads |= reads
	s.isLocal = s.isLocal || isLocal
	return isClusterWide || isLocal
}

// appendFacts appends what deny policies and restrictions read.
func (p *AccessKeys) appendFacts(b []byte, r *decision.Request, reads tables.Reads) []byte {
	scope := p.tenants.In(r.Scope())
	for i := range tables.ScopeAttributes {
		if p.scope[i].isRead() {
			b = p.scope[i].append(b, *scope.At(i))
		}
	}
	if len(p.namespaceLabels.names) > 0 && r.Namespace != "" {
		b = p.namespaceLabels.append(b, r.NamespaceLabels)
	}
	if reads == 0 {
		return append(b, 0)
	}
	b = append(b, byte(reads))
	if reads&tables.ReadsFields != 0 {
		b = appendTexts(b, r.Fields)
	}
	if reads&tables.ReadsLabels != 0 {
		b = p.labels.append(b, r.Labels)
		if r.Labels == nil {
			b = p.labels.appendLabelSelector(b, r)
		}
	}
	if reads&tables.ReadsSelected != 0 {
		b = p.selected.appendFieldSelector(b, r)
	}
	if reads&tables.ReadsNodes != 0 {
		b = appendNodes(b, r)
	}
	return b
}

// nodePrefix begins the users that are agents of nodes.
const nodePrefix = "system:node:"

// appendNodes appends what the nodes of requester and pod are read from.
func appendNodes(b []byte, r *decision.Request) []byte {
	b = appendNamed(b, r.User, strings.HasPrefix(r.User, nodePrefix))
	b = appendObject(appendText(b, r.PodError), r.Pod)
	b = appendJSON(b, r.Attributes["minion"])
	b = appendJSON(b, r.Attributes["podMinion"])
	return appendNodeSelector(b, r)
}

// appendPath appends a request about a path. No restrictions apply to it, and deny
// policies only if it asks for impersonation.
func (p *AccessKeys) appendPath(b []byte, r *decision.Request) []byte {
	b = p.appendSubjects(append(b, 'n'), r, &subjectKey{})
	b = appendNamed(b, r.Verb, p.isNamedVerb(r.Verb))
	if isImpersonation(r.Verb) {
		b = p.appendFacts(b, r, 0)
	} else if clusters := p.scope[tables.ScopeCluster]; clusters.isRead() {
		b = clusters.append(b, r.Cluster)
	}
	if p.paths.has(r.Path) {
		return appendText(b, r.Path)
	}
	return p.pathPrefixes.appendPrefix(append(b, unnamed), r.Path)
}

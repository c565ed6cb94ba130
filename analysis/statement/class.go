package statement

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// classRule fits the requests of a class of an assertion, of any subject.
type classRule struct {
	c      *assertion.Class
	groups []string // the API groups that resource reads together with the resource
	reads  stage    // the last stage with a condition
}

// InClass returns a statement that fits the requests of a class, of any subject.
func InClass(c *assertion.Class) *Statement {
	k := &classRule{c: c}
	if c.Text("apiGroup") == nil {
		k.groups = resourceGroups(c.Text("resource"), nil)
	}
	for _, member := range textMembers {
		if c.Text(member.name) != nil {
			k.reads = max(k.reads, member.stage)
		}
	}
	if c.Text("resource") != nil {
		k.reads = max(k.reads, stageGroup)
	}
	for key, at := range map[string]stage{"namespaceLabels": stageNamespace, "clusterLabels": StageCluster, "labels": stageLabels} {
		if c.Labels[key] != nil {
			k.reads = max(k.reads, at)
		}
	}
	return &Statement{Condition: k}
}

// resourceGroups adds the API groups that the words of a value name.
func resourceGroups(v *assertion.Value, to []string) []string {
	for _, word := range v.Words() {
		if word != "*" {
			to = append(to, ParseResource(word).Group)
		}
	}
	return tables.Once(to)
}

// Resource is a resource as people write it: RESOURCE.GROUP/SUBRESOURCE.
type Resource struct {
	Word, Group, Sub string
	AnySub           bool
}

// ParseResource reads a resource. Without a group it is of the core group, without a
// subresource the resource itself.
func ParseResource(text string) Resource {
	head, sub, _ := strings.Cut(text, "/")
	word, group, _ := strings.Cut(head, ".")
	if sub == "*" {
		return Resource{word, group, "", true}
	}
	return Resource{word, group, sub, false}
}

// aboutResources are the keys of classes that paths are not in.
var aboutResources = []string{"resource", "apiGroup", "subresource", "namespace", "name"}

// fewGroups is how many API groups the bits of a stage tell apart, and all others.
const fewGroups = 7

// Match implements Condition.
func (k *classRule) Match(at stage, r *Request) uint8 {
	switch at {
	case stageTarget:
		return k.target(r)
	case stageGroup:
		return Bit(r.Path != "" || k.c.Texts["apiGroup"].Fits(r.Group) && k.resource(k.c.Text("resource"), r, r.Group))
	case stageNamespace:
		return Bit(k.hasTexts(at, r) && k.c.Labels["namespaceLabels"].Fits(r.NamespaceLabels))
	case StageCluster:
		return Bit(k.hasTexts(at, r) && k.c.Labels["clusterLabels"].Fits(r.ClusterLabels))
	case stageLabels:
		return Bit(k.c.Labels["labels"].Fits(r.Labels))
	}
	return Bit(k.hasTexts(at, r))
}

// hasTexts reports whether the texts that a stage chooses fit.
func (k *classRule) hasTexts(at stage, r *Request) bool {
	return !slices.ContainsFunc(textMembers, func(m textMember) bool { return m.stage == at && !k.c.Texts[m.name].Fits(*m.of(r)) })
}

// target returns a bit for each API group in which the resource fits, the last one for
// groups that the class does not name.
func (k *classRule) target(r *Request) uint8 {
	path := k.c.Text("path")
	if r.Path != "" {
		isOfResources := slices.ContainsFunc(aboutResources, func(key string) bool { return k.c.Texts[key] != nil })
		return Bit(path.Fits(r.Path) && (path != nil || !isOfResources))
	}
	if path != nil || !k.c.Text("subresource").Fits(r.Subresource) {
		return 0
	}
	v := k.c.Text("resource")
	var bits uint8
	many := len(k.groups) > fewGroups
	for i, group := range k.groups {
		fits := Bit(k.resource(v, r, group))
		if many {
			bits |= fits
		} else {
			bits |= fits << i
		}
	}
	return bits | Bit(k.resource(v, r, noGroup))<<fewGroups
}

// noGroup stands for an API group that no word has.
const noGroup = "\x00"

// resource reports whether the resource of a request fits a value in an API group.
func (k *classRule) resource(v *assertion.Value, r *Request, group string) bool {
	if v == nil {
		return true
	}
	for _, word := range v.Texts {
		if word == "*" && r.Resource == "*" {
			return true
		}
		e := ParseResource(word)
		if word != "*" && e.Word == r.Resource && (k.c.Text("apiGroup") != nil || e.Group == group) &&
			(k.c.Text("subresource") != nil || e.AnySub || e.Sub == r.Subresource) {
			return true
		}
	}
	pattern := assertion.Value{Globs: v.Globs, Prefixes: v.Prefixes}
	return pattern.Fits(r.Resource) || slices.ContainsFunc(v.Not, func(n *assertion.Value) bool { return !k.resource(n, r, group) })
}

func (k *classRule) filter() *tables.NamespaceFilter { return nil }

func (k *classRule) last() stage { return k.reads }

// Mention implements Condition.
func (k *classRule) Mention(v *Values) {
	for _, member := range textMembers {
		if list := v.list(member.name); list != &v.resources {
			list.Add(k.c.Texts[member.name].Words()...)
			list.Patterns = append(list.Patterns, k.c.Texts[member.name].Expressions()...)
		}
	}
	resource := k.c.Text("resource")
	for _, word := range resource.Words() {
		e := ParseResource(word)
		v.resources.Add(e.Word)
		v.groups.Add(e.Group)
		v.subresources.Add(e.Sub)
	}
	v.resources.Patterns = append(v.resources.Patterns, resource.Expressions()...)
	v.manyGroups = v.manyGroups || len(k.groups) > fewGroups
	for key, labels := range map[string]*LabelValues{"labels": &v.labels, "namespaceLabels": &v.namespaceLabels, "clusterLabels": &v.ClusterLabels} {
		given := k.c.Labels[key]
		if given == nil {
			continue
		}
		for _, t := range given.Terms {
			labels.Add(t.Key, t.Value.Words()...)
			labels.AddPatterns(t.Key, t.Value.Expressions()...)
		}
	}
}

// Describe implements Condition. Reports do not show classes as statements.
func (k *classRule) Describe(*JSON) {}

// Without implements Condition.
func (k *classRule) Without(Condition) Condition { return k }

// entryRule is an entry of a list of what is allowed.
type entryRule struct {
	*KubernetesRule
	namespaces []string
}

// InEntry returns a statement that fits what an entry of a list allows, of any subject.
func InEntry(e *assertion.Entry) *Statement {
	lists := &tables.KubernetesLists{Verbs: e.Verbs, Groups: e.Groups, Resources: e.Resources, Names: e.Names, Paths: e.Paths}
	return &Statement{Condition: &entryRule{&KubernetesRule{KubernetesLists: lists}, e.Namespaces}}
}

// Match implements Condition.
func (e *entryRule) Match(at stage, r *Request) uint8 {
	if at == stageNamespace && e.namespaces != nil {
		return Bit(slices.Contains(e.namespaces, r.Namespace))
	}
	return e.KubernetesRule.Match(at, r)
}

func (e *entryRule) last() stage {
	if e.namespaces != nil {
		return stageNamespace
	}
	return e.KubernetesRule.last()
}

// Mention implements Condition.
func (e *entryRule) Mention(v *Values) {
	e.KubernetesRule.Mention(v)
	v.namespaces.Add(e.namespaces...)
}

// Without implements Condition.
func (e *entryRule) Without(Condition) Condition { return e }

// Words are the values that a statement names, by key of a request, and plain words for its
// patterns.
func (s *Statement) Words() map[string][]string {
	var v Values
	s.Condition.Mention(&v)
	s.mentionPlace(&v)
	out := make(map[string][]string)
	for _, member := range textMembers {
		list := v.list(member.name)
		out[member.name] = append(slices.DeleteFunc(slices.Clone(list.Values), func(w string) bool { return list.folded[w] }), list.samples...)
	}
	return out
}

// Names are the names of objects that a statement compares with, as they are written.
func (s *Statement) Names() []string {
	var v Values
	s.Condition.Mention(&v)
	return v.names.Values
}

// HasPatternFor reports whether a pattern of the statement, other than "*", fits a value of a
// key.
func (s *Statement) HasPatternFor(key, value string) bool {
	var v Values
	s.Condition.Mention(&v)
	fits := func(pattern string) bool {
		expression, err := regexp.Compile(pattern)
		return err == nil && expression.MatchString(value)
	}
	return slices.Contains(tables.ScopeKeys("namespace", "name"), key) && slices.ContainsFunc(v.list(key).Patterns, fits)
}

// Texts returns the members of the request that are texts, by their names.
func (r *Request) Texts() map[string]*string {
	out := make(map[string]*string, len(textMembers))
	for _, member := range textMembers {
		out[member.name] = member.of(r)
	}
	return out
}

// Clone returns a copy that shares no map with r.
func (r *Request) Clone() *Request {
	out := *r
	out.Labels, out.NamespaceLabels, out.Facts = maps.Clone(r.Labels), maps.Clone(r.NamespaceLabels), maps.Clone(r.Facts)
	return &out
}

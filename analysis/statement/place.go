package statement

import (
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// Place is what a namespace is to some statements. They treat namespaces of one place
// alike.
type Place struct {
	// Left are the statements that may fit in the namespace.
	Left []*Statement
}

// Places finds the place of each namespace for one list of statements.
type Places struct {
	list []*Statement
	by   map[string]*Place // by namespace
	same map[string]*Place // by what the statements make of it
}

// NewPlaces returns the places of some statements.
func NewPlaces(list []*Statement) *Places {
	return &Places{list: list, by: map[string]*Place{"": {Left: list}}, same: make(map[string]*Place)}
}

// Of returns the place of a namespace. The empty one stands for every namespace, and none.
func (p *Places) Of(namespace string) *Place {
	if found := p.by[namespace]; found != nil {
		return found
	}
	var key []byte
	var left []*Statement
	for i, s := range p.list {
		if f := s.fitIn(namespace); f != never {
			key = append(key, byte(i), byte(i>>8), byte(i>>16), byte(f))
			left = append(left, s)
		}
	}
	found := p.same[string(key)]
	if found == nil {
		found = &Place{Left: left}
		p.same[string(key)] = found
	}
	p.by[namespace] = found
	return found
}

// fit is whether a statement fits in a namespace as far as its name decides.
type fit byte

const (
	never fit = iota
	always
	byLabels   // of the namespace
	bySelector // which may contradict the namespace
)

// ReadsNamespace reports whether the condition treats some namespaces in another way.
func (s *Statement) ReadsNamespace() bool {
	return s.Condition.filter() != nil || len(s.selectedNamespaces()) > 0
}

// selectedNamespaces are those that a restriction requires of the object.
func (s *Statement) selectedNamespaces() (out []string) {
	o, ok := s.Rule().(*OriginRule)
	if !ok || o.Restrictions == nil {
		return nil
	}
	for _, e := range o.Restrictions.Select {
		if e.Key == "metadata.namespace" {
			out = append(out, *e.Value)
		}
	}
	return out
}

func (s *Statement) fitIn(namespace string) fit {
	if s.Namespace != "" && s.Namespace != namespace {
		return never
	}
	f := s.Condition.filter()
	switch {
	case f == nil && slices.ContainsFunc(s.selectedNamespaces(), func(selected string) bool { return selected != namespace }):
		return bySelector
	case f == nil, len(f.Patterns) > 0 && rule.FitsAny(f.Patterns, namespace):
		return always
	case len(f.Terms) > 0:
		return byLabels
	}
	return never
}

// circumstance is a condition on where a request is: what exempts a pod, or where an
// override is in force. Unknown namespace labels do not fit.
type circumstance struct {
	namespaces *tables.NamespaceFilter
	clusters   []tables.PathGlob
}

// Match implements Condition.
func (c *circumstance) Match(at stage, r *Request) uint8 {
	switch at {
	case stageNamespace:
		w := rule.Words{Request: rule.Request{Namespace: r.Namespace, NamespaceLabels: r.NamespaceLabels}}
		return Bit(rule.InNamespaces(c.namespaces).Match(&w) == rule.Yes)
	case StageCluster:
		return Bit(rule.FitsAny(c.clusters, r.Cluster))
	}
	return 1
}

func (c *circumstance) filter() *tables.NamespaceFilter { return c.namespaces }

func (c *circumstance) last() stage {
	if len(c.clusters) > 0 {
		return StageCluster
	}
	return stageNamespace
}

// Mention implements Condition.
func (c *circumstance) Mention(v *Values) {
	v.addFilter(c.namespaces)
	v.Clusters().addGlobs(c.clusters)
}

// Describe implements Condition.
func (c *circumstance) Describe(*JSON) {}

// Without implements Condition.
func (c *circumstance) Without(Condition) Condition { return c }

// InNamespaces returns a statement that fits requests in the namespaces of a filter.
func InNamespaces(f *tables.NamespaceFilter) *Statement {
	return &Statement{Condition: &circumstance{namespaces: f}}
}

// OverrideStatement fits requests for which an escalation may override pod security.
func OverrideStatement(e *tables.Escalation) *Statement {
	return &Statement{Condition: &circumstance{e.NamespaceScope, e.Clusters}}
}

// Escalations returns the escalations of the revision that override pod security for requests
// which name them. The caller must not change them.
func (w *World) Escalations() []*tables.Escalation {
	if deny := tables.Of[*tables.Deny](w.Revision.Tables); deny != nil {
		return pointersTo(deny.Escalations)
	}
	return nil
}

// Overrides returns the escalations of the revision that override pod security, for users of
// their sessions at least. The caller must not change them.
func (w *World) Overrides() []*tables.Escalation {
	if deny := tables.Of[*tables.Deny](w.Revision.Tables); deny != nil {
		return pointersTo(deny.Owned)
	}
	return nil
}

func pointersTo(list []tables.Escalation) []*tables.Escalation {
	out := make([]*tables.Escalation, 0, len(list))
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

// Rest is what a statement reads of the name, the namespace and the labels of a request,
// whose other members fit it. Its parts must all hold. A nil part holds.
type Rest struct {
	// Namespace is the only one that fits; empty for every one, and none.
	Namespace string
	// Names are the only ones that fit, and Patterns those of a deny policy.
	Names    []string
	Patterns *NamePatterns
	// Namespaces is the condition of a deny policy on the namespace and its labels.
	Namespaces *tables.NamespaceFilter
	// Labels are the labels that the object must have. Unless they are known, Unlabeled
	// states whether the statement fits.
	Labels    []tables.Entry
	Unlabeled bool
	// Fields are names and namespaces that the object must have. A field that is empty fits
	// if OrNone is set.
	Fields []tables.Entry
	OrNone bool
	// Pods are the only ones that fit; empty for every one.
	Pods []tables.PodName
}

// NamePatterns is the condition of a deny policy on the name.
type NamePatterns struct {
	Globs []tables.PathGlob // none: every name that is not empty fits
	// NoName states whether a request without a name fits.
	NoName bool
}

// Open are the members of a request that Rest leaves open.
type Open struct{ Name, Namespace, Labels, NamespaceLabels bool }

// Rest returns what of a statement depends on the open members of a request; it returns
// false for ok if the statement fits no such request. isExact is false if it depends on them
// in a way that Rest does not express.
func (s *Statement) Rest(r *Request, open Open) (rest Rest, isExact, ok bool) {
	for at := range stages {
		switch at {
		case stageName, stageNamespace, stageLabels, stageSelected, stageNodes:
			continue
		}
		if s.Condition.Match(at, r) == 0 {
			return rest, true, false
		}
	}
	rest.Namespace = s.Namespace
	switch c := s.Rule().(type) {
	case *KubernetesRule:
		rest.Names = c.Names
	case *debugRule:
		rest.Pods = slices.DeleteFunc(slices.Clone(c.s.Pods), func(p tables.PodName) bool { return p.Namespace == "" || p.Name == "" })
		return rest, true, len(rest.Pods) > 0
	case *OriginRule:
		isExact, ok = c.rest(r, open, &rest)
		return rest, isExact, ok
	case *denyRule:
		if len(c.r.Names) > 0 || c.r.NeedsName {
			rest.Patterns = &NamePatterns{c.r.Names, !c.r.NeedsName}
		}
		rest.Namespaces = c.r.Namespaces
	case *impersonationRule:
		if d := c.r.Identity; d != nil && !isAction(r) {
			if len(d.Names) > 0 {
				rest.Patterns = &NamePatterns{d.Names, rule.FitsAny(d.Names, "")}
			}
			rest.Namespaces = d.Namespaces
		}
	}
	return rest, true, true
}

// rest sets the labels and fields that an allow rule needs, and that a deny rule matches.
func (o *OriginRule) rest(r *Request, open Open, rest *Rest) (isExact, ok bool) {
	if o.Restrictions == nil {
		return true, true
	}
	if len(o.Restrictions.Labels) > 0 {
		if !open.Labels && o.verdict(o.labels(r)) == 0 {
			return true, false
		}
		if open.Labels {
			rest.Labels, rest.Unlabeled = o.Restrictions.Labels, o.verdict(o.labels(r)) != 0 // which are not known in r
		}
	}
	isOpen := func(key string) bool {
		return open.Name && key == "metadata.name" || open.Namespace && key == "metadata.namespace"
	}
	isSelected := func(q selector.Requirement) bool { return isOpen(q.Key) }
	if (len(o.Restrictions.Select) > 0 || o.Restrictions.SameMinion) && slices.ContainsFunc(r.FieldSelector, isSelected) {
		return false, true
	}
	if o.verdict(o.holdsOnNode(r)) == 0 {
		return true, false
	}
	known := &OriginRule{Deny: o.Deny, Restrictions: &tables.Restrictions{}}
	for _, e := range o.Restrictions.Select {
		if isOpen(e.Key) {
			rest.Fields = append(rest.Fields, e)
		} else {
			known.Restrictions.Select = append(known.Restrictions.Select, e)
		}
	}
	if len(rest.Fields) > 0 && (len(o.Restrictions.Select) > 1 || len(r.FieldSelector) > 0) {
		return false, true // entries, or an entry and a selector, may contradict each other
	}
	rest.OrNone = o.Deny
	return true, o.verdict(known.selected(r)) != 0
}

// Policy returns the deny policy of a statement, nil for others.
func (s *Statement) Policy() *tables.DenyPolicy {
	switch c := s.Rule().(type) {
	case *denyRule:
		return c.policy
	case *impersonationRule:
		return c.policy
	case *podRule:
		return c.policy
	}
	return nil
}

// ReadsPod reports whether a pod decides the statement.
func (s *Statement) ReadsPod() bool { return s.Opaque == WhyPod }

// IsOpaque reports whether an expression or an extension decides the statement.
func (s *Statement) IsOpaque() bool {
	return s.Opaque == WhyCEL || strings.HasPrefix(s.Opaque, whyExtension)
}

// MonitorRule returns a rule of a policy, -1 being its default, and the MetricSource of a
// type; nil for what the revision does not have.
func (w *World) MonitorRule(namespace, name string, rule int, typ string) (*tables.VisibilityRule, *tables.MetricSource) {
	t := tables.Of[*tables.Visibility](w.Whole().Revision.Tables)
	if t == nil {
		return nil, nil
	}
	var source *tables.MetricSource
	if at, ok := t.Types[typ]; ok {
		source = &t.Sources[at]
	}
	i := slices.IndexFunc(t.Policies, func(p tables.VisibilityPolicy) bool { return p.Namespace == namespace && p.Name == name })
	switch {
	case i < 0 || rule >= len(t.Policies[i].Rules):
		return nil, source
	case rule < 0:
		return t.Policies[i].ByDefault, source
	}
	return &t.Policies[i].Rules[rule], source
}

// EndsAt reports whether an instant is the last one at which a policy holds.
func (w *World) EndsAt(at time.Time) bool {
	t := tables.Of[*tables.Visibility](w.Whole().Revision.Tables)
	return t != nil && slices.ContainsFunc(t.Policies, func(p tables.VisibilityPolicy) bool { return p.NotAfter != nil && p.NotAfter.Equal(at) })
}

// Namespaces returns the namespaces that documents name, sorted: those of bindings, of
// sessions, and of deny policies that name them without a pattern.
func (w *World) Namespaces() []string {
	var out []string
	for place := range w.Access.Subjects.Namespaces.All() {
		out = append(out, place)
	}
	for _, s := range w.Deny {
		if f := s.Condition.filter(); f != nil {
			for _, g := range f.Patterns {
				if name, ok := g.Literal(); ok {
					out = append(out, name)
				}
			}
		}
	}
	if t := tables.Of[*tables.Sessions](w.Revision.Tables); t != nil {
		for _, s := range t.Debug.All() {
			for _, pod := range s.Pods {
				out = append(out, pod.Namespace)
			}
		}
	}
	out = tables.Entries(out)
	return slices.DeleteFunc(out, func(name string) bool { return name == "" })
}

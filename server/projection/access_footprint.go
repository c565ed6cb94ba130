package projection

import (
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// NewAccessKeys returns the projection for a footprint; nil keeps whole requests. Of requests
// that sessions may decide, as holds reports, all is kept; nil stands for none.
func NewAccessKeys(f *footprint.Footprint, subjects Subjects, tenants tables.Tenants, holds func(*decision.Request) bool) *AccessKeys {
	if f == nil {
		return &AccessKeys{whole: true}
	}
	a := &f.Access
	p := &AccessKeys{
		subjects:        subjects,
		holds:           holds,
		verbs:           make(words),
		resources:       make(words),
		subresources:    make(words),
		verbPrefixes:    []string{impersonation},
		apiGroups:       setOf(a.APIGroups.Values),
		names:           valuesOf(a.Names),
		namespaces:      valuesOf(a.Namespaces),
		tenants:         tenants,
		groups:          setOf(a.Groups),
		paths:           setOf(a.Paths.Values),
		pathPrefixes:    &values{prefixes: make(set)},
		labels:          labelsOf(a.Labels),
		namespaceLabels: labelsOf(a.NamespaceLabels),
		selected:        labelsOf(a.Selected),
		pods:            a.Pods,
	}
	for i, read := range a.Scope() {
		p.scope[i] = valuesOf(*read)
	}
	p.verbs.add(specialVerbs...)
	p.verbs.add(a.Verbs.Values...)
	for _, pattern := range a.Verbs.Patterns {
		p.verbPrefixes = append(p.verbPrefixes, strings.ToLower(strings.TrimSuffix(pattern, "*")))
	}
	p.subresources.add(rule.Streaming()...)
	p.subresources.add(a.Subresources.Values...)
	p.addResources(specialResources)
	p.addResources(a.Resources.Values)
	for _, pattern := range a.Paths.Patterns {
		p.pathPrefixes.addPrefix(strings.TrimSuffix(pattern, "*"))
	}
	return p
}

// addResources adds resources with all words for the same kind.
func (p *AccessKeys) addResources(list []string) {
	for _, resource := range list {
		p.resources.add(resource)
		p.resources.add(tables.KindSynonyms(strings.ToLower(resource))...)
	}
}

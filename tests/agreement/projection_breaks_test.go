package agreement

import (
	"reflect"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/projection"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// distinguishing are documents that tell requests apart by every attribute there is.
const distinguishing = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: some}, rules: [
  {verbs: [get, use], apiGroups: ["", apps], resources: [pods, "*/scale", widgets]},
  {verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [web]},
  {verbs: [get], nonResourceURLs: [/healthz, "/api/*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: all}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: some}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: some},
 subjects: [{kind: User, name: reader, apiGroup: rbac.authorization.k8s.io}, {kind: Group, name: readers, apiGroup: rbac.authorization.k8s.io}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: all}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: all},
 subjects: [{kind: User, name: root, apiGroup: rbac.authorization.k8s.io}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: local, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: some},
 subjects: [{kind: User, name: local, apiGroup: rbac.authorization.k8s.io}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: restricted, namespace: master}, rules: [
  {verbs: [update], resourceKinds: [Gizmo], attributeRestrictions: {fieldsMutatable: [spec.a]}},
  {verbs: [get], resourceKinds: [Gadget], attributeRestrictions: {labelsContain: [tier=gold]}},
  {verbs: [list], resourceKinds: [Gadget], attributeRestrictions: {labelsContain: [tier]}},
  {verbs: [list], resourceKinds: [Widget], attributeRestrictions: {fieldsSelect: [type=a]}},
  {verbs: [get], resourceKinds: [Widget], attributeRestrictions: {fieldsSelect: [metadata.name=a]}},
  {verbs: [list, get], resourceKinds: [Pod], attributeRestrictions: {kind: sameMinionRestriction}}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: expressive, namespace: master}, rules: [
  {verbs: [get], resourceKinds: [Doodad], attributeRestrictions: {kind: cel, expression: 'request.attributes.ticket == "T1"'}}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: restricted, namespace: master}, userNames: [minion, "system:node:n1", "system:node:n2"], roleRef: {name: restricted}}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: expressive, namespace: master}, userNames: [poet], roleRef: {name: expressive}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: names}, spec: {rules: [
  {verbs: [get], apiGroups: [""], resources: [endpoints], resourceNames: ["locked-*", "*-x?"]},
  {verbs: [impersonate], apiGroups: [""], resources: [users]},
  {verbs: [get], apiGroups: [""], resources: [services], namespaces: {patterns: ["prod-*"]}},
  {verbs: [get], apiGroups: [""], resources: [services], namespaces: {patterns: [lab]}},
  {verbs: [get], apiGroups: [""], resources: [events], namespaces: {selectorTerms: [{matchLabels: {env: prod}}]}}]}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: clusters}, spec: {appliesTo: {clusters: ["prod-*", edge]}, rules: [{verbs: [get], apiGroups: [""], resources: [nodes]}]}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: tenants}, spec: {appliesTo: {tenants: [bank]}, rules: [{verbs: [get], apiGroups: [""], resources: [nodes]}]}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: sessions}, spec: {appliesTo: {sessions: ["night-*"]}, rules: [{verbs: [get], apiGroups: [""], resources: [nodes]}]}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, metadata: {name: pods, namespace: b}, spec: {
  escalatedGroup: g, allowed: {clusters: ["*"], groups: [sre]}, approvers: {groups: [a]}, podSecurityOverrides: {enabled: true, maxAllowedScore: 500}}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: attached}, spec: {appliesTo: {escalationRefs: [pods]}, rules: [{verbs: [get], apiGroups: [""], resources: [nodes]}]}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: pods}, spec: {podSecurityRules: {
  riskFactors: {hostNetwork: 100}, thresholds: [{maxScore: 50, action: allow}, {maxScore: 1000, action: deny}]}}}
`

// Each rule of the projection has two requests that are decided differently. Their
// projections differ, and are equal if that rule is broken.
func TestBrokenProjectionsAreNoticed(t *testing.T) {
	t.Parallel()
	const (
		clean  = `"pod":{"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c"}]}}`
		risky  = `"pod":{"metadata":{"name":"p","namespace":"n"},"spec":{"hostNetwork":true,"containers":[{"name":"c"}]}}`
		exec   = `"verb":"create","resource":"pods","subresource":"exec","namespace":"n","name":"p"`
		minion = `"resource":"pods","verb":"get","pod":{"spec":{"nodeName":"n1"}}`
	)
	none := footprint.Attribute{}
	bundle := build(t, 0, map[string]string{"d.yaml": distinguishing})
	e, err := engine.Activate(t.Context(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		a, b  string // members of the requests
		spoil func(*footprint.Access, *forgetful)
	}{
		"verbs":                {`"user":"reader","verb":"use","resource":"pods"`, `"user":"reader","verb":"bind","resource":"pods"`, func(f *footprint.Access, _ *forgetful) { f.Verbs = none }},
		"verbs that deny":      {`"user":"root","verb":"impersonate:scoped","resource":"users"`, `"user":"root","verb":"bind","resource":"users"`, nil},
		"API groups":           {`"user":"reader","verb":"get","apiGroup":"apps","resource":"pods"`, `"user":"reader","verb":"get","apiGroup":"batch","resource":"pods"`, func(f *footprint.Access, _ *forgetful) { f.APIGroups = none }},
		"resources":            {`"user":"reader","verb":"get","resource":"widgets"`, `"user":"reader","verb":"get","resource":"boxes"`, func(f *footprint.Access, _ *forgetful) { f.Resources = none }},
		"words for a resource": {`"user":"root","verb":"get","resource":"Endpoint","name":"locked-1"`, `"user":"root","verb":"get","resource":"Box","name":"locked-1"`, func(f *footprint.Access, _ *forgetful) { f.Resources = none }},
		"subresources":         {`"user":"reader","verb":"get","resource":"pods","subresource":"scale"`, `"user":"reader","verb":"get","resource":"pods","subresource":"log"`, func(f *footprint.Access, _ *forgetful) { f.Subresources = none }},
		"names":                {`"user":"reader","verb":"get","resource":"secrets","name":"web"`, `"user":"reader","verb":"get","resource":"secrets","name":"db"`, func(f *footprint.Access, _ *forgetful) { f.Names = none }},
		"prefixes of names":    {`"user":"root","verb":"get","resource":"endpoints","name":"locked-1"`, `"user":"root","verb":"get","resource":"endpoints","name":"db"`, func(f *footprint.Access, _ *forgetful) { f.Names.Patterns = nil }},
		"patterns of names":    {`"user":"root","verb":"get","resource":"endpoints","name":"a-x1"`, `"user":"root","verb":"get","resource":"endpoints","name":"db"`, func(f *footprint.Access, _ *forgetful) { f.Names.Patterns = f.Names.Patterns[1:] }},
		"paths":                {`"user":"reader","verb":"get","path":"/healthz"`, `"user":"reader","verb":"get","path":"/metrics"`, func(f *footprint.Access, _ *forgetful) { f.Paths.Values = nil }},
		"patterns of paths":    {`"user":"reader","verb":"get","path":"/api/v1"`, `"user":"reader","verb":"get","path":"/metrics"`, func(f *footprint.Access, _ *forgetful) { f.Paths.Patterns = nil }},
		"namespaces":           {`"user":"root","verb":"get","resource":"services","namespace":"lab"`, `"user":"root","verb":"get","resource":"services","namespace":"n"`, func(f *footprint.Access, _ *forgetful) { f.Namespaces.Values = nil }},
		"patterns of namespaces": {
			`"user":"root","verb":"get","resource":"services","namespace":"prod-1"`, `"user":"root","verb":"get","resource":"services","namespace":"n"`,
			func(f *footprint.Access, _ *forgetful) { f.Namespaces.Patterns = nil },
		},
		"clusters":             {`"user":"root","verb":"get","resource":"nodes","cluster":"edge"`, `"user":"root","verb":"get","resource":"nodes","cluster":"dev"`, func(f *footprint.Access, _ *forgetful) { f.Clusters.Values = nil }},
		"patterns of clusters": {`"user":"root","verb":"get","resource":"nodes","cluster":"prod-1"`, `"user":"root","verb":"get","resource":"nodes","cluster":"dev"`, func(f *footprint.Access, _ *forgetful) { f.Clusters.Patterns = nil }},
		"tenants":              {`"user":"root","verb":"get","resource":"nodes","tenant":"bank"`, `"user":"root","verb":"get","resource":"nodes"`, func(f *footprint.Access, _ *forgetful) { f.Tenants = none }},
		"sessions":             {`"user":"root","verb":"get","resource":"nodes","session":"night-1"`, `"user":"root","verb":"get","resource":"nodes"`, func(f *footprint.Access, _ *forgetful) { f.Sessions = none }},
		"escalations":          {`"user":"root","verb":"get","resource":"nodes","escalation":"pods"`, `"user":"root","verb":"get","resource":"nodes"`, func(f *footprint.Access, _ *forgetful) { f.Escalations = none }},
		"namespace labels": {
			`"user":"root","verb":"get","resource":"events","namespace":"n","namespaceLabels":{"env":"prod"}`, `"user":"root","verb":"get","resource":"events","namespace":"n","namespaceLabels":{}`,
			func(f *footprint.Access, _ *forgetful) { f.NamespaceLabels = nil },
		},
		"unknown namespace labels": {
			`"user":"root","verb":"get","resource":"events","namespace":"n"`, `"user":"root","verb":"get","resource":"events","namespace":"n","namespaceLabels":{}`,
			func(f *footprint.Access, _ *forgetful) { f.NamespaceLabels = nil },
		},
		"values of namespace labels": {
			`"user":"root","verb":"get","resource":"events","namespace":"n","namespaceLabels":{"env":"prod"}`, `"user":"root","verb":"get","resource":"events","namespace":"n","namespaceLabels":{"env":"dev"}`,
			func(f *footprint.Access, _ *forgetful) { f.NamespaceLabels = footprint.Labels{"env": nil} },
		},
		"pods":                  {`"user":"root",` + exec + `,` + clean, `"user":"root",` + exec + `,` + risky, func(f *footprint.Access, _ *forgetful) { f.Pods = false }},
		"groups of escalations": {`"user":"root","groups":["sre"],"escalation":"pods",` + exec + `,` + risky, `"user":"root","escalation":"pods",` + exec + `,` + risky, func(f *footprint.Access, _ *forgetful) { f.Groups = nil }},
		"users":                 {`"user":"reader","verb":"get","resource":"pods"`, `"user":"other","verb":"get","resource":"pods"`, func(_ *footprint.Access, s *forgetful) { s.users = true }},
		"groups":                {`"user":"other","groups":["readers"],"verb":"get","resource":"pods"`, `"user":"other","verb":"get","resource":"pods"`, func(_ *footprint.Access, s *forgetful) { s.groups = true }},
		"cluster-wide bindings": {`"user":"reader","verb":"get","resource":"pods"`, `"user":"other","verb":"get","resource":"pods"`, func(_ *footprint.Access, s *forgetful) { s.cluster = true }},
		"bindings in namespaces": {
			`"user":"local","verb":"get","resource":"pods","namespace":"shop"`, `"user":"other","verb":"get","resource":"pods","namespace":"shop"`,
			func(_ *footprint.Access, s *forgetful) { s.namespaces = true },
		},
		"namespaces of bindings": {
			`"user":"local","verb":"get","resource":"pods","namespace":"shop"`, `"user":"local","verb":"get","resource":"pods","namespace":"n"`,
			func(_ *footprint.Access, s *forgetful) { s.namespaces = true },
		},
		"fields":            {`"user":"minion","verb":"update","resource":"gizmos","fields":["spec.a"]`, `"user":"minion","verb":"update","resource":"gizmos","fields":["spec.b"]`, func(_ *footprint.Access, s *forgetful) { s.reads = tables.ReadsFields }},
		"restricted labels": {`"user":"minion","verb":"get","resource":"gadgets","labels":{"tier":"gold"}`, `"user":"minion","verb":"get","resource":"gadgets","labels":{}`, func(_ *footprint.Access, s *forgetful) { s.reads = tables.ReadsLabels }},
		"labels":            {`"user":"minion","verb":"list","resource":"gadgets","labels":{"tier":"x"}`, `"user":"minion","verb":"list","resource":"gadgets","labels":{}`, func(f *footprint.Access, _ *forgetful) { f.Labels = nil }},
		"values of labels":  {`"user":"minion","verb":"get","resource":"gadgets","labels":{"tier":"gold"}`, `"user":"minion","verb":"get","resource":"gadgets","labels":{"tier":"x"}`, func(f *footprint.Access, _ *forgetful) { f.Labels = footprint.Labels{"tier": nil} }},
		"label selectors": {
			`"user":"minion","verb":"list","resource":"gadgets","attributes":{"labelSelector":[{"key":"tier","operator":"Exists"}]}`, `"user":"minion","verb":"list","resource":"gadgets"`,
			func(f *footprint.Access, s *forgetful) { s.reads = tables.ReadsLabels },
		},
		"what label selectors say": {
			`"user":"minion","verb":"list","resource":"gadgets","attributes":{"labelSelector":[{"key":"tier","operator":"Exists"}]}`,
			`"user":"minion","verb":"list","resource":"gadgets","attributes":{"labelSelector":[{"key":"tier","operator":"DoesNotExist"}]}`,
			func(f *footprint.Access, _ *forgetful) { f.Labels = nil },
		},
		"field selectors": {
			`"user":"minion","verb":"list","resource":"widgets","attributes":{"fieldSelector":[{"key":"type","operator":"In","values":["a"]}]}`,
			`"user":"minion","verb":"list","resource":"widgets","attributes":{"fieldSelector":[{"key":"type","operator":"In","values":["b"]}]}`,
			func(f *footprint.Access, _ *forgetful) { f.Selected = nil },
		},
		"names as fields": {
			`"user":"minion","verb":"get","resource":"widgets","name":"a"`, `"user":"minion","verb":"get","resource":"widgets","name":"b"`,
			func(f *footprint.Access, s *forgetful) { s.reads = tables.ReadsSelected },
		},
		"selectors of nodes": {
			`"user":"minion","verb":"list","resource":"pods","attributes":{"minion":"n1","fieldSelector":[{"key":"spec.nodeName","operator":"In","values":["n1"]}]}`,
			`"user":"minion","verb":"list","resource":"pods","attributes":{"minion":"n1","fieldSelector":[{"key":"spec.nodeName","operator":"In","values":["n2"]}]}`,
			func(f *footprint.Access, s *forgetful) { s.reads = tables.ReadsNodes },
		},
		"nodes of requesters": {`"user":"minion","attributes":{"minion":"n1"},` + minion, `"user":"minion","attributes":{"minion":"n2"},` + minion, func(f *footprint.Access, s *forgetful) {
			f.Pods, s.reads = false, tables.ReadsNodes
		}},
		"nodes of pods": {
			`"user":"minion","attributes":{"minion":"n1","podMinion":"n1"},"resource":"pods","verb":"get"`, `"user":"minion","attributes":{"minion":"n1","podMinion":"n2"},"resource":"pods","verb":"get"`,
			func(_ *footprint.Access, s *forgetful) { s.reads = tables.ReadsNodes },
		},
		"expressions": {`"user":"poet","verb":"get","resource":"doodads","attributes":{"ticket":"T1"}`, `"user":"poet","verb":"get","resource":"doodads","attributes":{"ticket":"T2"}`, func(_ *footprint.Access, s *forgetful) { s.reads = tables.ReadsAll }},
	} {
		t.Run(name, func(t *testing.T) { checkBreak(t, bundle, e, row.a, row.b, row.spoil) })
	}
}

// checkBreak checks that two requests are decided differently and have different
// projections, which spoil makes equal.
func checkBreak(t *testing.T, bundle *bundles.Bundle, e *engine.Engine, a, b string, spoil func(*footprint.Access, *forgetful)) {
	t.Helper()
	first, err := decision.Decode[decision.Request]([]byte("{" + a + "}"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := decision.Decode[decision.Request]([]byte("{" + b + "}"))
	if err != nil {
		t.Fatal(err)
	}
	if one, other := e.Access(t.Context(), first).For(second), e.Access(t.Context(), second); one.EvaluationError != "" || reflect.DeepEqual(one, other) {
		t.Fatalf("both requests are decided alike: %+v, %s", one, one.EvaluationError)
	}
	if string(e.AccessKey(nil, first)) == string(e.AccessKey(nil, second)) {
		t.Error("the requests have one projection")
	}
	if spoil == nil {
		return
	}
	broken, subjects := *bundle.Footprint, forgetful{tree: match.Build(tables.Of[*tables.Access](bundle.Tables), nil)}
	spoil(&broken.Access, &subjects)
	p := projection.NewAccessKeys(&broken, &subjects, tables.TenantsOf(bundle.Tables), nil)
	if string(p.AccessKey(nil, first)) != string(p.AccessKey(nil, second)) {
		t.Error("the broken projection still tells the requests apart, so the row proves nothing")
	}
}

// forgetful are subjects of which some are not found.
type forgetful struct {
	tree                               *match.Tree
	users, groups, namespaces, cluster bool
	reads                              tables.Reads
}

func (s *forgetful) Subject(namespace string, group bool, name string) (reads tables.Reads, isClusterWide, isLocal bool) {
	if group && s.groups || !group && s.users {
		return 0, false, false
	}
	reads, isClusterWide, isLocal = s.tree.Subject(namespace, group, name)
	return reads &^ s.reads, isClusterWide && !s.cluster, isLocal && !s.namespaces
}

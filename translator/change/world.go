package change

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/translator/tables"
)

// The reasons why a statement is opaque or a class inexact.
const (
	whyPod        = "pod"
	whyCEL        = "cel"
	whyExtension  = "extension:"
	whyItems      = "items"
	whyCustomType = "custom-type"
	whyPattern    = "pattern"
	whyGateway    = "gateway"
)

// Revision is what statements are made of.
type Revision struct {
	Tables tables.List
	// Modules are the sources of extensions, by name.
	Modules map[string]string
}

// IsComplete reports whether a bundle has all tables that statements are made of. Bundles
// of older versions lack those of deny policies.
func IsComplete(t tables.List, f tables.Features) bool {
	return !f.Has(tables.FeatureDenyPolicies) || tables.Of[*tables.Deny](t) != nil
}

// World holds the statements of one revision. Statements of bindings are made when they
// are asked for: most questions concern few of them. It is safe for concurrent use.
type World struct {
	revision Revision
	access   *tables.Access
	deny     []*statement // deny policies, in the order of evaluation

	mu         sync.Mutex // held to read and change what follows
	byRole     map[string][]*ruleOf
	statements map[string][]*statement
	subjects   map[string]map[string][]string
}

// ruleOf is a rule of a role. Its bindings share it.
type ruleOf struct {
	condition condition
	deny      bool
	index     int
	source    string
	opaque    string
}

// NewWorld returns the statements of a revision.
func NewWorld(r Revision) *World {
	w := &World{
		revision: r, access: tables.Of[*tables.Access](r.Tables),
		byRole: make(map[string][]*ruleOf), statements: make(map[string][]*statement), subjects: make(map[string]map[string][]string),
	}
	if w.access == nil {
		w.access = new(tables.Access)
	}
	if deny := tables.Of[*tables.Deny](r.Tables); deny != nil {
		overrides := jsonText(deny.Escalations)
		for i := range deny.Policies {
			w.deny = append(w.deny, denyStatements(&deny.Policies[i], overrides)...)
		}
	}
	return w
}

func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // tables are made of strings, numbers and lists
	}
	return string(text)
}

// denyStatements returns the statements of a policy. What overrides relax is part of the
// content of its pod security.
func denyStatements(p *tables.DenyPolicy, overrides string) []*statement {
	var out []*statement
	in := scope{p}
	document := func(rule int, source string) []Document {
		return []Document{{Kind: "DenyPolicy", Name: p.Name, Rule: rule, Source: source}}
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		out = append(out, &statement{family: familyDeny, effect: outcomeDeny, step: 1, rank: []byte{1},
			condition: &denyRule{in, r}, documents: document(r.Rule, r.Source)})
	}
	for i := range p.Impersonation {
		r := &p.Impersonation[i]
		out = append(out, &statement{family: familyDeny, effect: outcomeDeny, step: 1, rank: []byte{1},
			condition: &impersonationRule{in, r}, documents: document(r.Rule, r.Source)})
	}
	if p.Pod != nil {
		s := &statement{family: familyDeny, effect: outcomeDeny, step: 2, rank: []byte{2}, opaque: whyPod,
			condition: &podRule{in, p.Pod}, documents: document(0, p.Pod.Source)}
		s.content = contentOf(s) + jsonText(p.Pod.Thresholds) + overrides
		out = append(out, s)
	}
	return out
}

// contentOf returns the text that identifies a rule and its place.
func contentOf(s *statement) string {
	if s.content != "" {
		return s.content
	}
	shown := Statement{Family: s.family, Effect: s.effect, Step: s.step, Namespace: s.namespace}
	s.condition.describe(&shown)
	s.content = jsonText(shown)
	return s.content
}

// rulesOf returns the rules of a role. The caller holds mu.
func (w *World) rulesOf(key string) []*ruleOf {
	if rules, ok := w.byRole[key]; ok {
		return rules
	}
	role := w.access.Roles.At(key)
	rules := make([]*ruleOf, 0, len(role.Kubernetes)+len(role.Origin))
	for i := range role.Kubernetes {
		r := &role.Kubernetes[i]
		rules = append(rules, &ruleOf{condition: newKubernetesRule(r), index: r.Rule, source: r.Source})
	}
	for i := range role.Origin {
		r := &role.Origin[i]
		rule := newOriginRule(r)
		rules = append(rules, &ruleOf{rule, r.Deny, r.Rule, r.Source, rule.opaque()})
	}
	w.byRole[key] = rules
	return rules
}

// binding returns the statements of a binding, all of its subjects in each.
func (w *World) binding(key string) []*statement {
	w.mu.Lock()
	defer w.mu.Unlock()
	if found, ok := w.statements[key]; ok {
		return found
	}
	b := w.access.Bindings.At(key)
	place := b.Namespace
	if b.Cluster {
		place = ""
	}
	subjects := w.subjectsAt(place)[key]
	var out []*statement
	for _, r := range w.rulesOf(b.Role) {
		s := &statement{family: b.Family, effect: outcomeAllow, step: stepOf(r.deny, b.Cluster), subjects: subjects, namespace: place,
			condition: r.condition, opaque: r.opaque,
			documents: []Document{{Kind: b.Kind, Namespace: b.Namespace, Name: b.Name, Rule: r.index, Source: r.source,
				role: b.Role, roleSource: b.Source}}}
		if b.Cluster {
			s.documents[0].Namespace = b.Namespace
		}
		if r.deny {
			s.effect = outcomeDeny
		}
		if subjects == nil {
			s.subjects = []string{}
		}
		s.rank = []byte{byte(s.step)}
		if name, ok := strings.CutPrefix(r.opaque, whyExtension); ok {
			s.content = contentOf(s) + w.code(name)
		}
		out = append(out, s)
	}
	w.statements[key] = out
	return out
}

func stepOf(deny, cluster bool) int {
	switch {
	case deny && cluster:
		return 3
	case cluster:
		return 4
	case deny:
		return 5
	}
	return 6
}

const extensionPackage = "writ.extensions."

// code returns the source of an extension and of every module that it names.
func (w *World) code(name string) string {
	var all strings.Builder
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		text := w.revision.Modules[name]
		all.WriteString(text)
		for _, other := range slices.Sorted(maps.Keys(w.revision.Modules)) {
			if strings.Contains(text, extensionPackage+other) {
				visit(other)
			}
		}
	}
	visit(name)
	return all.String()
}

// rules returns the rules of a role.
func (w *World) rules(key string) []*ruleOf {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rulesOf(key)
}

// subjectsAt returns the subjects of each binding of a place; the empty place is the
// whole cluster. The caller holds mu.
func (w *World) subjectsAt(place string) map[string][]string {
	if found, ok := w.subjects[place]; ok {
		return found
	}
	out := make(map[string][]string)
	for subject, keys := range w.access.Subjects.In(place).All() {
		for _, key := range *keys {
			out[key] = append(out[key], subject)
		}
	}
	w.subjects[place] = out
	return out
}

// in returns the statements of a principal in one place; the empty place is the whole
// cluster.
func (w *World) in(principal, place string) []*statement {
	var out []*statement
	for _, key := range w.access.Subjects.In(place).At(principal) {
		out = append(out, w.binding(key)...)
	}
	return out
}

// hasDenials reports whether a role has a deny rule.
func (w *World) hasDenials() bool {
	for _, role := range w.access.Roles.All() {
		if slices.ContainsFunc(role.Origin, func(r tables.OriginRule) bool { return r.Deny }) {
			return true
		}
	}
	return false
}

// of returns the statements of a principal that hold in a namespace, cluster-wide ones
// included; for an empty namespace those of every namespace.
func (w *World) of(principal, namespace string) []*statement {
	out := w.in(principal, "")
	if namespace != "" {
		return append(out, w.in(principal, namespace)...)
	}
	for place := range w.access.Subjects.Namespaces.All() {
		out = append(out, w.in(principal, place)...)
	}
	return out
}

// all returns the statements of all bindings that hold in a namespace.
func (w *World) all(namespace string) []*statement {
	out := w.clusterWide()
	var places []string
	if namespace != "" {
		places = append(places, namespace)
	} else {
		for place := range w.access.Subjects.Namespaces.All() {
			places = append(places, place)
		}
	}
	for _, place := range places {
		w.mu.Lock()
		keys := slices.Sorted(maps.Keys(w.subjectsAt(place)))
		w.mu.Unlock()
		for _, key := range keys {
			out = append(out, w.binding(key)...)
		}
	}
	return out
}

// clusterWide returns the statements of bindings that hold in every namespace.
func (w *World) clusterWide() []*statement {
	w.mu.Lock()
	keys := slices.Sorted(maps.Keys(w.subjectsAt("")))
	w.mu.Unlock()
	var out []*statement
	for _, key := range keys {
		out = append(out, w.binding(key)...)
	}
	return out
}

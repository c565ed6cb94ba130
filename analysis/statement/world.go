package statement

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// The reasons why a statement is opaque or a class inexact.
const (
	WhyPod        = "pod"
	WhyCEL        = "cel"
	whyExtension  = "extension:"
	WhyItems      = "items"
	WhyCustomType = "custom-type"
	WhyPattern    = "pattern"
	WhyGateway    = "gateway"
)

// IsExtension reports whether a reason is that an extension decides.
func IsExtension(why string) bool { return strings.HasPrefix(why, whyExtension) }

// Source is what statements are made of: the tables of a revision, and the time.
type Source interface {
	Tables() *tables.Revision
	Now() time.Time
}

// Of returns what documents grant and deny now. It is made anew, so that what one question
// computes is not kept. It is nil without a revision, and for a bundle whose tables lack deny
// policies.
func Of(s Source) *World {
	w := WholeOf(s)
	if w == nil {
		return nil
	}
	return w.At(dates.Of(s.Now()))
}

// WholeOf is Of all documents, whenever they hold.
func WholeOf(s Source) *World {
	r := s.Tables()
	if len(r.Tables) == 0 || !IsComplete(r.Tables, r.Features) {
		return nil
	}
	return NewWorld(*r)
}

// IsComplete reports whether a bundle has all tables that statements are made of. Bundles
// of older versions lack those of deny policies.
func IsComplete(t tables.List, f tables.Features) bool {
	return !f.Has(tables.FeatureDenyPolicies) || tables.Of[*tables.Deny](t) != nil
}

// World holds the statements of one revision. Statements of bindings are made when they
// are asked for: most questions concern few of them. It is safe for concurrent use.
type World struct {
	Revision tables.Revision
	whole    *World // the documents of the revision at any time; nil for these themselves
	Access   *tables.Access
	Deny     []*Statement // deny policies, in the order of evaluation

	mu         sync.Mutex // held to read and change what follows
	byRole     map[string][]*ruleOf
	conditions map[string]*KubernetesRule // by content: many roles have equal rules
	statements map[string][]*Statement
	subjects   map[string]map[string][]string
	places     map[string][]string // the namespaces of a principal's bindings; nil until it is asked for
	denying    map[string]bool     // roles with a deny rule; nil until it is asked for
	sessions   *Sessions           // nil until it is asked for
}

// ruleOf is a rule of a role. Its bindings share it.
type ruleOf struct {
	Condition Condition
	deny      bool
	index     int
	source    string
	opaque    string
}

// NewWorld returns the statements of a revision.
func NewWorld(r tables.Revision) *World {
	w := &World{
		Revision: r, Access: tables.Of[*tables.Access](r.Tables),
		byRole: make(map[string][]*ruleOf), conditions: make(map[string]*KubernetesRule), statements: make(map[string][]*Statement), subjects: make(map[string]map[string][]string),
	}
	if w.Access == nil {
		w.Access = new(tables.Access)
	}
	if deny := tables.Of[*tables.Deny](r.Tables); deny != nil {
		overrides, tenants := JSONText(deny.Escalations), tables.TenantsOf(r.Tables)
		for i := range deny.Policies {
			w.Deny = append(w.Deny, denyStatements(newScope(&deny.Policies[i], tenants), overrides)...)
		}
	}
	return w
}

// At returns the statements of the documents that hold at an instant, of all documents of
// the revision. It is w if these are the same.
func (w *World) At(at dates.Instant) *World {
	whole := w.Whole()
	r := whole.Revision
	if r.Tables = whole.Revision.Tables.At(at); len(r.Tables) == 0 || &r.Tables[0] == &whole.Revision.Tables[0] {
		return whole
	}
	then := NewWorld(r)
	then.whole = whole
	return then
}

// Whole returns the statements of all documents of the revision, whenever they hold.
func (w *World) Whole() *World {
	return cmp.Or(w.whole, w)
}

// Dated returns the documents that begin or end.
func (w *World) Dated() []Dated {
	var out []Dated
	for key, b := range w.Access.Bindings.All() {
		if b.Dates != nil {
			out = append(out, Dated{Document{Kind: b.Kind, Namespace: b.Namespace, Name: b.Name}, b.Dates, key})
		}
	}
	if deny := tables.Of[*tables.Deny](w.Revision.Tables); deny != nil {
		for i := range deny.Policies {
			if p := &deny.Policies[i]; p.Dates != nil {
				out = append(out, Dated{Document{Kind: "DenyPolicy", Name: p.Name}, p.Dates, ""})
			}
		}
	}
	return out
}

// Dated is a document that begins or ends.
type Dated struct {
	Document
	Dates *dates.Period
	key   string // of a binding
}

// HasSame reports whether another revision has a document that grants and denies the same
// to the same subjects at the same times.
func (w *World) HasSame(other *World, d Dated) bool {
	if d.Kind == kindSession || d.Kind == kindDebug {
		return w.hasSameSession(other, d.Document)
	}
	return slices.EqualFunc(w.statementsOf(d), other.statementsOf(d), func(s, t *Statement) bool {
		return ContentOf(s) == ContentOf(t) && s.Dates.Equal(t.Dates) && slices.Equal(s.Subjects, t.Subjects)
	})
}

func (w *World) statementsOf(d Dated) []*Statement {
	if d.key != "" {
		return w.Binding(d.key)
	}
	return slices.DeleteFunc(slices.Clone(w.Deny), func(s *Statement) bool { return s.Documents[0].Name != d.Name })
}

// JSONText returns a value of a table as JSON.
func JSONText(value any) string {
	return string(jsontext.Marshal(value))
}

// denyStatements returns the statements of a policy. What overrides relax is part of the
// content of its pod security, and the tenants of clusters of that of a policy for some.
func denyStatements(in scope, overrides string) []*Statement {
	var out []*Statement
	p := in.policy
	document := func(rule int, source string) []Document {
		return []Document{{Kind: "DenyPolicy", Name: p.Name, Rule: rule, Source: source}}
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		out = append(out, &Statement{family: familyDeny, Effect: OutcomeDeny, Step: tables.StepDenyPolicy, Rank: []byte{1},
			Condition: newDenyRule(in, r), Dates: p.Dates, Documents: document(r.Rule, r.Source)})
	}
	for i := range p.Impersonation {
		r := &p.Impersonation[i]
		out = append(out, &Statement{family: familyDeny, Effect: OutcomeDeny, Step: tables.StepDenyPolicy, Rank: []byte{1},
			Condition: &impersonationRule{in, r, rule.Impersonation(r)}, Dates: p.Dates, Documents: document(r.Rule, r.Source)})
	}
	if p.Pod != nil {
		s := &Statement{family: familyDeny, Effect: OutcomeDeny, Step: tables.StepPodSecurity, Rank: []byte{2}, Opaque: WhyPod,
			Condition: &podRule{in, p.Pod, rule.Pod(p.Pod)}, Dates: p.Dates, Documents: document(0, p.Pod.Source)}
		s.Content = ContentOf(s) + JSONText(p.Pod.Thresholds) + overrides
		out = append(out, s)
	}
	if in.readsTenants() && len(in.tenants) > 0 {
		for _, s := range out {
			s.Content = ContentOf(s) + JSONText(in.tenants)
		}
	}
	return out
}

// ContentOf returns the text that identifies a rule and its place.
func ContentOf(s *Statement) string {
	if s.Content != "" {
		return s.Content
	}
	shown := JSON{Family: s.family, Effect: s.Effect, Step: Step(s.Step), Namespace: s.Namespace}
	s.Condition.Describe(&shown)
	s.Content = JSONText(shown)
	return s.Content
}

// rulesOf returns the rules of a role. The caller holds mu.
func (w *World) rulesOf(key string) []*ruleOf {
	if rules, ok := w.byRole[key]; ok {
		return rules
	}
	role := w.Access.Roles.At(key)
	rules := make([]*ruleOf, 0, len(role.Kubernetes)+len(role.Origin))
	for i := range role.Kubernetes {
		r := &role.Kubernetes[i]
		rules = append(rules, &ruleOf{Condition: w.conditionOf(r), index: r.Rule, source: r.Source})
	}
	for i := range role.Origin {
		r := &role.Origin[i]
		rules = append(rules, &ruleOf{(*OriginRule)(r), r.Deny, r.Rule, r.Source, (*OriginRule)(r).opaque()})
	}
	w.byRole[key] = rules
	return rules
}

// conditionOf returns the condition of a rule, one for all rules of the same content, so
// that what is found out about it is found once. The caller holds mu.
func (w *World) conditionOf(r *tables.KubernetesRule) *KubernetesRule {
	var key []byte
	for _, list := range [][]string{r.Verbs, r.Groups, r.Resources, r.Names, r.Paths} {
		if list == nil { // null in a report
			key = append(key, 0)
			continue
		}
		key = binary.AppendUvarint(key, uint64(len(list))+1)
		for _, value := range list {
			key = append(binary.AppendUvarint(key, uint64(len(value))), value...)
		}
	}
	found := w.conditions[string(key)]
	if found == nil {
		found = &KubernetesRule{KubernetesLists: r.KubernetesLists}
		w.conditions[string(key)] = found
	}
	return found
}

// Binding returns the statements of a binding, all of its subjects in each.
func (w *World) Binding(key string) []*Statement {
	w.mu.Lock()
	defer w.mu.Unlock()
	if found, ok := w.statements[key]; ok {
		return found
	}
	b := w.Access.Bindings.At(key)
	place := b.Namespace
	if b.Cluster {
		place = ""
	}
	subjects := w.subjectsAt(place)[key]
	if subjects == nil {
		subjects = []string{}
	}
	rules := w.rulesOf(b.Role)
	out := make([]*Statement, len(rules))
	statements, documents := make([]Statement, len(rules)), make([]Document, len(rules)) // few allocations: there are many bindings
	for i, r := range rules {
		documents[i] = Document{Kind: b.Kind, Namespace: b.Namespace, Name: b.Name, Rule: r.index, Source: r.source, Role: b.Role, Binding: Written{b.Source}}
		s := &statements[i]
		*s = Statement{family: b.Family, Effect: OutcomeAllow, Step: b.Step(r.deny), Subjects: subjects, Namespace: place,
			Condition: r.Condition, Opaque: r.opaque, Dates: b.Dates, Documents: documents[i : i+1 : i+1]}
		if r.deny {
			s.Effect = OutcomeDeny
		}
		s.Rank = ranks[s.Step : s.Step+1 : s.Step+1]
		if name, ok := strings.CutPrefix(r.opaque, whyExtension); ok {
			s.Content = ContentOf(s) + w.code(name)
		}
		out[i] = s
	}
	w.statements[key] = out
	return out
}

// ranks are the ranks of the steps.
var ranks = []byte{0, 1, 2, 3, 4, 5, 6}

// FirstStep is the first step of bindings.
const FirstStep = tables.StepClusterDeny

// references finds the documents that a module reads outside its own package, with the
// extension of those that name one. All others may be of any: they are imports of all
// extensions, have a variable in the name, or are words of a comment.
var references = regexp.MustCompile(`\bdata\b(?:\.writ\.extensions\.(\w+))?`)

// referred returns the extensions that a module may call; isAny states that it may call all.
func referred(module string) (list []string, isAny bool) {
	for _, found := range references.FindAllStringSubmatch(module, -1) {
		if found[1] == "" {
			return nil, true
		}
		list = append(list, found[1])
	}
	return list, false
}

// code returns the source of an extension and of every module that it names.
func (w *World) code(name string) string {
	var all strings.Builder
	for _, module := range w.modulesOf(name) {
		all.WriteString(w.Revision.Modules[module])
	}
	return all.String()
}

// modulesOf returns an extension and every module that it names, itself or by others.
func (w *World) modulesOf(name string) []string {
	found := []string{name}
	for i := 0; i < len(found); i++ {
		named, isAny := referred(w.Revision.Modules[found[i]])
		for _, other := range slices.Sorted(maps.Keys(w.Revision.Modules)) {
			first, _, _ := strings.Cut(other, ".")
			if (isAny || slices.Contains(named, first)) && !slices.Contains(found, other) {
				found = append(found, other)
			}
		}
	}
	return found
}

// ModulesOf returns the modules that decide a restriction of the rule of a document, if the
// revision has that rule. It is empty without an extension.
func (w *World) ModulesOf(d Document) []string {
	role := w.Access.Roles.At(d.Role)
	for i := range role.Origin {
		if r := &role.Origin[i]; r.Rule == d.Rule && r.Restrictions != nil && r.Restrictions.Extension != "" {
			return w.modulesOf(r.Restrictions.Extension)
		}
	}
	return nil
}

// clock is the built-in function that reads the time.
const clock = "time.now_ns"

// ClockReaders returns the statements of bindings whose extension reads the time.
func (w *World) ClockReaders() []*Statement {
	roles := make(map[string]bool)
	for key, role := range w.Access.Roles.All() {
		if HasExtension(role) && slices.ContainsFunc(w.RulesOf(key), w.readsClock) {
			roles[key] = true
		}
	}
	if len(roles) == 0 {
		return nil
	}
	var out []*Statement
	for key, b := range w.Access.Bindings.All() {
		if !roles[b.Role] {
			continue
		}
		for i, r := range w.RulesOf(b.Role) {
			if w.readsClock(r) {
				out = append(out, w.Binding(key)[i])
			}
		}
	}
	return out
}

// HasExtension reports whether what a role decides depends on more than its row.
func HasExtension(r *tables.Role) bool {
	return slices.ContainsFunc(r.Origin, func(o tables.OriginRule) bool { return o.Restrictions != nil && o.Restrictions.Extension != "" })
}

func (w *World) readsClock(r *ruleOf) bool {
	name, isExtension := strings.CutPrefix(r.opaque, whyExtension)
	return isExtension && strings.Contains(w.code(name), clock)
}

// RulesOf returns the rules of a role.
func (w *World) RulesOf(key string) []*ruleOf {
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
	for subject, keys := range w.Access.Subjects.In(place).All() {
		for _, key := range *keys {
			out[key] = append(out[key], subject)
		}
	}
	w.subjects[place] = out
	return out
}

// In returns the statements of a principal in one place; the empty place is the whole
// cluster.
func (w *World) In(principal, place string) []*Statement {
	var out []*Statement
	for _, key := range w.Access.Subjects.In(place).At(principal) {
		out = append(out, w.Binding(key)...)
	}
	return out
}

// Named returns the principals that documents name.
func (w *World) Named() map[string]bool {
	out := make(map[string]bool)
	for p := range w.Access.Subjects.Cluster.All() {
		out[p] = true
	}
	for _, subjects := range w.Access.Subjects.Namespaces.All() {
		for p := range subjects.All() {
			out[p] = true
		}
	}
	if v := tables.Of[*tables.Visibility](w.Revision.Tables); v != nil {
		for i := range v.Policies {
			for _, p := range v.Policies[i].SubjectKeys() {
				out[p] = true
			}
		}
	}
	return out
}

// Names reports whether the documents name a principal: whether it is in Named.
func (w *World) Names(principal string) bool {
	if w.Access.Subjects.Cluster.Has(principal) {
		return true
	}
	for _, subjects := range w.Access.Subjects.Namespaces.All() {
		if subjects.Has(principal) {
			return true
		}
	}
	v := tables.Of[*tables.Visibility](w.Revision.Tables)
	return v != nil && slices.ContainsFunc(v.Policies, func(p tables.VisibilityPolicy) bool { return slices.Contains(p.SubjectKeys(), principal) })
}

// HasDenials reports whether a role has a deny rule.
func (w *World) HasDenials() bool { return len(w.denyingRoles()) > 0 }

// denyingRoles returns the keys of roles with a deny rule.
func (w *World) denyingRoles() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.denying == nil {
		w.denying = make(map[string]bool)
		for key, role := range w.Access.Roles.All() {
			if slices.ContainsFunc(role.Origin, func(r tables.OriginRule) bool { return r.Deny }) {
				w.denying[key] = true
			}
		}
	}
	return w.denying
}

// Of returns the statements of a principal that hold in a namespace, cluster-wide ones
// included; for an empty namespace those of every namespace.
func (w *World) Of(principal, namespace string) []*Statement {
	out := w.In(principal, "")
	if namespace != "" {
		return append(out, w.In(principal, namespace)...)
	}
	for _, place := range w.placesOf(principal) {
		out = append(out, w.In(principal, place)...)
	}
	return out
}

// placesOf returns the namespaces that have a binding of a principal: few of many.
func (w *World) placesOf(principal string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.places == nil {
		w.places = make(map[string][]string, w.Access.Bindings.Len())
		for place, subjects := range w.Access.Subjects.Namespaces.All() {
			for subject := range subjects.All() {
				w.places[subject] = append(w.places[subject], place)
			}
		}
	}
	return w.places[principal]
}

// All returns the statements of all bindings that hold in a namespace, cluster-wide ones
// first; for an empty namespace those of every namespace.
func (w *World) All(namespace string) iter.Seq[*Statement] {
	return w.each(namespace, func(string) bool { return true })
}

// AllFor returns those statements of All whose role has a rule that may match the resource or path
// of a request and its verb, of which most roles have none.
func (w *World) AllFor(namespace string, r *Request) iter.Seq[*Statement] {
	known := make(map[string]bool)
	return w.each(namespace, func(key string) bool {
		wanted, ok := known[key]
		if !ok {
			role := w.Access.Roles.Find(key)
			wanted = role == nil || len(role.Origin) > 0
			for i := 0; !wanted && i < len(role.Kubernetes); i++ {
				k := (*KubernetesRule)(&role.Kubernetes[i])
				wanted = HasWord(k.Verbs, r.Verb) && k.Match(stageTarget, r) != 0
			}
			known[key] = wanted
		}
		return wanted
	})
}

// Denials returns those statements of All that deny.
func (w *World) Denials(namespace string) iter.Seq[*Statement] {
	roles := w.denyingRoles()
	if len(roles) == 0 {
		return func(func(*Statement) bool) {}
	}
	return func(yield func(*Statement) bool) {
		for s := range w.each(namespace, func(role string) bool { return roles[role] }) {
			if s.Effect == OutcomeDeny && !yield(s) {
				return
			}
		}
	}
}

// each returns the statements of All of the bindings to some roles.
func (w *World) each(namespace string, wants func(role string) bool) iter.Seq[*Statement] {
	return func(yield func(*Statement) bool) {
		for key := range w.bindings(namespace) {
			if !wants(w.Access.Bindings.At(key).Role) {
				continue
			}
			for _, s := range w.Binding(key) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// bindings returns the keys of the bindings of All, with their subjects.
func (w *World) bindings(namespace string) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		in := func(place string) bool {
			w.mu.Lock()
			subjects := w.subjectsAt(place)
			w.mu.Unlock()
			for _, key := range slices.Sorted(maps.Keys(subjects)) {
				if !yield(key, subjects[key]) {
					return false
				}
			}
			return true
		}
		switch {
		case !in(""):
		case namespace != "":
			in(namespace)
		default:
			for place := range w.Access.Subjects.Namespaces.All() {
				if !in(place) {
					return
				}
			}
		}
	}
}

// Bound is a rule of the role of a binding. It takes a tenth of the memory of its statement.
type Bound struct {
	// Namespace is where the binding holds, empty for everywhere.
	Namespace string
	binding   string
	rule      int
}

// EachRule calls visit with each rule of All, its condition, and whether it may deny: by what it
// says, or because its evaluation may fail.
func (w *World) EachRule(visit func(b Bound, c Condition, mayDeny bool)) {
	for key := range w.bindings("") {
		b := w.Access.Bindings.At(key)
		place := b.Namespace
		if b.Cluster {
			place = ""
		}
		for i, r := range w.RulesOf(b.Role) {
			visit(Bound{place, key, i}, r.Condition, r.deny || r.opaque != "")
		}
	}
}

// StatementOf returns the statement of a rule that EachRule has visited.
func (w *World) StatementOf(b Bound) *Statement { return w.Binding(b.binding)[b.rule] }

// ClusterWide returns the statements of bindings that hold in every namespace.
func (w *World) ClusterWide() iter.Seq[*Statement] {
	return func(yield func(*Statement) bool) {
		for s := range w.All("") {
			if s.Namespace != "" || !yield(s) {
				return
			}
		}
	}
}

// Has reports whether a revision has a document.
func (w *World) Has(kind, namespace, name string) bool {
	switch kind {
	case "DenyPolicy":
		return slices.ContainsFunc(w.Deny, func(s *Statement) bool { return s.Documents[0].Name == name })
	case kindSession, kindDebug:
		t := tables.Of[*tables.Sessions](w.Revision.Tables)
		return t != nil && (kind == kindSession && t.Sessions.Has(name) || kind == kindDebug && t.Debug.Has(debugKey(namespace, name)))
	case KindVisibility:
		v := tables.Of[*tables.Visibility](w.Revision.Tables)
		return v != nil && slices.ContainsFunc(v.Policies, func(p tables.VisibilityPolicy) bool { return p.Namespace == namespace && p.Name == name })
	}
	return false
}

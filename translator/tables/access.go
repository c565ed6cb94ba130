package tables

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/dates"
)

// Access holds the tables of the access point: roles, bindings and their subjects, in
// the compact form that goes into a bundle as data.compiled.access. Equal documents give
// equal tables, whatever the order of their files.
//
// RoleKey and BindingKey return the keys of rows. A key is made from the names of a
// document, so that a changed document changes one row.
type Access struct {
	// Master is the name of the Origin master namespace.
	Master string `json:"master"`
	// Cluster is the only cluster whose requests the tables decide; empty stands for all
	// clusters. A request that names no cluster is about it.
	Cluster string `json:"cluster,omitempty"`
	// ImpliedGroups states whose groups are added to the user of a request before it is
	// decided: "kubernetes", or empty for none. Rego does not add them: the endpoints and
	// commands of writ do.
	ImpliedGroups string `json:"impliedGroups,omitempty"`

	Roles    Map[Role]    `json:"roles"`
	Bindings Map[Binding] `json:"bindings"`
	Subjects Subjects     `json:"subjects"`
	// Extensions are the names of the extensions that rules refer to, sorted.
	Extensions []string `json:"extensions"`
	// Expressions are the CEL conditions of rules, sorted. They are compiled to Rego,
	// and each rule holds its own expression. Nil in the tables of a bundle that was read.
	Expressions []string `json:"-"`
	// ReadsClock is true if the result of an extension may depend on the time. Then a
	// decision is valid only at the time of its evaluation.
	ReadsClock bool `json:"readsClock,omitempty"`
}

// RuleExpressions returns the CEL conditions of rules, sorted.
func (a *Access) RuleExpressions() []string {
	if a.Expressions != nil {
		return a.Expressions
	}
	texts := make(map[string]struct{})
	for _, role := range a.Roles.All() {
		for i := range role.Origin {
			if r := role.Origin[i].Restrictions; r != nil && r.Expression != "" {
				texts[r.Expression] = struct{}{}
			}
		}
	}
	return slices.Sorted(maps.Keys(texts))
}

// ImpliesGroups reports whether the groups that Kubernetes implies are added to the user of
// a request.
func (a *Access) ImpliesGroups() bool { return a.ImpliedGroups == "kubernetes" }

// OtherClusterError is the error of a request about another cluster than the only one of
// the tables, whose name it is: they lack the documents of all others.
type OtherClusterError string

func (e OtherClusterError) Error() string {
	return fmt.Sprintf("the bundle is for cluster %q alone", string(e))
}

// CheckCluster returns an OtherClusterError if tables of the cluster own, empty for all,
// do not decide a request about the named one, empty for none.
func CheckCluster(own, named string) error {
	if own == "" || named == "" || named == own {
		return nil
	}
	return OtherClusterError(own)
}

// Subjects lists, for each subject, the keys of the bindings that name it,
// sorted. A subject is "user:NAME" or "group:NAME"; a service account is the user
// "user:system:serviceaccount:NS:NAME".
type Subjects struct {
	// Cluster holds the bindings that apply to every namespace, to cluster-scoped
	// requests and (for Kubernetes) to paths: ClusterRoleBindings, and Origin bindings
	// in the master namespace.
	Cluster Map[[]string] `json:"cluster"`
	// Namespaces holds the other bindings, by their namespace.
	Namespaces Map[Map[[]string]] `json:"namespaces"`
}

// In returns the bindings by subject of a namespace, or the cluster-wide ones if the
// namespace is empty.
func (s *Subjects) In(namespace string) Map[[]string] {
	if namespace == "" {
		return s.Cluster
	}
	return s.Namespaces.At(namespace)
}

// FullName returns NAMESPACE/NAME, or NAME of a document without a namespace.
func FullName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Title returns the kind and the full name of a document.
func Title(kind, namespace, name string) string { return kind + " " + FullName(namespace, name) }

// The families of roles and bindings in the tables.
const (
	FamilyKubernetes = "kubernetes"
	FamilyOrigin     = "origin"
)

// RoleKey returns the key of a role: "kubernetes:NS/NAME", "kubernetes:/NAME" for a
// ClusterRole, or "origin:NS/NAME". Names and namespaces do not contain slashes.
func RoleKey(family, namespace, name string) string {
	return family + ":" + namespace + "/" + name
}

// BindingKey returns the key of a binding in the form of RoleKey. The namespace of a
// ClusterRoleBinding is empty.
func BindingKey(family, namespace, name string) string {
	return family + ":" + namespace + "/" + name
}

// Role is one role with its effective rules. Family determines which one of Kubernetes
// and Origin may be non-empty.
type Role struct {
	Family     string           `json:"family"`
	Kind       string           `json:"kind"`
	Namespace  string           `json:"namespace"`
	Name       string           `json:"name"`
	Kubernetes []KubernetesRule `json:"kubernetes,omitempty"`
	Origin     []OriginRule     `json:"origin,omitempty"`
	// Source is the place of the role document: file:line, or the name of an object.
	Source string `json:"source"`
}

// KubernetesRule is a PolicyRule.
type KubernetesRule struct {
	// Rule is the index in the role's effective list, from 0.
	Rule   int    `json:"rule"`
	Source string `json:"source"`
	*KubernetesLists
}

// KubernetesLists are the lists of a PolicyRule. Either Paths is set, or Groups and Resources.
// Most rules have lists that others have too, and share them: they must not be modified.
type KubernetesLists struct {
	Verbs     []string `json:"verbs"`
	Groups    []string `json:"groups,omitempty"`
	Resources []string `json:"resources,omitempty"`
	// Names are the resourceNames; empty matches every name.
	Names []string `json:"names,omitempty"`
	// Paths are the nonResourceURLs as written.
	Paths []string `json:"paths,omitempty"`
}

// OriginRule is a writ.dev rule. Verbs and kinds are lower case. Kinds are singular or
// plural as written, in the form "kind", "kind/sub", "*/sub" or "*". Entries are sorted
// and without duplicates. A rule that matches nothing (no positive entry, or "-*") is
// kept, so that the indexes of later rules do not change.
type OriginRule struct {
	Rule   int    `json:"rule"`
	Source string `json:"source"`
	// Deny makes it a deny rule.
	Deny     bool     `json:"deny,omitempty"`
	Verbs    []string `json:"verbs"`
	NotVerbs []string `json:"notVerbs,omitempty"`
	Kinds    []string `json:"kinds"`
	NotKinds []string `json:"notKinds,omitempty"`
	// Restrictions is nil if the rule has none.
	Restrictions *Restrictions `json:"restrictions,omitempty"`
}

// Restrictions are a rule's attributeRestrictions. All that are set must hold.
type Restrictions struct {
	// Fields are the paths of fieldsMutatable from the root of the object (labels is
	// metadata.labels). Nil does not restrict.
	Fields []string `json:"fields,omitempty"`
	// Labels are the entries of labelsContain. Nil does not restrict.
	Labels []Entry `json:"labels,omitempty"`
	// Select are the entries of fieldsSelect; all have a value. Nil does not restrict.
	Select []Entry `json:"select,omitempty"`
	// SameMinion is sameMinionRestriction.
	SameMinion bool `json:"sameMinion,omitempty"`
	// Expression is a condition in CEL.
	Expression string `json:"expression,omitempty"`
	// Extension names an extension; Params are its parameters.
	Extension string         `json:"extension,omitempty"`
	Params    map[string]any `json:"params,omitempty"`
}

// Written returns attributeRestrictions as documents write them.
func (r *Restrictions) Written() map[string]any {
	out := make(map[string]any)
	if len(r.Fields) > 0 {
		out["fieldsMutatable"] = r.Fields
	}
	for key, entries := range map[string][]Entry{"labelsContain": r.Labels, "fieldsSelect": r.Select} {
		if len(entries) > 0 {
			out[key] = EntryTexts(entries)
		}
	}
	switch {
	case r.SameMinion:
		out["kind"] = "sameMinionRestriction"
	case r.Expression != "":
		out["kind"], out["expression"] = "cel", r.Expression
	case r.Extension != "":
		maps.Copy(out, r.Params)
		out["kind"] = r.Extension
	}
	return out
}

// Entry is one entry of labelsContain or fieldsSelect.
type Entry struct {
	// Key is the label, or the path of the field as field selectors write it.
	Key string `json:"key"`
	// Value is the required value; nil allows every value of a label.
	Value *string `json:"value,omitempty"`
}

// EntryTexts returns entries as documents write them, KEY or KEY=VALUE.
func EntryTexts(entries []Entry) (out []string) {
	for _, entry := range entries {
		if entry.Value == nil {
			out = append(out, entry.Key)
		} else {
			out = append(out, entry.Key+"="+*entry.Value)
		}
	}
	return out
}

// Binding is a binding with its role and its scope.
type Binding struct {
	Family     string `json:"family"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Role is the key of the role.
	Role string `json:"role"`
	// Cluster is true if the binding applies to the whole cluster (ClusterRoleBinding,
	// Origin binding in the master namespace).
	Cluster bool `json:"cluster,omitempty"`
	// Stock is true for a Kubernetes binding with the label of those that API servers make.
	Stock bool `json:"stock,omitempty"`
	// Source is the place of the binding document, like that of a role.
	Source string `json:"source"`
	// Dates is when the binding holds; nil: always.
	Dates *dates.Period `json:"dates,omitempty"`
}

// The steps of evaluation at the access point: the rule of the lowest step that matches decides.
// Rego states the same order, in _step of writ.access: steps in the data of a bundle would be a
// table that, once damaged, changes who wins, and bundles of earlier versions lack it. The tests
// of agreement compare the two.
const (
	StepDebug        = iota // a DebugSession
	StepDenyPolicy          // a rule of a deny policy
	StepPodSecurity         // the pod security of a deny policy
	StepClusterDeny         // what applies to the whole cluster precedes what applies to a namespace ...
	StepClusterAllow        // ... and in each scope deny precedes allow
	StepLocalDeny
	StepLocalAllow
	StepNone // nothing matches
)

// The effects of rules.
const (
	EffectAllow = "allow"
	EffectDeny  = "deny"
)

// Step returns the step of a rule that the binding applies.
func (b *Binding) Step(deny bool) int {
	step := StepLocalAllow
	if b.Cluster {
		step = StepClusterAllow
	}
	if deny {
		step--
	}
	return step
}

// StepOf is Step for a binding that a decision names.
func (a *Access) StepOf(apiVersion, namespace, name string, deny bool) int {
	binding := a.BindingOf(apiVersion, namespace, name)
	return binding.Step(deny)
}

// BindingOf returns the binding that a decision names, the zero value if it does not exist.
func (a *Access) BindingOf(apiVersion, namespace, name string) Binding {
	family := FamilyKubernetes
	if strings.HasPrefix(apiVersion, "writ.dev/") {
		family = FamilyOrigin
	}
	return a.Bindings.At(BindingKey(family, namespace, name))
}

// At returns the tables without what does not hold at an instant: the list itself if
// everything does.
func (l List) At(at dates.Instant) List {
	out := l
	for i, table := range l {
		then := table
		switch t := table.(type) {
		case *Access:
			then = t.at(at)
		case *Deny:
			then = t.at(at)
		case *Sessions:
			then = t.at(at)
		}
		if then != table {
			if &out[0] == &l[0] {
				out = slices.Clone(l)
			}
			out[i] = then
		}
	}
	return out
}

// at returns the tables without the bindings that do not hold.
func (a *Access) at(at dates.Instant) *Access {
	gone := make(map[string]*Binding)
	for key, b := range a.Bindings.All() {
		if !b.Dates.Holds(at) {
			gone[key] = nil
		}
	}
	if len(gone) == 0 {
		return a
	}
	out := *a
	out.Bindings = a.Bindings.With(gone)
	out.Subjects.Cluster = a.Subjects.Cluster.With(without(a.Subjects.Cluster, gone))
	places := make(map[string]*Map[[]string])
	for place, subjects := range a.Subjects.Namespaces.All() {
		if changed := without(*subjects, gone); len(changed) > 0 {
			left := subjects.With(changed)
			places[place] = &left
			if left.Len() == 0 {
				places[place] = nil
			}
		}
	}
	out.Subjects.Namespaces = a.Subjects.Namespaces.With(places)
	return &out
}

// without returns the changes that take bindings from the lists of subjects.
func without(subjects Map[[]string], gone map[string]*Binding) map[string]*[]string {
	changes := make(map[string]*[]string)
	isGone := func(key string) bool {
		_, found := gone[key]
		return found
	}
	for subject, keys := range subjects.All() {
		if !slices.ContainsFunc(*keys, isGone) {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(*keys), isGone)
		changes[subject] = &left
		if len(left) == 0 {
			changes[subject] = nil
		}
	}
	return changes
}

// at returns the tables without the policies that do not hold. Escalations and the words
// for resources stay: they change nothing without a policy.
func (d *Deny) at(at dates.Instant) *Deny {
	ends := func(p DenyPolicy) bool { return !p.Dates.Holds(at) }
	if !slices.ContainsFunc(d.Policies, ends) {
		return d
	}
	out := *d
	out.Policies = slices.DeleteFunc(slices.Clone(d.Policies), ends)
	return &out
}

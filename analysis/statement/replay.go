package statement

import (
	"iter"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// Facts are values of what a request may lack, one for each that statements tell apart.
type Facts struct {
	Labels, NamespaceLabels []map[string]string
	Fields                  [][]string
	Pods                    []map[string]any
	// Complete is false if there are too many of them to list.
	Complete bool
}

// maxFacts is how many values of a fact are listed.
const maxFacts = 256

// FactsOf returns the facts of the point access that statements of some revisions read.
func FactsOf(worlds ...*World) Facts {
	v, out := Values{}, Facts{Complete: true}
	for _, w := range worlds {
		for _, role := range w.Access.Roles.All() {
			for i := range role.Origin { // a PolicyRule reads none
				(*OriginRule)(&role.Origin[i]).Mention(&v)
			}
		}
		for _, s := range w.Deny {
			s.Condition.Mention(&v)
		}
		out.Pods = append(out.Pods, PodsOf(w)...)
	}
	for _, of := range []struct {
		labels *LabelValues
		into   *[]map[string]string
	}{{&v.labels, &out.Labels}, {&v.namespaceLabels, &out.NamespaceLabels}} {
		out.Complete = out.Complete && of.labels.Size(of.labels.Keys) <= maxFacts
		sets := of.labels.Sets(of.labels.Keys)
		*of.into = sets[:min(len(sets), maxFacts)]
	}
	out.Fields = [][]string{{}, {v.otherField()}}
	for _, path := range v.fields.Values {
		out.Fields = append(out.Fields, []string{path})
	}
	out.Complete = out.Complete && len(out.Fields) <= maxFacts
	out.Fields = slices.Clip(out.Fields[:min(len(out.Fields), maxFacts)])
	return out
}

// known is a condition that does not match a request that lacks a member: denials match
// what is not known.
type known struct {
	Condition
	at      stage
	isThere func(*Request) bool
}

// Match implements Condition.
func (k known) Match(at stage, r *Request) uint8 {
	if at == k.at && !k.isThere(r) {
		return 0
	}
	return k.Condition.Match(at, r)
}

// MayFit reports whether the statement matches the resource or path of a request, and its
// verb. Without them it fits no request that has them.
func (s *Statement) MayFit(r *Request) bool {
	return s.Match(stageTarget, r) != 0 && s.Match(stageVerb, r) != 0
}

// MayConcern reports whether the statement matches the resource and the API group of a
// request, whatever else that has.
func (s *Statement) MayConcern(r *Request) bool {
	return s.Match(stageTarget, r) != 0 && s.Match(stageGroup, r) != 0
}

// MayHold reports whether the statement matches the namespace of a request, whatever the
// labels of that namespace are.
func (s *Statement) MayHold(r *Request) bool {
	filter := s.Condition.filter()
	return filter != nil && len(filter.Terms) > 0 || s.Match(stageNamespace, r) != 0
}

// Known returns the statement for requests that have a member: labels, namespaceLabels or
// fields. For other members it returns the statement itself.
func (s *Statement) Known(member string) *Statement {
	k := known{Condition: s.Condition}
	switch member {
	case "labels":
		k.at, k.isThere = stageLabels, func(r *Request) bool { return r.Labels != nil }
	case "namespaceLabels":
		k.at, k.isThere = stageNamespace, func(r *Request) bool { return r.NamespaceLabels != nil }
	case "fields":
		k.at, k.isThere = stageFields, func(r *Request) bool { return r.Fields != nil }
	default:
		return s
	}
	narrow := *s
	narrow.Condition = k
	return &narrow
}

// Rule is a rule of a role or of a deny policy.
type Rule struct {
	// Kind, Namespace and Name are those of the role or of the deny policy.
	Kind, Namespace, Name string
	Rule                  int
	Source                string
	Condition             Condition
}

// Same reports whether another rule grants or denies the same, wherever it is written.
func (r *Rule) Same(o Rule) bool { return JSONOf(r.Condition) == JSONOf(o.Condition) }

// Rules returns the rules of deny policies, and of each role that has a binding.
func (w *World) Rules() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		known := make(map[string]bool)
		refuses := func(r Rule) bool { return !yield(r) }
		rules := w.denials()
		if slices.ContainsFunc(rules, refuses) {
			return
		}
		for b := range w.Bindings() {
			if known[b.Role] {
				continue
			}
			known[b.Role] = true
			rules = appendRules(rules[:0], w.Access.Roles.Find(b.Role))
			if slices.ContainsFunc(rules, refuses) {
				return
			}
		}
	}
}

// denials returns the rules of deny policies: of one number, the one that counts is the first.
func (w *World) denials() (out []Rule) {
	for _, s := range slices.Backward(w.Deny) {
		d := &s.Documents[0]
		out = append(out, Rule{d.Kind, d.Namespace, d.Name, d.Rule, d.Source, s.Condition})
	}
	return out
}

func appendRules(to []Rule, role *tables.Role) []Rule {
	for i := range role.Kubernetes {
		r := &role.Kubernetes[i]
		to = append(to, Rule{role.Kind, role.Namespace, role.Name, r.Rule, r.Source, (*KubernetesRule)(r)})
	}
	for i := range role.Origin {
		r := &role.Origin[i]
		to = append(to, Rule{role.Kind, role.Namespace, role.Name, r.Rule, r.Source, (*OriginRule)(r)})
	}
	return to
}

// FieldsOf returns the lists of a rule of a role or deny policy that decides. Its source tells
// apart roles of one kind and name.
func (w *World) FieldsOf(kind, namespace, name string, rule int, source string) []Field {
	rules := w.denials()
	for _, family := range []string{tables.FamilyKubernetes, tables.FamilyOrigin} {
		if role := w.Access.Roles.Find(tables.RoleKey(family, namespace, name)); role != nil {
			rules = appendRules(rules, role)
		}
	}
	i := slices.IndexFunc(rules, func(r Rule) bool {
		return r.Kind == kind && r.Name == name && r.Rule == rule && r.Source == source
	})
	if i < 0 {
		return nil
	}
	return rules[i].fields()
}

// Bindings returns the bindings that apply a rule to a subject, with their subjects: of the whole cluster
// first, then of each namespace.
func (w *World) Bindings() iter.Seq2[*tables.Binding, []string] {
	return func(yield func(*tables.Binding, []string) bool) {
		for key, subjects := range w.bindings("") {
			b := w.Access.Bindings.Find(key)
			if role := w.Access.Roles.At(b.Role); len(role.Kubernetes)+len(role.Origin) > 0 && !yield(b, subjects) {
				return
			}
		}
	}
}

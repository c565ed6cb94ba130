package statement

import "slices"

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
	v, out := Values{}, Facts{Fields: [][]string{{}, {OtherWord}}, Complete: true}
	for _, w := range worlds {
		for key := range w.Access.Roles.All() {
			for _, r := range w.RulesOf(key) {
				r.Condition.Mention(&v)
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

// Rule is a rule of a role joined with a binding, or of a deny policy.
type Rule struct {
	// Kind, Namespace and Name are those of the role or of the deny policy.
	Kind, Namespace, Name string
	Rule                  int
	Source                string
	// Binding is the document that decisions name: the binding or the deny policy.
	Binding Document
	// Subjects are the principals of the binding, nil for a deny policy.
	Subjects []string

	condition Condition
}

// Same reports whether another rule grants or denies the same, wherever it is written.
func (r *Rule) Same(o *Rule) bool { return JSONOf(r.condition) == JSONOf(o.condition) }

// Rules returns the rules of all bindings and deny policies.
func (w *World) Rules() []Rule {
	var out []Rule
	for _, s := range slices.AppendSeq(slices.Clone(w.Deny), w.All("")) {
		for _, d := range s.Documents {
			r := Rule{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Rule: d.Rule, Source: d.Source, Binding: d, Subjects: s.Subjects, condition: s.Condition}
			if role := w.Access.Roles.At(d.Role); d.Role != "" {
				r.Kind, r.Namespace, r.Name = role.Kind, role.Namespace, role.Name
				r.Binding.Source = d.Binding.Source
			}
			out = append(out, r)
		}
	}
	return out
}

package statement

import "slices"

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
				r.Binding.Source = d.RoleSource
			}
			out = append(out, r)
		}
	}
	return out
}

package change

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
}

// Rules returns the rules of all bindings and deny policies.
func (w *World) Rules() []Rule {
	var out []Rule
	for _, s := range slices.Concat(w.deny, w.all("")) {
		for _, d := range s.documents {
			r := Rule{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Rule: d.Rule, Source: d.Source, Binding: d, Subjects: s.subjects}
			if role := w.access.Roles.At(d.role); d.role != "" {
				r.Kind, r.Namespace, r.Name = role.Kind, role.Namespace, role.Name
				r.Binding.Source = d.roleSource
			}
			out = append(out, r)
		}
	}
	return out
}

// Kind names the change from one outcome to another at a point.
func Kind(point, from, to string) string { return changeOf(point, from, to) }

// Kinds returns the kinds of changes, most dangerous first. The caller owns the list.
func Kinds() []string { return slices.Clone(changeKinds) }

// Counts reports whether a kind of change counts for gain, loss, any or none.
func Counts(on, kind string) bool {
	switch on {
	case "gain":
		return kind == changeGain || kind == changeRelax
	case "loss":
		return kind == changeLoss || kind == changeTighten
	}
	return on == "any"
}

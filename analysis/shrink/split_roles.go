package shrink

import (
	"fmt"

	"github.com/writ-policy/writ/analysis/shrink/edit"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/syntax"
)

// SplitRoles makes a copy of each role that several bindings name, for each of them but one.
// Decisions stay the same.
func (m *Model) SplitRoles() (*Change, error) {
	out := &Change{Files: make(map[string][]byte)}
	cuts := make(map[*edit.File][]edit.Cut)
	taken := make(map[string]bool)
	for _, r := range m.roles {
		taken[r.header.Family+r.header.Namespace+"/"+r.header.Name] = true
	}
	for _, r := range m.roles {
		movable := elements.Filter(m.bindings, func(b *binding) bool { return b.role == r && b.fixed == "" && roleName(b) != nil })
		if r.fixed != "" || r.isCollected || r.own < 2 || len(movable) == 0 {
			continue
		}
		if len(movable) == r.own {
			movable = movable[1:]
		}
		for _, b := range movable {
			name := r.header.Name + "-" + b.header.Name
			for taken[r.header.Family+r.header.Namespace+"/"+name] {
				name += "-2"
			}
			taken[r.header.Family+r.header.Namespace+"/"+name] = true
			copied, err := copyRole(r, name)
			if err != nil {
				return nil, err
			}
			moved, err := b.file.Replace(roleName(b), name)
			if err != nil {
				return nil, err
			}
			cuts[r.file] = append(cuts[r.file], copied)
			cuts[b.file] = append(cuts[b.file], moved)
			out.Edits = append(out.Edits, Edit{
				Source: b.line(roleName(b)), Kind: "role", Document: b.ref(), From: []string{r.header.Name}, To: []string{name},
				Text: fmt.Sprintf("role %s -> %s, a copy", r.header.Name, name), Evidence: "several bindings name the role",
			})
		}
	}
	for f, list := range cuts {
		out.Files[f.Path] = f.Apply(0, len(f.Text), list)
	}
	return out, nil
}

// roleName returns the text in which a binding names its role, nil if it cannot be changed.
func roleName(b *binding) *syntax.Node {
	if b.place == nil {
		return nil
	}
	f := find(b.place.Node, "roleName")
	if ref := find(b.place.Node, "roleRef"); ref != nil {
		f = find(ref.Value, "name")
	}
	if f == nil || b.file.IsAlias(f.Value) || b.file.IsAlias(b.place.Node) {
		return nil
	}
	return f.Value
}

// copyRole returns a role under another name, after the role.
func copyRole(r *role, name string) (edit.Cut, error) {
	var names []*syntax.Node
	if n := within(r.place.Node, "metadata", "name"); n != nil {
		names = append(names, n)
	} else if f := find(r.place.Node, "name"); f != nil {
		names = append(names, f.Value)
	}
	if in := r.place.In; in != nil && in.Type == syntax.Mapping {
		names = append(names, in.Fields[r.place.Index].Key)
	}
	var cuts []edit.Cut
	for _, n := range names {
		c, err := r.file.Replace(n, name)
		if err != nil {
			return c, err
		}
		cuts = append(cuts, c)
	}
	if r.place.In == nil {
		return r.file.CopyPart(r.place.Part, cuts), nil
	}
	return r.file.CopyItem(r.place.In, r.place.Index, [][]edit.Cut{cuts})
}

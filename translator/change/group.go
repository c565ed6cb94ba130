package change

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// group joins the classes of one change that the same documents cause.
func (r *Report) group(c *comparison) {
	by := make(map[string]*Group)
	members := make(map[string][]*Class)
	for i := range r.Classes {
		k := &r.Classes[i]
		causes := c.causes(k, r.Statements)
		key := k.Changes[0] + statement.JSONText([]any{causes, k.At})
		if by[key] == nil {
			by[key] = &Group{Change: k.Changes[0], Causes: causes}
		}
		by[key].Classes = append(by[key].Classes, k.ID)
		members[key] = append(members[key], k)
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		g := by[key]
		g.Title = r.title(members[key])
		r.Groups = append(r.Groups, *g)
	}
	slices.SortStableFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(slices.Index(changeKinds, a.Change)-slices.Index(changeKinds, b.Change), cmp.Compare(a.Title, b.Title))
	})
}

// causes returns the documents of one-sided statements that differ between the
// revisions: of a binding and its role, the one that changed.
func (c *comparison) causes(k *Class, statements []statement.JSON) []Cause {
	out := slices.Clone(k.causes)
	for _, list := range append(slices.Clone(k.All), k.Except) {
		for _, id := range list {
			s := &statements[id]
			if len(s.In) == 2 {
				continue
			}
			for _, d := range s.Documents {
				out = append(out, c.causeOf(d)...)
			}
		}
	}
	slices.SortFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(b.In, a.In))
	})
	out = slices.CompactFunc(out, func(a, b Cause) bool { return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name })
	if out == nil {
		out = []Cause{}
	}
	return out
}

func (c *comparison) causeOf(d statement.Document) []Cause {
	own, other := c.a.World, c.b.World
	what := "removed"
	if d.In == "b" {
		own, other, what = other, own, "added"
	}
	cause := Cause{In: d.In, What: what, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Source: d.Source}
	if d.Role == "" {
		if other.Has(d.Kind, d.Namespace, d.Name) {
			cause.What = "changed"
		}
		return []Cause{cause}
	}
	var out []Cause
	binding := tables.BindingKey(strings.SplitN(d.Role, ":", 2)[0], d.Namespace, d.Name)
	now, before := own.Access.Bindings.At(binding), other.Access.Bindings.At(binding)
	subjects := func(w *statement.World) []string {
		if b := w.Binding(binding); len(b) > 0 {
			return b[0].Subjects
		}
		return nil
	}
	cause.Source = d.RoleSource
	switch {
	case before.Name == "":
		out = append(out, cause)
	case !sameBinding(now, before) || !slices.Equal(subjects(own), subjects(other)):
		cause.What = "changed"
		out = append(out, cause)
	}
	role, earlier := own.Access.Roles.At(d.Role), other.Access.Roles.At(d.Role)
	changed := Cause{In: d.In, What: "changed", Kind: role.Kind, Namespace: role.Namespace, Name: role.Name, Source: d.Source}
	switch {
	case earlier.Name == "":
		if len(out) == 0 {
			changed.What = what
			out = append(out, changed)
		}
	case !sameRole(&role, &earlier):
		out = append(out, changed)
	}
	if len(out) == 0 { // an extension, or the master namespace
		cause.What = "changed"
		out = append(out, cause)
	}
	return out
}

// title says who, may or may no longer, what and where.
func (r *Report) title(classes []*Class) string {
	var who, verbs, what, where []string
	for _, k := range classes {
		if k.Point == statement.PointGateway {
			what = append(what, k.Paths...)
			continue
		}
		for _, id := range k.All[0] {
			s := &r.Statements[id]
			who = append(who, s.Subjects...)
			if s.Subjects == nil {
				who = append(who, "everybody")
			}
			v, w := s.Words()
			verbs, what = append(verbs, v...), append(what, w...)
			if place := s.Place(); place != "" {
				where = append(where, place)
			}
		}
	}
	if len(who) == 0 {
		return "requests to " + strings.Join(statement.Shorten(tables.Entries(what)), ", ")
	}
	people := tables.Entries(who)
	for i := range people {
		people[i] = strings.Replace(people[i], ":", " ", 1)
	}
	title := fmt.Sprintf("%s: %s %s", strings.Join(statement.Shorten(people), ", "), strings.Join(statement.Shorten(tables.Entries(verbs)), ", "), strings.Join(statement.Shorten(tables.Entries(what)), ", "))
	if len(where) > 0 {
		connector := " in "
		if strings.HasPrefix(where[0], "name ") {
			connector = " with "
		}
		title += connector + strings.Join(statement.Shorten(tables.Entries(where)), ", ")
	}
	return title
}

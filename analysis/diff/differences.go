package diff

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// difference is a document that differs, with its statements in the revision that has it.
type difference struct {
	Cause
	point      string
	statements []*statement.Statement
}

// differences returns the documents that differ.
func (c *comparison) differences() []difference {
	by := make(map[[3]string]difference)
	for _, side := range []struct {
		own, other *statement.World
		in, what   string
	}{{c.a.World, c.b.World, "a", "removed"}, {c.b.World, c.a.World, "b", "added"}} {
		for _, d := range slices.Concat(bindingsOf(side.own, side.other), deniesOf(side.own, side.other), sessionsOf(side.own, side.other), c.viewsThatDiffer(side.own, side.other)) {
			key := [3]string{d.Kind, d.Namespace, d.Name}
			d.In, d.What = side.in, side.what
			if _, both := by[key]; both || side.other.Has(d.Kind, d.Namespace, d.Name) {
				d.What = "changed"
			}
			by[key] = d
		}
	}
	out := slices.Collect(maps.Values(by))
	a, b := c.routed()
	for _, d := range slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b)) {
		if a[d] != b[d] {
			out = append(out, difference{Cause: d.between(a, b), point: statement.PointGateway})
		}
	}
	slices.SortFunc(out, func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(out, func(a, b difference) bool { return a.Cause == b.Cause && a.point == b.point })
}

// bindingsOf returns the bindings and the roles of a revision that another one lacks or has
// in another form.
func bindingsOf(own, other *statement.World) []difference {
	var out []difference
	roles := make(map[string]bool)
	for _, key := range ChangedBindings(own.Access, other.Access) {
		b := own.Access.Bindings.At(key)
		statements := own.Binding(key)
		if !sameBinding(b, other.Access.Bindings.At(key)) || !reflect.DeepEqual(subjectsOf(own, key), subjectsOf(other, key)) {
			out = append(out, difference{Cause{Kind: b.Kind, Namespace: b.Namespace, Name: b.Name, Source: b.Source}, statement.PointAccess, statements})
		}
		role, before := own.Access.Roles.At(b.Role), other.Access.Roles.At(b.Role)
		if !roles[b.Role] && role.Name != "" && !sameRole(&role, &before) {
			roles[b.Role] = true
			out = append(out, difference{Cause{Kind: role.Kind, Namespace: role.Namespace, Name: role.Name, Source: sourceOf(&role)}, statement.PointAccess, statements})
		}
	}
	return out
}

func sourceOf(r *tables.Role) string {
	switch {
	case len(r.Kubernetes) > 0:
		return r.Kubernetes[0].Source
	case len(r.Origin) > 0:
		return r.Origin[0].Source
	}
	return ""
}

func subjectsOf(w *statement.World, key string) []string {
	if list := w.Binding(key); len(list) > 0 {
		return list[0].Subjects
	}
	return nil
}

// deniesOf returns the deny policies of a revision that another one lacks or has in another
// form.
func deniesOf(own, other *statement.World) []difference {
	policies := func(w *statement.World) []tables.DenyPolicy {
		if deny := tables.Of[*tables.Deny](w.Revision.Tables); deny != nil {
			return deny.Policies
		}
		return nil
	}
	earlier := make(map[string]string)
	for _, p := range policies(other) {
		earlier[p.Name] = withoutSources(p)
	}
	var out []difference
	for _, p := range policies(own) {
		if earlier[p.Name] == withoutSources(p) {
			continue
		}
		d := difference{Cause: Cause{Kind: "DenyPolicy", Name: p.Name}, point: statement.PointAccess}
		for _, s := range own.Deny {
			if s.Documents[0].Name == p.Name {
				d.statements = append(d.statements, s)
			}
		}
		if len(d.statements) > 0 {
			d.Source = d.statements[0].Documents[0].Source
			out = append(out, d)
		}
	}
	return out
}

// sessionsOf returns the sessions of a revision that another one lacks or has in another
// form.
func sessionsOf(own, other *statement.World) []difference {
	var out []difference
	for _, d := range own.SessionsThatDiffer(other) {
		out = append(out, difference{Cause: Cause{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Source: d.Source}, point: statement.PointAccess})
	}
	return out
}

// viewsThatDiffer returns the visibility policies of a revision that another one lacks or
// has in another form.
func (c *comparison) viewsThatDiffer(own, other *statement.World) []difference {
	earlier := make(map[string]string)
	for _, p := range visibilityOf(other).Policies {
		earlier[p.Namespace+"/"+p.Name] = withoutSources(p)
	}
	var out []difference
	for _, p := range visibilityOf(own).Policies {
		if earlier[p.Namespace+"/"+p.Name] == withoutSources(p) {
			continue
		}
		d := difference{Cause: Cause{Kind: statement.KindVisibility, Namespace: p.Namespace, Name: p.Name, Source: p.Source}, point: statement.PointVisibility}
		for _, s := range own.VisibilityStatements(c.o.Now) {
			if s.Documents[0].Namespace == p.Namespace && s.Documents[0].Name == p.Name {
				d.statements = append(d.statements, s)
			}
		}
		out = append(out, d)
	}
	return out
}

func visibilityOf(w *statement.World) *tables.Visibility {
	if v := tables.Of[*tables.Visibility](w.Revision.Tables); v != nil {
		return v
	}
	return new(tables.Visibility)
}

var lineOf = regexp.MustCompile(`:\d+$`)

// withoutSources returns a value of a table as JSON without the lines of documents.
func withoutSources(value any) string {
	var bare any
	if err := json.Unmarshal([]byte(statement.JSONText(value)), &bare); err != nil {
		panic(err) // it is JSON
	}
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if text, _ := v["source"].(string); lineOf.MatchString(text) {
				delete(v, "source")
			}
			for _, member := range v {
				strip(member)
			}
		case []any:
			for _, member := range v {
				strip(member)
			}
		}
	}
	strip(bare)
	return statement.JSONText(bare)
}

package answers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// object is a document with its rules.
type object struct {
	console.Object
	rules []placedRule
}

// placedRule is a rule with its line.
type placedRule struct {
	rule
	line int
}

// eachDocument calls f for the documents of the revision. A bundle does not have them, and
// its tables name what decides and where it stands.
func (r *revision) eachDocument(f func(file string, o console.Object)) {
	headers := r.texts.documents()
	if headers == nil {
		eachNamed(r.tables, f)
	}
	for _, d := range headers {
		h := d.Meta()
		if line, _ := h.At.Shown(); !h.Bootstrap {
			o := console.Object{Kind: h.Kind, Namespace: h.Namespace, Name: h.Name, Line: line}
			if h.Kind == "Role" || h.Kind == "ClusterRole" {
				o.Family = h.Family
			}
			f(h.At.File, o)
		}
	}
}

// eachNamed calls f for the documents that tables name.
func eachNamed(list tables.List, f func(file string, o console.Object)) {
	addRole := func(source, family, kind, namespace, name string) {
		if file, line, ok := placeOf(source); ok {
			f(file, console.Object{Kind: kind, Namespace: namespace, Name: name, Family: family, Line: line})
		}
	}
	add := func(source, kind, namespace, name string) { addRole(source, "", kind, namespace, name) }
	access := tables.OrEmpty(tables.Of[*tables.Access](list))
	for _, r := range access.Roles.All() {
		addRole(r.Source, r.Family, r.Kind, r.Namespace, r.Name)
	}
	for _, b := range access.Bindings.All() {
		add(b.Source, b.Kind, b.Namespace, b.Name)
	}
	for _, p := range tables.OrEmpty(tables.Of[*tables.Deny](list)).Policies {
		add(p.Source, kindDeny, "", p.Name)
	}
	visibility := tables.OrEmpty(tables.Of[*tables.Visibility](list))
	for _, p := range visibility.Policies {
		add(p.Source, kindVisibility, p.Namespace, p.Name)
	}
	for _, m := range visibility.Sources {
		add(m.Source, "MetricSource", m.Namespace, m.Name)
	}
	for _, p := range tables.OrEmpty(tables.Of[*tables.Gateway](list)).Policies {
		add(p.Source, p.Kind, p.Namespace, p.Name)
	}
}

// placeOf returns the file and the line of a place, false for one that no file has.
func placeOf(source string) (file string, line int, ok bool) {
	at, ok := diag.ParseSource(source)
	line, _ = at.Shown()
	return at.File, line, ok && !strings.HasPrefix(at.File, "bootstrap")
}

// addRoles fills in the roles of the bindings among the documents of a file.
func (r *revision) addRoles(file string, documents []console.Object) {
	t := tables.Of[*tables.Access](r.tables)
	isBinding := func(o console.Object) bool { return strings.HasSuffix(o.Kind, "Binding") }
	if t == nil || !slices.ContainsFunc(documents, isBinding) {
		return
	}
	roles := make(map[int]*console.BoundRole) // by line
	for _, b := range t.Bindings.All() {
		if !strings.HasPrefix(b.Source, file) {
			continue
		}
		role := t.Roles.At(b.Role)
		if in, line, ok := placeOf(b.Source); ok && in == file && role.Name != "" {
			roles[line] = &console.BoundRole{Named: console.Named{Kind: role.Kind, Namespace: role.Namespace, Name: role.Name}, Family: role.Family}
		}
	}
	for i := range documents {
		if isBinding(documents[i]) {
			documents[i].Binds = roles[documents[i].Line]
		}
	}
}

// documents returns the documents of a file with their rules, in the order of lines.
func (r *revision) documents(file string) []*object {
	var list []*object
	r.eachDocument(func(in string, o console.Object) {
		if in == file {
			list = append(list, &object{Object: o})
		}
	})
	slices.SortStableFunc(list, func(a, b *object) int { return cmp.Compare(a.Line, b.Line) })
	named := make(map[[3]string]*object)
	for _, d := range slices.Backward(list) {
		named[[3]string{d.Kind, d.Namespace, d.Name}] = d
	}
	for rule := range r.counts.all() {
		if !strings.HasPrefix(rule.source, file) {
			continue
		}
		in, line, ok := placeOf(rule.source)
		if !ok || in != file {
			continue
		}
		found := named[[3]string{rule.kind, rule.namespace, rule.name}]
		if found == nil { // a role aggregates it: it stands in the document of its line
			next, _ := slices.BinarySearchFunc(list, line, func(d *object, line int) int { return cmp.Compare(d.Line, line+1) })
			if next == 0 {
				continue
			}
			found = list[next-1]
		}
		found.rules = append(found.rules, placedRule{rule, line})
	}
	return list
}

// view returns a document with the counts of its rules. Rules of one line that several
// roles share are added up.
func (o *object) view() console.Object {
	out := o.Object
	out.Rules = []console.RuleLine{}
	for _, r := range o.rules {
		row := console.RuleLine{Rule: r.number, Line: r.line, Decided: r.decided.Load(), Matched: r.matched.Load()}
		at := slices.IndexFunc(out.Rules, func(other console.RuleLine) bool {
			return other.Line == r.line && (other.Rule == r.number || r.name != o.Name)
		})
		if at < 0 {
			out.Rules = append(out.Rules, row)
			continue
		}
		out.Rules[at].Decided += row.Decided
		out.Rules[at].Matched += row.Matched
	}
	slices.SortStableFunc(out.Rules, func(a, b console.RuleLine) int { return cmp.Compare(a.Line, b.Line) })
	return out
}

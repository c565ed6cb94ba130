package explore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// object is a document with its rules.
type object struct {
	view.Object
	rules []placedRule
}

// placedRule is a rule with its line.
type placedRule struct {
	rule
	line int
}

// eachDocument calls f for the documents of the revision. A bundle does not have them, and
// its tables name what decides and where it stands.
func (r *revision) eachDocument(f func(file string, o view.Object)) {
	headers := r.texts.documents()
	if headers == nil {
		eachNamed(r.tables, f)
	}
	for _, d := range headers {
		h := d.Meta()
		if line, _ := h.At.Shown(); !h.Bootstrap {
			o := view.Object{Kind: h.Kind, Namespace: h.Namespace, Name: h.Name, Line: line}
			if h.Kind == "Role" || h.Kind == "ClusterRole" {
				o.Family = h.Family
			}
			f(h.At.File, o)
		}
	}
}

// eachNamed calls f for the documents that tables name.
func eachNamed(list tables.List, f func(file string, o view.Object)) {
	addRole := func(source, family, kind, namespace, name string) {
		if file, line, ok := placeOf(source); ok {
			f(file, view.Object{Kind: kind, Namespace: namespace, Name: name, Family: family, Line: line})
		}
	}
	add := func(source, kind, namespace, name string) { addRole(source, "", kind, namespace, name) }
	if access := tables.Of[*tables.Access](list); access != nil {
		for _, r := range access.Roles.All() {
			addRole(r.Source, r.Family, r.Kind, r.Namespace, r.Name)
		}
		for _, b := range access.Bindings.All() {
			add(b.Source, b.Kind, b.Namespace, b.Name)
		}
	}
	if deny := tables.Of[*tables.Deny](list); deny != nil {
		for i := range deny.Policies {
			add(deny.Policies[i].Source, kindDeny, "", deny.Policies[i].Name)
		}
	}
	if visibility := tables.Of[*tables.Visibility](list); visibility != nil {
		for i := range visibility.Policies {
			p := &visibility.Policies[i]
			add(p.Source, kindVisibility, p.Namespace, p.Name)
		}
		for i := range visibility.Sources {
			m := &visibility.Sources[i]
			add(m.Source, "MetricSource", m.Namespace, m.Name)
		}
	}
	if gateway := tables.Of[*tables.Gateway](list); gateway != nil {
		for i := range gateway.Policies {
			p := &gateway.Policies[i]
			add(p.Source, p.Kind, p.Namespace, p.Name)
		}
	}
}

// placeOf returns the file and the line of a place, false for one that no file has.
func placeOf(source string) (file string, line int, ok bool) {
	at, ok := diag.ParseSource(source)
	line, _ = at.Shown()
	return at.File, line, ok && !strings.HasPrefix(at.File, "bootstrap")
}

// documents returns the documents of a file with their rules, in the order of lines.
func (r *revision) documents(file string) []*object {
	var list []*object
	r.eachDocument(func(in string, o view.Object) {
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
func (o *object) view() view.Object {
	out := o.Object
	out.Rules = []view.RuleLine{}
	for _, r := range o.rules {
		row := view.RuleLine{Rule: r.number, Line: r.line, Decided: r.decided.Load(), Matched: r.matched.Load()}
		at := slices.IndexFunc(out.Rules, func(other view.RuleLine) bool {
			return other.Line == r.line && (other.Rule == r.number || r.name != o.Name)
		})
		if at < 0 {
			out.Rules = append(out.Rules, row)
			continue
		}
		out.Rules[at].Decided += row.Decided
		out.Rules[at].Matched += row.Matched
	}
	slices.SortStableFunc(out.Rules, func(a, b view.RuleLine) int { return cmp.Compare(a.Line, b.Line) })
	return out
}

package assertion

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// classes of paths, the best one first.
var pathClasses = []string{"certain", "assumed", "possible"}

// path reads who never reaches what.
func (o *one) path() {
	from, to, class := o.c.Value("from"), o.c.Text("to"), o.c.Text("class")
	p := &Path{Class: pathClasses[len(pathClasses)-1]}
	switch {
	case from == nil:
	case from.Type == syntax.String:
		o.CheckOneOf(from, "from", "any")
	default:
		if c := o.Cursor(from, "from", false); c != nil {
			if h := c.Value("holds"); h != nil {
				p.From = o.holds(h, c.Field("holds").Key)
			} else {
				c.Missing("holds", "")
			}
			c.Done()
		}
	}
	if to != nil {
		o.Examples(to, []string{"cluster-admin", "namespace-admin:", "user:", "group:", "ROLE:"})
		if p.To = to.Value; !isTarget(to.Value) {
			o.Fail(to, diag.BadValue, "write cluster-admin, namespace-admin:NAMESPACE, user:NAME, group:NAME or ROLE:[NAMESPACE/]NAME", "to %s is not a target", syntax.Quote(to.Value))
		}
	}
	if class != nil && o.CheckOneOf(class, "class", pathClasses...) {
		p.Class = class.Value
	}
	refused := []string{"from", "to", "class"}
	if o.a.Form == Never && o.a.Word == reaches {
		refused = []string{"of", "at", "alone", "apart"}
		for key, n := range map[string]*syntax.Node{"from": from, "to": to} {
			if n == nil {
				o.c.Missing(key, "")
			}
		}
		o.a.Path = p
	}
	for _, key := range refused {
		if f := o.c.Field(key); f != nil {
			o.c.Fail(f.Key, diag.UnknownField, "", "an assertion of the form %s has no field %s", strings.TrimSpace(o.a.Form+" "+o.a.Word), syntax.Quote(key))
		}
	}
}

// subjectsOnly reports classes of subjects that have another key than holds.
func (o *one) subjectsOnly(name string, classes []*Class) {
	if slices.ContainsFunc(classes, func(k *Class) bool { return k.Holds == nil || len(k.Texts)+len(k.Labels) > 0 }) {
		o.c.Fail(o.c.Field(name).Key, diag.BadValue, "write {holds: ...}", "%s of never: reach is about subjects: its only key is holds", name)
	}
}

func isTarget(text string) bool {
	for _, prefix := range []string{"namespace-admin:", tables.UserPrefix, tables.GroupPrefix, "ROLE:"} {
		if strings.HasPrefix(text, prefix) && len(text) > len(prefix) {
			return true
		}
	}
	return text == "cluster-admin"
}

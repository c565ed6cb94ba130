// Package lower turns resolved documents of all families into the tables that
// decide. What comes in has no dangling reference and no duplicate; what goes
// out is data without positions, save the file and line that a decision reports.
// It knows no Rego and no bundle.
package lower

import (
	"maps"
	"slices"
	"strconv"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/document"
	"github.com/writ-policy/writ/translator/resolve"
)

// Lower makes the tables. Equal documents give equal tables, whatever their
// order.
func Lower(r *resolve.Resolved) (*Tables, diag.List) {
	access := &Access{
		Master:   r.Master,
		Roles:    make(map[string]Role, len(r.KubernetesRoles)+len(r.OriginRoles)),
		Bindings: make(map[string]Binding, len(r.KubernetesBindings)+len(r.OriginBindings)),
		Subjects: Subjects{
			Cluster:    make(map[string][]string),
			Namespaces: make(map[string]map[string][]string),
		},
	}
	l := &lowerer{access: access, partial: r.Partial, extensions: make(map[string]bool), expressions: make(map[string]bool)}
	l.kubernetes(r)
	l.origin(r)
	access.Extensions = slices.AppendSeq([]string{}, maps.Keys(l.extensions))
	slices.Sort(access.Extensions)
	access.Expressions = slices.Sorted(maps.Keys(l.expressions))
	// A module that no rule names may be called by one that is.
	access.ReadsClock = len(access.Extensions) > 0 &&
		slices.ContainsFunc(r.Extensions, func(e *document.Extension) bool { return e.ReadsClock })
	l.sortSubjects()
	tables := &Tables{
		Deny: denyPolicies(r), Access: access, Visibility: visibility(r), Gateway: l.gateway(r),
	}
	return tables, l.list
}

// lowerer is the state of one Lower.
type lowerer struct {
	access     *Access
	partial    bool // a document with mistakes lacks what its rules say
	extensions map[string]bool
	// expressions are those of rules, in CEL.
	expressions map[string]bool
	list        diag.List
}

// bind adds a binding and enters it under each of its subjects.
func (l *lowerer) bind(b Binding, users, groups []string) {
	key := BindingKey(b.Family, b.Namespace, b.Name)
	l.access.Bindings[key] = b
	level := l.access.Subjects.Cluster
	if !b.Cluster {
		level = l.access.Subjects.Namespaces[b.Namespace]
		if level == nil && len(users)+len(groups) > 0 {
			level = make(map[string][]string)
			l.access.Subjects.Namespaces[b.Namespace] = level
		}
	}
	for _, user := range users {
		enter(level, "user:"+user, key)
	}
	for _, group := range groups {
		enter(level, "group:"+group, key)
	}
}

// enter adds a binding to a subject's list. A subject listed twice in a binding
// is one: its key can only be the last that was added.
func enter(level map[string][]string, subject, key string) {
	keys := level[subject]
	if n := len(keys); n > 0 && keys[n-1] == key {
		return
	}
	level[subject] = append(keys, key)
}

func (l *lowerer) sortSubjects() {
	for _, keys := range l.access.Subjects.Cluster {
		slices.Sort(keys)
	}
	for _, level := range l.access.Subjects.Namespaces {
		for _, keys := range level {
			slices.Sort(keys)
		}
	}
}

// source is the place of a document or rule as decisions report it.
func source(p diag.Position) string { return p.File + ":" + strconv.Itoa(p.Line) }

// roleKey is the key of a document that is a role.
func roleKey(h *document.Header) string { return RoleKey(h.Family, h.Namespace, h.Name) }

package shrink

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/shrink/edit"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// breakGlass is the label of roles and bindings whose subjects hold them in emergencies.
const breakGlass = "writ.dev/break-glass"

const systemPrefix = "system:"

// protect marks what stays whatever the log shows.
func (m *Model) protect() {
	for _, r := range m.roles {
		m.protectDocument(&r.document)
		if r.isAggregate {
			r.fixed = fixedAggregated
		}
	}
	glass := m.breakGlass()
	for _, b := range m.bindings {
		m.protectDocument(&b.document)
		m.protectSubjects(b, glass)
	}
	for _, r := range m.roles {
		if r.fixed == "" {
			r.fixed = m.protectRole(r)
		}
		for _, one := range r.rules {
			switch {
			case r.fixed != "":
				one.fixed = r.fixed
			case one.isDeny:
				one.fixed = fixedDenial
			}
		}
	}
	m.protectYoung()
}

// protectDocument marks documents of no file, those of every cluster, and those that are kept.
func (m *Model) protectDocument(d *document) {
	switch {
	case d.fixed != "":
	case d.header.Stock || roles.IsBootstrap(d.header.At.File):
		d.fixed = fixedBootstrap
	case d.place.In != nil && d.file.IsShared(d.place.Node):
		d.fixed = fixedShared
	case m.o.isKept(d) || hasAnnotation(d.place):
		d.fixed = fixedKeep
	}
}

// hasAnnotation reports whether a document, or one that contains it, is annotated to stay.
func hasAnnotation(p *edit.Place) bool {
	for ; p != nil; p = p.Outer {
		if within(p.Node, "metadata", "annotations", syntax.AnnotationKeep) != nil {
			return true
		}
	}
	return false
}

func within(n *syntax.Node, path ...string) *syntax.Node {
	for _, name := range path {
		f := n.Find(name, false)
		if f == nil || f.Value.IsNull() {
			return nil
		}
		n = f.Value
	}
	return n
}

// breakGlass returns the principals that hold their roles in emergencies.
func (m *Model) breakGlass() []string {
	out := slices.Clone(m.o.BreakGlass)
	for _, b := range m.bindings {
		isMarked := func(d *document) bool {
			return d.place != nil && within(d.place.Node, "metadata", "labels", breakGlass) != nil
		}
		if isMarked(&b.document) || b.role != nil && isMarked(&b.role.document) {
			for _, s := range b.subjects {
				out = append(out, s.principal)
			}
		}
	}
	for _, d := range directory.DocumentsOf[*deny.BreakglassEscalation](m.result.Directory) {
		for _, prefix := range append([]string{""}, m.result.Directory.SessionGroupPrefixes...) {
			out = append(out, tables.Group(prefix+d.EscalatedGroup))
		}
	}
	return out
}

// isSystem reports whether a principal is one of Kubernetes itself. Accounts are not.
func isSystem(principal string) bool {
	s := tables.ParseSubject(principal)
	return strings.HasPrefix(s.Name, systemPrefix) && (s.IsGroup || !strings.HasPrefix(s.Name, tables.AccountPrefix))
}

// protectSubjects marks the subjects of a binding that stay, and the binding if it does.
func (m *Model) protectSubjects(b *binding, glass []string) {
	if b.fixed == "" && slices.ContainsFunc(b.subjects, func(s *subject) bool { return isSystem(s.principal) }) {
		b.fixed = fixedSystem
	}
	if b.fixed == "" && b.role != nil && slices.ContainsFunc(b.role.rules, func(r *rule) bool { return r.isDeny }) {
		b.fixed = fixedDenial
	}
	for _, s := range b.subjects {
		switch {
		case isSystem(s.principal):
			s.fixed, s.isAlone = fixedSystem, true
		case slices.Contains(glass, s.principal):
			s.fixed, s.isAlone = fixedBreakGlass, true
		case slices.Contains(m.o.KeepSubjects, s.principal):
			s.fixed, s.isAlone = fixedKeep, true
		case b.fixed != "":
			s.fixed, s.isAlone = b.fixed, b.fixed == fixedKeep || b.fixed == fixedBootstrap || b.fixed == fixedToCome
		case m.was.isYoung(b, s.principal):
			s.fixed, s.isAlone = fixedGrace, true
		case !m.o.does(OnlySubjects) && s.fixed == "":
			s.fixed = fixedOnly
		}
	}
}

// protectRole returns why a role stays as it is: nothing binds it, or subjects hold it whose
// grants must stay whole.
func (m *Model) protectRole(r *role) string {
	if len(r.bindings) == 0 {
		return fixedUnbound
	}
	alone := ""
	for _, b := range r.bindings {
		for _, s := range b.subjects {
			if s.fixed == fixedBreakGlass {
				return fixedBreakGlass
			}
			alone = cmp.Or(alone, s.fixed)
		}
	}
	isOther := func(s *subject) bool { return !s.isAlone }
	if slices.ContainsFunc(r.bindings, func(b *binding) bool { return slices.ContainsFunc(b.subjects, isOther) }) {
		return ""
	}
	return alone
}

// protectYoung marks what an earlier revision lacks.
func (m *Model) protectYoung() {
	if m.was == nil {
		return
	}
	for _, r := range m.roles {
		if len(r.bindings) > 0 && r.fixed == "" {
			m.was.protectRules(r)
		}
	}
}

// earlier is what a directory had at an earlier time.
type earlier struct {
	kubernetes map[string]*access.KubernetesRole
	origin     map[string]*access.OriginRole
	bound      map[documentID][]string // the role, then the subjects
}

func newEarlier(d *directory.Directory) *earlier {
	out := &earlier{make(map[string]*access.KubernetesRole), make(map[string]*access.OriginRole), make(map[documentID][]string)}
	for _, r := range directory.DocumentsOf[*access.KubernetesRole](d) {
		out.kubernetes[tables.RoleKey(r.Family, r.Namespace, r.Name)] = r
	}
	for _, r := range directory.DocumentsOf[*access.OriginRole](d) {
		out.origin[tables.RoleKey(r.Family, r.Namespace, r.Name)] = r
	}
	add := func(h *syntax.Header, role string, users, groups []string) {
		out.bound[documentID{h.APIVersion, h.Kind, h.Namespace, h.Name}] = append([]string{role}, principalsOf(users, groups)...)
	}
	for _, b := range directory.DocumentsOf[*access.KubernetesBinding](d) {
		add(&b.Header, roleOfBinding(b), b.Users, b.Groups)
	}
	for _, b := range directory.DocumentsOf[*access.OriginBinding](d) {
		add(&b.Header, roleOfBinding(b), b.Users, b.Groups)
	}
	return out
}

// roleOfBinding returns the role that a binding names.
func roleOfBinding(d syntax.Document) string {
	switch b := d.(type) {
	case *access.KubernetesBinding:
		return b.RoleKind + "/" + b.RoleName.Value
	case *access.OriginBinding:
		return fmt.Sprint(b.Global, b.RoleNamespace, "/", b.RoleName.Value)
	}
	return ""
}

func principalsOf(users, groups []string) []string {
	return append(elements.Map(users, tables.User), elements.Map(groups, tables.Group)...)
}

// isYoung reports whether a subject, or the binding that it is in, is not an earlier one.
func (e *earlier) isYoung(b *binding, principal string) bool {
	if e == nil {
		return false
	}
	was := e.bound[b.id()]
	return len(was) == 0 || was[0] != b.names || !slices.Contains(was[1:], principal)
}

// protectRules marks the rules of a role that are young, and in the others the cells that the
// role did not grant.
func (e *earlier) protectRules(r *role) {
	key := tables.RoleKey(r.header.Family, r.header.Namespace, r.header.Name)
	if was := e.origin[key]; r.header.Family != access.FamilyKubernetes {
		for _, one := range r.rules {
			if one.fixed == "" && !wasOrigin(was, one) {
				one.fixed = fixedGrace
			}
		}
		return
	}
	was := e.kubernetes[key]
	for _, one := range r.rules {
		if one.fixed != "" {
			continue
		}
		cells, isWhole := one.product()
		if was == nil || !isWhole {
			one.fixed = fixedGrace
			continue
		}
		for _, c := range cells {
			if !slices.ContainsFunc(was.Rules, func(w access.KubernetesRule) bool { return grantedBy(&w, one, c) }) {
				one.pool.cells[c], one.pool.held[c] = true, true
			}
		}
	}
}

// grantedBy reports whether an earlier rule has a cell of a rule.
func grantedBy(was *access.KubernetesRule, one *rule, c cell) bool {
	lists := [][]string{was.Verbs, was.Groups, was.Resources, was.Names}
	if len(one.lists) == 2 {
		lists = [][]string{was.Verbs, was.Paths}
	}
	for i, l := range lists {
		isFree := len(l) == 0 && one.lists[i].name == "resourceNames"
		if !isFree && !slices.Contains(l, entryOf(c[i])) && !slices.Contains(l, "*") {
			return false
		}
	}
	return true
}

// wasOrigin reports whether an earlier role had an equal rule.
func wasOrigin(was *access.OriginRole, one *rule) bool {
	if was == nil {
		return false
	}
	values := func(l *list, not bool) []string {
		entries := l.entries
		if not {
			entries = l.not
		}
		return elements.Map(entries, func(e entry) string { return e.value })
	}
	return slices.ContainsFunc(was.Rules, func(w access.OriginRule) bool {
		same := (w.Restrictions != nil) == (one.restricted != "")
		for i, l := range [][][]string{{w.Verbs, w.NotVerbs}, {w.Kinds, w.NotKinds}} {
			same = same && slices.Equal(values(&one.lists[i], false), l[0]) && slices.Equal(values(&one.lists[i], true), l[1])
		}
		return same
	})
}

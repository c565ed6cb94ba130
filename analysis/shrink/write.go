package shrink

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/shrink/edit"
	words "github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/syntax"
)

// writer makes the changes of the texts.
type writer struct {
	m    *Model
	seen *tallies
	out  *Change
	cuts map[*edit.File][]edit.Cut
	gone map[*edit.File]map[int]bool // parts
	// inner are documents of Lists and containers that go, by what contains them.
	inner map[*syntax.Node]*contents
}

// contents are the documents of a List or a container.
type contents struct {
	file  *edit.File
	outer *edit.Place
	items []edit.Item
}

// write sets the texts and the edits of a change.
func (m *Model) write(u *Use, out *Change) error {
	w := &writer{m: m, seen: u.tallies(), out: out, cuts: make(map[*edit.File][]edit.Cut), gone: make(map[*edit.File]map[int]bool), inner: make(map[*syntax.Node]*contents)}
	for _, r := range m.roles {
		switch {
		case r.gone:
			w.drop(&r.document)
			out.Edits = append(out.Edits, w.document(&r.document, "role", "no binding is left"))
		case r.fixed == "":
			if err := w.role(r); err != nil {
				return err
			}
		}
	}
	for _, b := range m.bindings {
		if b.gone {
			w.drop(&b.document)
			out.Edits = append(out.Edits, w.document(&b.document, "binding", w.evidenceOfBinding(b)))
		} else if err := w.binding(b); err != nil {
			return err
		}
	}
	if err := w.containers(); err != nil {
		return err
	}
	w.notEdited()
	for f := range w.cuts {
		if len(w.cuts[f]) == 0 {
			continue
		}
		if f.IsEmpty(w.gone[f]) {
			out.Files[f.Path] = nil
		} else {
			out.Files[f.Path] = f.Apply(0, len(f.Text), w.cuts[f])
		}
	}
	slices.SortStableFunc(out.Edits, compareEdits)
	return nil
}

// drop takes a document out.
func (w *writer) drop(d *document) {
	p := d.place
	if p.In == nil {
		w.dropPart(d.file, p.Part)
		return
	}
	in := w.inner[p.In]
	if in == nil {
		in = &contents{d.file, p.Outer, make([]edit.Item, len(p.In.Items)+len(p.In.Fields))}
		w.inner[p.In] = in
	}
	in.items[p.Index].Drop = true
}

func (w *writer) dropPart(f *edit.File, part int) {
	if w.gone[f] == nil {
		w.gone[f] = make(map[int]bool)
	}
	if !w.gone[f][part] {
		w.gone[f][part] = true
		w.cuts[f] = append(w.cuts[f], f.DropPart(part))
	}
}

// containers takes documents out of Lists and containers, and those that become empty.
func (w *writer) containers() error {
	for len(w.inner) > 0 {
		all := w.inner
		w.inner = make(map[*syntax.Node]*contents)
		for in, c := range all {
			isKept := slices.ContainsFunc(c.items, func(i edit.Item) bool { return !i.Drop })
			if !isKept && w.isSuperfluous(c, all) {
				w.drop(&document{file: c.file, place: c.outer})
				continue
			}
			if w.gone[c.file][c.outer.Part] {
				continue
			}
			key := c.outer.Node.Fields[slices.IndexFunc(c.outer.Node.Fields, func(f syntax.Field) bool { return f.Value == in })].Key
			cuts, err := c.file.List(key, in, c.items)
			if err != nil {
				w.m.fixContents(in)
				return err
			}
			w.cuts[c.file] = append(w.cuts[c.file], cuts...)
		}
	}
	return nil
}

// fixContents marks the documents of a List or a container.
func (m *Model) fixContents(in *syntax.Node) {
	for _, r := range m.roles {
		if r.place != nil && r.place.In == in {
			r.fixed = cmp.Or(r.fixed, fixedLayout)
		}
	}
	for _, b := range m.bindings {
		if b.place != nil && b.place.In == in {
			b.fixed = cmp.Or(b.fixed, fixedLayout)
		}
	}
}

// isSuperfluous reports whether an empty List or container may go, as all do that become
// empty: a Policy is needed by roles and bindings of its namespace, and by other containers, a
// PolicyBinding by bindings.
func (w *writer) isSuperfluous(c *contents, all map[*syntax.Node]*contents) bool {
	kind := find(c.outer.Node, "kind")
	if kind == nil || kind.Value.Value == "List" {
		return true
	}
	namespace := ""
	if n := within(c.outer.Node, "metadata", "namespace"); n != nil {
		namespace = n.Value
	} else if f := find(c.outer.Node, "namespace"); f != nil {
		namespace = f.Value.Value
	}
	isHere := func(d *document) bool {
		return d.header.APIVersion == versionOrigin && d.header.Namespace == namespace
	}
	switch {
	case slices.ContainsFunc(w.m.bindings, func(b *binding) bool { return isHere(&b.document) && !b.gone }):
		return false
	case strings.EqualFold(kind.Value.Value, "PolicyBinding"):
		return true
	}
	return !slices.ContainsFunc(w.m.roles, func(r *role) bool { return isHere(&r.document) && !r.gone }) && !w.hasContainer(namespace, all)
}

// hasContainer reports whether a namespace has a container of Origin beside those that become
// empty.
func (w *writer) hasContainer(namespace string, all map[*syntax.Node]*contents) bool {
	isEmpty := make(map[*edit.Place]bool)
	for _, c := range all {
		isEmpty[c.outer] = !slices.ContainsFunc(c.items, func(i edit.Item) bool { return !i.Drop })
	}
	for _, d := range w.m.result.Directory.Documents() {
		h := d.Meta()
		isContainer := h.APIVersion == versionOrigin && (h.Kind == "Policy" || h.Kind == "PolicyBinding")
		if !isContainer || h.Namespace != namespace {
			continue
		}
		f := w.m.files[h.At.File]
		if f == nil || !isEmpty[f.Place(h.At.Line, h.At.Column)] {
			return true
		}
	}
	return false
}

// binding takes subjects out of a binding that stays.
func (w *writer) binding(b *binding) error {
	byList := make(map[*syntax.Field][]*subject)
	var lists []*syntax.Field
	for _, s := range b.subjects {
		if s.list != nil && byList[s.list] == nil {
			lists = append(lists, s.list)
		}
		byList[s.list] = append(byList[s.list], s)
	}
	for _, l := range lists {
		items := make([]edit.Item, len(l.Value.Items))
		for _, s := range byList[l] {
			items[s.index].Drop = s.gone
			if s.gone {
				w.out.Edits = append(w.out.Edits, w.subject(s))
			}
		}
		cuts, err := b.file.List(l.Key, l.Value, items)
		if err != nil {
			for _, s := range byList[l] {
				s.fixed = cmp.Or(s.fixed, fixedLayout)
			}
			return err
		}
		w.cuts[b.file] = append(w.cuts[b.file], cuts...)
	}
	return nil
}

// role changes the rules of a role that stays.
func (w *writer) role(r *role) error {
	if r.list == nil {
		return nil
	}
	items := make([]edit.Item, len(r.rules))
	var cuts []edit.Cut
	for i, one := range r.rules {
		switch {
		case one.fixed != "":
		case len(one.parts) == 0:
			if items[i].Drop = w.m.o.does(OnlyRules); items[i].Drop {
				w.out.Edits = append(w.out.Edits, w.rule(one))
			}
		default:
			more, err := w.change(one)
			if err != nil {
				one.fixed = fixedLayout
				return err
			}
			cuts = append(cuts, more...)
		}
	}
	more, err := r.file.List(r.list.Key, r.list.Value, items)
	if err != nil {
		for _, one := range r.rules {
			one.fixed = cmp.Or(one.fixed, fixedLayout)
		}
		return err
	}
	w.cuts[r.file] = append(w.cuts[r.file], append(cuts, more...)...)
	return nil
}

// change makes a rule its parts: the first in its place, copies for the others.
func (w *writer) change(r *rule) ([]edit.Cut, error) {
	f := r.role.file
	w.keepFirst(r)
	var all [][]edit.Cut
	for n := range r.parts {
		var cuts []edit.Cut
		for i := range r.lists {
			l := &r.lists[i]
			if l.field == nil {
				continue
			}
			items := r.items(l, r.parts[n][i], w.m.o)
			more, err := f.List(l.field.Key, l.field.Value, items)
			if err != nil {
				return nil, err
			}
			cuts = append(cuts, more...)
			if len(r.parts) == 1 && len(more) > 0 {
				w.out.Edits = append(w.out.Edits, w.list(r, l, items))
			}
		}
		all = append(all, cuts)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	w.out.Edits = append(w.out.Edits, w.split(r))
	copies, err := f.CopyItem(r.role.list.Value, r.index, all[1:])
	if err != nil {
		return nil, err
	}
	return append(all[0], copies), nil
}

// keepFirst puts the part first that has most of the rule as it is written.
func (w *writer) keepFirst(r *rule) {
	first := 0
	for n := range r.parts {
		if r.parts[n].size() > r.parts[first].size() {
			first = n
		}
	}
	chosen := r.parts[first]
	r.parts = append([]part{chosen}, slices.Delete(slices.Clone(r.parts), first, first+1)...)
}

// items returns what becomes of the entries of a list if some values stay.
func (r *rule) items(l *list, values []string, o *Options) []edit.Item {
	items := make([]edit.Item, len(l.field.Value.Items))
	isFree := slices.Contains(values, "") // nothing of the list was needed, or nothing may go
	if isFree && (o.does(OnlyEntries) || !o.does(OnlyWildcards)) {
		return items
	}
	written := make(map[string]bool)
	hasWild := l.name != "nonResourceURLs" && l.name != "resourceNames"
	for _, e := range l.entries {
		if !hasWild || !e.isWild() {
			isKept := slices.Contains(values, e.value) && !written[e.value] || !o.does(OnlyEntries)
			items[e.index].Drop, written[e.value] = !isKept, written[e.value] || isKept
		}
	}
	isNarrowed := false
	for _, e := range l.entries {
		if !hasWild || !e.isWild() {
			continue
		}
		if slices.Contains(values, e.value) {
			items[e.index].Drop = written[e.value]
			written[e.value] = true
			continue
		}
		isNarrowed = true
		var stands []string
		for _, v := range values {
			if v != "" && !written[v] && !(entry{value: v}).isWild() && r.holds(l, e.value, v) {
				written[v] = true
				stands = append(stands, entryOf(v))
			}
		}
		sortValues(l.name, stands)
		items[e.index] = edit.Item{Drop: len(stands) == 0, Values: stands}
	}
	if isNarrowed {
		for _, n := range l.not {
			isNeeded := slices.ContainsFunc(values, func(v string) bool { return overlaps(l.name, n.value, v) })
			items[n.index].Drop = !isNeeded
		}
	}
	return items
}

// overlaps reports whether a negation takes something from an entry of Origin.
func overlaps(list, not, value string) bool {
	switch {
	case not == "*" || value == "*" || not == value:
		return true
	case list == "verbs":
		return words.Wider(not) == value || words.Wider(value) == not
	}
	kind, sub, slash := strings.Cut(not, "/")
	other, otherSub, otherSlash := strings.Cut(value, "/")
	return (kind == "*" || other == "*" || words.SameKind(kind, other)) && (!slash || !otherSlash || strings.EqualFold(sub, otherSub))
}

// notEdited names what stays because its text cannot be changed alone.
func (w *writer) notEdited() {
	add := func(source, text, reason string) {
		w.out.NotEdited = append(w.out.NotEdited, NotEdited{source, text, reason})
	}
	for _, r := range w.m.roles {
		for _, one := range r.rules {
			if !r.gone && (one.fixed == fixedShared || one.fixed == fixedLayout) {
				add(one.source, fmt.Sprintf("%s rule %d", r.name(), one.index), one.fixed)
			}
		}
	}
	for _, b := range w.m.bindings {
		for _, s := range b.subjects {
			if !b.gone && s.fixed == fixedShared {
				add(b.line(s.at), b.name()+" subject "+s.principal, s.fixed)
			}
		}
	}
}

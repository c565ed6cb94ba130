package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// groups joins the classes of one change that the same documents cause. A class is in a group
// of each change that of returns.
func (r *Report) groups(c *comparison, of func(*Class) []string) []Group {
	by := make(map[string]*Group)
	members := make(map[string][]*Class)
	for i := range r.Classes {
		k := &r.Classes[i]
		causes := c.causes(k, r.Statements)
		for _, change := range of(k) {
			key := change + statement.JSONText([]any{causes, k.At})
			if by[key] == nil {
				by[key] = &Group{Change: change, Causes: causes}
			}
			by[key].Classes = append(by[key].Classes, k.ID)
			members[key] = append(members[key], k)
		}
	}
	out := make([]Group, 0, len(by))
	for _, key := range slices.Sorted(maps.Keys(by)) {
		g := by[key]
		g.title = r.titleOf(members[key], g.Change, g.Causes)
		from := members[key][0].later(r.Now)
		g.Title, g.Summary, g.Dangers = from+g.title.String(), from+r.sentences(members[key], &g.title, g.Causes), g.title.dangers()
		if !slices.ContainsFunc(members[key], func(k *Class) bool { return k.isFound(g.Change) }) {
			g.Summary += possible
		}
		out = append(out, *g)
	}
	slices.SortStableFunc(out, func(a, b Group) int { return a.title.compare(&b.title) })
	return out
}

// fewSentences is how many sentences the summary of a group has at most.
const fewSentences = 2

// sentences states what a group is about. Subjects that do not all get or lose the same have a
// sentence each if they are few: one sentence would state of each what holds for some. At other
// points than access, a summary is one sentence.
func (r *Report) sentences(classes []*Class, whole *title, causes []Cause) string {
	shares := make(map[string][]string) // what subjects get or lose by all of the classes, wherever that is
	who := make([]string, len(classes))
	for i, k := range classes {
		if k.Point != statement.PointAccess {
			return whole.sentence()
		}
		who[i] = statement.JSONText(tables.Entries(r.who(k, whole.change)))
		for _, s := range r.changedBy(k, whole.change) {
			shares[who[i]] = append(shares[who[i]], s.Phrase(statement.All))
		}
	}
	text := make(map[string]string, len(shares))
	for subjects, share := range shares {
		text[subjects] = statement.JSONText(tables.Entries(share))
	}
	var parts [][]*Class
	index := make(map[string]int)
	for i, k := range classes {
		n, isKnown := index[text[who[i]]]
		if !isKnown {
			n, index[text[who[i]]] = len(parts), len(parts)
			parts = append(parts, nil)
		}
		parts[n] = append(parts[n], k)
	}
	switch {
	case len(parts) == 1:
		return whole.sentence()
	case len(parts) > fewSentences:
		return whole.sentence() + ", not each of them all of it"
	}
	var out []string
	for _, part := range parts {
		t := r.titleOf(part, whole.change, causes)
		out = append(out, t.sentence())
	}
	return strings.Join(out, "; ")
}

// later states when a class begins that begins after the time of the comparison, as the
// beginning of a title; empty for others.
func (k *Class) later(now time.Time) string {
	if k.At == nil || !k.At.After(now) {
		return ""
	}
	return "from " + k.At.Format(time.RFC3339Nano) + ": "
}

// mostDangerous returns the change of the group that a class is in.
func (k *Class) mostDangerous() []string { return k.Changes[:1] }

// isFound reports whether a request of a class was found that goes through a change.
func (k *Class) isFound(change string) bool {
	return slices.ContainsFunc(k.Transitions, func(t Transition) bool { return t.Change == change })
}

// found returns the changes of a class that have a transition, its most dangerous one if none
// has.
func (k *Class) found() []string {
	out := slices.DeleteFunc(slices.Clone(k.Changes), func(change string) bool { return !k.isFound(change) })
	if len(out) == 0 {
		return k.mostDangerous()
	}
	return out
}

// causes returns the documents of one-sided statements that differ between the
// revisions: of a binding and its role, the one that changed. Statements that a class leaves
// out cause it only together with others of their document, whose line of B they have.
func (c *comparison) causes(k *Class, statements []statement.JSON) []Cause {
	out := slices.Clone(k.causes)
	for _, id := range slices.Concat(k.All...) {
		out = append(out, c.causesOf(&statements[id])...)
	}
	for _, id := range k.Except {
		for _, cause := range c.causesOf(&statements[id]) {
			if slices.ContainsFunc(out, cause.isSameDocument) {
				out = append(out, cause)
			}
		}
	}
	slices.SortFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(b.In, a.In))
	})
	out = slices.CompactFunc(out, Cause.isSameDocument)
	if out == nil {
		out = []Cause{}
	}
	return out
}

func (c Cause) isSameDocument(o Cause) bool {
	return c.Kind == o.Kind && c.Namespace == o.Namespace && c.Name == o.Name
}

func (c *comparison) causesOf(s *statement.JSON) []Cause {
	var out []Cause
	if len(s.In) == 1 {
		for _, d := range s.Documents {
			if s.Session == "" && !s.IsDebug() || c.differs(d) {
				out = append(out, c.causeOf(d)...)
			}
		}
	}
	return out
}

// differs reports whether a document of what a session gives is not the same in both
// revisions: most sessions give what others have.
func (c *comparison) differs(d statement.Document) bool {
	if c.unlike == nil {
		c.unlike = make(map[string]bool)
		for _, of := range c.differences() {
			c.unlike[of.Document()] = true
		}
	}
	if d.Role != "" {
		role := c.a.World.Access.Roles.At(d.Role)
		if role.Name == "" {
			role = c.b.World.Access.Roles.At(d.Role)
		}
		if c.unlike[tables.Title(role.Kind, role.Namespace, role.Name)] {
			return true
		}
	}
	return c.unlike[statement.DocumentName(d)]
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
	x, y := own.Binding(binding), other.Binding(binding) // none while the role has no rules
	cause.Source = d.Binding.Source
	switch {
	case before.Name == "":
		out = append(out, cause)
	case !sameBinding(now, before) || len(x) > 0 && len(y) > 0 && !slices.Equal(x[0].Subjects, y[0].Subjects):
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
	if len(out) == 0 {
		out = c.causesAround(d, cause)
	}
	return out
}

// causesAround returns the modules of extensions that differ, of those that the rule of a
// document reads, or the document itself if its meaning changes with the master namespace.
func (c *comparison) causesAround(d statement.Document, cause Cause) []Cause {
	before, after := c.a.World.Revision.Modules, c.b.World.Revision.Modules
	var out []Cause
	for _, name := range tables.Entries(slices.Concat(c.a.World.ModulesOf(d), c.b.World.ModulesOf(d))) {
		if before[name] == after[name] {
			continue
		}
		module := Cause{In: "b", What: "changed", Kind: "Extension", Name: name}
		if before[name] == "" {
			module.What = "added"
		}
		if after[name] == "" {
			module.In, module.What = "a", "removed"
		}
		out = append(out, module)
	}
	if len(out) == 0 {
		cause.What = "changed"
		out = append(out, cause)
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

// changeKinds are the kinds of changes, most dangerous first.
var changeKinds = []string{changeGain, changeRelax, changeLoss, changeTighten, changeOther}

// changeOf names the change from one outcome to another.
func changeOf(point, from, to string) string {
	if point == statement.PointVisibility {
		ranks := map[string]int{statement.OutcomePartial: 1, statement.OutcomeAllow: 2, statement.OutcomeShown: 2}
		if ranks[to] > ranks[from] {
			return changeGain
		}
		return changeLoss
	}
	switch {
	case to == statement.OutcomeAllow:
		return changeGain
	case from == statement.OutcomeAllow:
		return changeLoss
	case from == statement.OutcomeNone:
		return changeTighten
	case to == statement.OutcomeNone:
		return changeRelax
	}
	return changeOther
}

// The kinds of changes, most dangerous first.
const (
	changeGain    = "gain"
	changeRelax   = "relax"
	changeLoss    = "loss"
	changeTighten = "tighten"
	changeOther   = "other"
)

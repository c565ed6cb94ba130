package diff

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/regions"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
)

const (
	actionView     = "view"
	actionMetrics  = "viewMetrics"
	questionAccess = "access"
	questionItem   = "item"
)

// view returns statements with their outcome for an action, and with the content that
// decides it.
func view(list []*statement.Statement, action string) []*statement.Statement {
	out := make([]*statement.Statement, 0, len(list))
	for _, s := range list {
		t := *s
		t.Effect = s.EffectOf(action)
		bare := statement.JSON{}
		s.Condition.Describe(&bare)
		bare.Entries, bare.Permissions = nil, nil
		t.Content = t.Effect + string(t.Rank) + statement.JSONText(bare)
		out = append(out, &t)
	}
	return out
}

func visibilitySpace(w *statement.World, list []*statement.Statement) *space {
	by := bySubject(list)
	of := func(principal, _ string) []*statement.Statement { return by[principal] }
	return &space{of: of, in: of, all: func(string, string) iter.Seq[*statement.Statement] { return slices.Values(list) }, world: w, denies: true}
}

// visibility compares the point visibility: standard types exactly, then custom types and
// items.
func (c *comparison) visibility() error {
	a, b := c.a.World.VisibilityStatements(c.o.Now), c.b.World.VisibilityStatements(c.o.Now)
	var found []*class
	for _, action := range []string{actionView, actionMetrics} {
		spaceA, spaceB := visibilitySpace(c.a.World, view(a, action)), visibilitySpace(c.b.World, view(b, action))
		for _, d := range []*side{
			c.side(spaceB, spaceA, "b", "a", statement.PointVisibility, statement.OutcomeDeny),
			c.side(spaceA, spaceB, "a", "b", statement.PointVisibility, statement.OutcomeDeny),
		} {
			d.action = action
			for _, s := range d.changedList() {
				for _, k := range d.classes(s) {
					k.question, k.types, k.actions = questionAccess, statement.StandardTypes, []string{action}
					for _, t := range k.transitions {
						t.request["action"], t.request["type"] = action, ""
					}
					if hasUnknownRegions(k) {
						k.why = []string{statement.WhyPattern}
					}
					found = append(found, k)
				}
			}
		}
	}
	if err := c.add(joinActions(found)...); err != nil {
		return err
	}
	return c.views(a, b)
}

// changedList returns the statements of x that y lacks for some subject.
func (d *side) changedList() []*statement.Statement {
	var out []*statement.Statement
	for s := range d.x.all("", "") {
		part := *s
		part.Subjects = nil
		for _, p := range s.Subjects {
			if !slices.ContainsFunc(d.y.of(p, ""), func(t *statement.Statement) bool { return statement.ContentOf(t) == statement.ContentOf(s) }) {
				part.Subjects = append(part.Subjects, p)
			}
		}
		if len(part.Subjects) > 0 {
			out = append(out, &part)
		}
	}
	return out
}

// hasUnknownRegions reports whether the patterns of a class for clusters could not be taken apart
// completely: clusters may fit it that no witness stands for.
func hasUnknownRegions(k *class) bool {
	var patterns []string
	for _, list := range append(slices.Clone(k.all), k.except) {
		for _, m := range list {
			var v statement.Values
			m.s.Condition.Mention(&v)
			patterns = append(patterns, v.Clusters().Patterns...)
		}
	}
	_, complete := regions.Of(patterns)
	return !complete
}

// joinActions joins classes that differ in their action alone.
func joinActions(list []*class) []*class {
	by := make(map[string]*class)
	var out []*class
	for _, k := range list {
		key := ""
		for _, statements := range append(slices.Clone(k.all), k.except) {
			var texts []string
			for _, m := range statements {
				texts = append(texts, m.s.Effect+strings.Join(m.s.Subjects, ",")+statement.JSONOf(m.s.Condition)+strings.Join(m.in, ""))
			}
			slices.Sort(texts)
			key += "\x01" + strings.Join(texts, "\x02")
		}
		for _, t := range k.transitions {
			key += "\x03" + t.from + t.to
		}
		if into := by[key]; into != nil {
			into.actions = tables.Entries(slices.Concat(into.actions, k.actions))
			for i, t := range k.transitions {
				maps.Copy(into.transitions[i].affected, t.affected)
			}
			continue
		}
		by[key] = k
		out = append(out, k)
	}
	return out
}

// views compares what the engine alone decides: custom types, and items of every type. A
// policy that differs gives a class for each type with a witness.
func (c *comparison) views(a, b []*statement.Statement) error {
	spaceA, spaceB := visibilitySpace(c.a.World, a), visibilitySpace(c.b.World, b)
	sideA, sideB := c.side(spaceA, spaceB, "a", "b", statement.PointVisibility, statement.OutcomeDeny), c.side(spaceB, spaceA, "b", "a", statement.PointVisibility, statement.OutcomeDeny)
	sources := !sameSources(c.a.World, c.b.World)
	changedA, changedB := sideA.changedList(), sideB.changedList()
	if sources { // what identifies items may differ for every policy
		changedA, changedB = a, b
	}
	all := elements.Map(changedB, sideB.own)
	all = append(all, elements.Map(changedA, sideA.own)...)
	if len(all) == 0 {
		return nil
	}
	requests, cut := c.viewRequests(slices.Concat(changedA, changedB), a, b, sources)
	by := make(map[string]*class)
	of := func(question, why, name string) *class {
		key := question + "\x00" + name
		if by[key] == nil {
			by[key] = &class{point: statement.PointVisibility, question: question, types: []string{name}, why: []string{why}, all: [][]*member{all}}
		}
		return by[key]
	}
	for _, name := range cut { // each class that may be missing is there, without a witness if need be
		for question, why := range map[string]string{questionAccess: statement.WhyCustomType, questionItem: statement.WhyItems} {
			if question == questionItem || !slices.Contains(statement.StandardTypes, name) {
				k := of(question, why, name)
				k.why, k.changes = append(k.why, statement.WhyPattern), []string{changeGain, changeLoss}
			}
		}
	}
	for _, r := range requests {
		object := r.object
		va, vb, err := c.judges.both(c.ctx, statement.PointVisibility, object)
		if err != nil || va.Outcome == vb.Outcome {
			continue
		}
		question, why := questionAccess, statement.WhyCustomType
		if object["items"] != nil {
			question, why = questionItem, statement.WhyItems
		}
		k := of(question, why, object["type"].(string))
		t := k.record(object, va, vb)
		for _, p := range r.like.alone {
			if c.o.Subject == "" || p == c.o.Subject {
				t.affected[p] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		if err := c.add(by[key]); err != nil {
			return err
		}
	}
	return nil
}

func sameSources(a, b *statement.World) bool {
	text := func(w *statement.World) string {
		v := tables.Of[*tables.Visibility](w.Revision.Tables)
		if v == nil {
			return "[]"
		}
		var list []tables.MetricSource
		for _, s := range v.Sources {
			s.Source = ""
			list = append(list, s)
		}
		return statement.JSONText(list)
	}
	return text(a) == text(b)
}

package change

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/tables"
)

const (
	actionView     = "view"
	actionMetrics  = "viewMetrics"
	questionAccess = "access"
	questionItem   = "item"
	kindVisibility = "MonitorAccessPolicy"
)

// standardTypes share their access classes. The empty type is the cluster itself.
var standardTypes = []string{"", "nodes", "namespaces", "operators", "pods", "alerts", "events"}

// clusterRule is where a rule of a visibility policy applies: the clusters that its
// selector selects and no earlier one does. A nil selector is the default.
type clusterRule struct {
	policy   *tables.VisibilityPolicy
	index    int
	rule     *tables.VisibilityRule
	selector bool
	not      []*tables.VisibilityRule

	patterns map[string]*regexp.Regexp
}

func (c *clusterRule) match(at stage, r *request) uint8 {
	if at != stageCluster {
		return 1
	}
	if r.cluster == "" {
		return 0
	}
	for _, n := range c.not {
		if c.selects(n, r) {
			return 0
		}
	}
	return one(!c.selector || c.selects(c.rule, r))
}

func (c *clusterRule) selects(rule *tables.VisibilityRule, r *request) bool {
	if slices.Contains(rule.Names, r.cluster) || rule.Pattern != "" && c.pattern(rule.Pattern).MatchString(r.cluster) {
		return true
	}
	if rule.Labels == nil {
		return false
	}
	for key, value := range *rule.Labels {
		if got, ok := r.clusterLabels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

func (c *clusterRule) pattern(text string) *regexp.Regexp {
	if found := c.patterns[text]; found != nil {
		return found
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		compiled = regexp.MustCompile(`$^x`) // the translator rejects it
	}
	c.patterns[text] = compiled
	return compiled
}

func (c *clusterRule) last() stage { return stageCluster }

func (c *clusterRule) mention(v *values) {
	for _, rule := range append(slices.Clone(c.not), c.rule) {
		if rule == nil {
			continue
		}
		v.clusters.add(rule.Names...)
		if rule.Pattern != "" {
			v.clusters.patterns = append(v.clusters.patterns, rule.Pattern)
		}
		if rule.Labels != nil {
			for _, key := range sortedKeys(*rule.Labels) {
				v.clusterLabels.add(key, (*rule.Labels)[key])
			}
		}
	}
}

func selectorJSON(r *tables.VisibilityRule) map[string]any {
	out := make(map[string]any)
	if len(r.Names) > 0 {
		out["matchNames"] = r.Names
	}
	if r.Pattern != "" {
		out["matchPattern"] = r.Pattern
	}
	if r.Labels != nil {
		out["matchLabels"] = *r.Labels
	}
	return out
}

func (c *clusterRule) describe(s *Statement) {
	s.Policy = c.policy.Namespace + "/" + c.policy.Name
	s.Order = []any{c.policy.Priority, c.policy.Namespace, c.policy.Name}
	s.Rule, s.Permissions = c.index, c.rule.Permissions
	s.Effect = "allow"
	if c.policy.Deny {
		s.Effect = outcomeDeny
	}
	s.Clusters = map[string]any{"default": "all"}
	if c.selector {
		s.Clusters = map[string]any{"selector": selectorJSON(c.rule)}
	}
	if len(c.not) > 0 {
		var not []any
		for _, n := range c.not {
			not = append(not, selectorJSON(n))
		}
		s.Clusters["not"] = not
	}
	if len(c.rule.Entries) > 0 {
		s.Entries = make(map[string]any)
		for name, e := range c.rule.Entries {
			s.Entries[name] = entryJSON(e)
		}
	}
}

// entryJSON returns an entry in the newer form, without what restricts nothing.
func entryJSON(e *tables.VisibilityEntry) map[string]any {
	out := map[string]any{"visibility": e.Visibility}
	if e.Filter != nil {
		out["filters"] = e.Filter
	}
	if e.Include != nil || e.Exclude != nil {
		out["aggregations"] = map[string]any{"include": e.Include, "exclude": e.Exclude}
	}
	return out
}

func (c *clusterRule) without(condition) condition { return c }

// visibilityStatements returns the statements of policies that hold at a time.
func (w *World) visibilityStatements(now time.Time) []*statement {
	v := tables.Of[*tables.Visibility](w.revision.Tables)
	if v == nil {
		return nil
	}
	var out []*statement
	patterns := make(map[string]*regexp.Regexp)
	for i := range v.Policies {
		p := &v.Policies[i]
		if p.Disabled || p.Malformed || p.NotBefore != nil && now.Before(*p.NotBefore) || p.NotAfter != nil && now.After(*p.NotAfter) {
			continue
		}
		var not []*tables.VisibilityRule
		for j := range p.Rules {
			out = append(out, visibilityStatement(p, &clusterRule{p, j, &p.Rules[j], true, slices.Clone(not), patterns}))
			not = append(not, &p.Rules[j])
		}
		if p.ByDefault != nil {
			out = append(out, visibilityStatement(p, &clusterRule{p, -1, p.ByDefault, false, not, patterns}))
		}
	}
	return out
}

func visibilityStatement(p *tables.VisibilityPolicy, c *clusterRule) *statement {
	order := fmt.Sprintf("1%020d\x00%s\x00%s", p.Priority, p.Namespace, p.Name)
	if p.Deny {
		order = "0"
	}
	subjects := p.SubjectKeys()
	if subjects == nil {
		subjects = []string{}
	}
	source := p.Source
	if c.rule.Source != "" {
		source = c.rule.Source
	}
	s := &statement{family: familyVisibility, effect: outcomeAllow, subjects: subjects, condition: c, rank: []byte(order),
		documents: []Document{{Kind: kindVisibility, Namespace: p.Namespace, Name: p.Name, Rule: c.index, Source: source}}}
	if p.Deny {
		s.effect = outcomeDeny
	}
	return s
}

// effectOf returns the outcome of standard types by a statement for an action.
func (s *statement) effectOf(action string) string {
	c := s.condition.(*clusterRule)
	if s.effect == outcomeDeny || !slices.Contains(c.rule.Permissions, action) {
		return outcomeDeny
	}
	for name, e := range c.rule.Entries {
		if slices.Contains(standardTypes[1:], name) && e.Restricts() {
			return outcomePartial
		}
	}
	return outcomeAllow
}

// view returns statements with their outcome for an action, and with the content that
// decides it.
func view(list []*statement, action string) []*statement {
	out := make([]*statement, 0, len(list))
	for _, s := range list {
		t := *s
		t.effect = s.effectOf(action)
		t.content = ""
		t.content = t.effect + contentOf(&t)
		c := s.condition.(*clusterRule)
		bare := Statement{}
		c.describe(&bare)
		bare.Entries, bare.Permissions = nil, nil
		t.content = t.effect + string(t.rank) + jsonText(bare)
		out = append(out, &t)
	}
	return out
}

func visibilitySpace(w *World, list []*statement) *space {
	bySubject := make(map[string][]*statement)
	for _, s := range list {
		for _, p := range s.subjects {
			bySubject[p] = append(bySubject[p], s)
		}
	}
	of := func(principal, _ string) []*statement { return bySubject[principal] }
	return &space{of: of, in: of, all: func(string) []*statement { return list }, world: w, denies: true}
}

// visibility compares the point visibility: standard types exactly, then custom types and
// items.
func (c *comparison) visibility() error {
	a, b := c.a.World.visibilityStatements(c.o.Now), c.b.World.visibilityStatements(c.o.Now)
	var found []*class
	for _, action := range []string{actionView, actionMetrics} {
		spaceA, spaceB := visibilitySpace(c.a.World, view(a, action)), visibilitySpace(c.b.World, view(b, action))
		for _, d := range []*side{
			c.side(spaceB, spaceA, "b", "a", PointVisibility, outcomeDeny),
			c.side(spaceA, spaceB, "a", "b", PointVisibility, outcomeDeny),
		} {
			d.action = action
			for _, s := range d.changedList() {
				for _, k := range d.classes(s) {
					k.question, k.types, k.actions = questionAccess, standardTypes, []string{action}
					for _, t := range k.transitions {
						t.request["action"], t.request["type"] = action, ""
					}
					if why := unreadable(k); why {
						k.why = []string{whyPattern}
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
func (d *side) changedList() []*statement {
	var out []*statement
	for _, s := range d.x.all("") {
		part := *s
		part.subjects = nil
		for _, p := range s.subjects {
			if !slices.ContainsFunc(d.y.of(p, ""), func(t *statement) bool { return contentOf(t) == contentOf(s) }) {
				part.subjects = append(part.subjects, p)
			}
		}
		if len(part.subjects) > 0 {
			out = append(out, &part)
		}
	}
	return out
}

// unreadable reports whether a pattern of a class may have regions without a witness.
func unreadable(k *class) bool {
	var patterns []string
	for _, list := range append(slices.Clone(k.all), k.except) {
		for _, m := range list {
			var v values
			m.s.condition.mention(&v)
			patterns = append(patterns, v.clusters.patterns...)
		}
	}
	_, complete := regions(patterns)
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
				texts = append(texts, m.s.effect+strings.Join(m.s.subjects, ",")+jsonOf(m.s.condition)+strings.Join(m.in, ""))
			}
			slices.Sort(texts)
			key += "\x01" + strings.Join(texts, "\x02")
		}
		for _, t := range k.transitions {
			key += "\x03" + t.from + t.to
		}
		if into := by[key]; into != nil {
			into.actions = tables.Entries(slices.Concat(into.actions, k.actions))
			continue
		}
		by[key] = k
		out = append(out, k)
	}
	return out
}

// views compares what the engine alone decides: custom types, and items of every type. A
// policy that differs gives a class for each type with a witness.
func (c *comparison) views(a, b []*statement) error {
	spaceA, spaceB := visibilitySpace(c.a.World, a), visibilitySpace(c.b.World, b)
	sideA, sideB := c.side(spaceA, spaceB, "a", "b", PointVisibility, outcomeDeny), c.side(spaceB, spaceA, "b", "a", PointVisibility, outcomeDeny)
	sources := !sameSources(c.a.World, c.b.World)
	changedA, changedB := sideA.changedList(), sideB.changedList()
	if sources { // what identifies items may differ for every policy
		changedA, changedB = a, b
	}
	var all []*member
	for _, s := range changedB {
		all = append(all, sideB.own(s))
	}
	for _, s := range changedA {
		all = append(all, sideA.own(s))
	}
	if len(all) == 0 {
		return nil
	}
	requests, cut := c.viewRequests(slices.Concat(changedA, changedB), a, b, sources)
	by := make(map[string]*class)
	of := func(question, why, name string) *class {
		key := question + "\x00" + name
		if by[key] == nil {
			by[key] = &class{point: PointVisibility, question: question, types: []string{name}, why: []string{why}, all: [][]*member{all}}
		}
		return by[key]
	}
	for _, name := range cut { // each class that may be missing is there, without a witness if need be
		for question, why := range map[string]string{questionAccess: whyCustomType, questionItem: whyItems} {
			if question == questionItem || !slices.Contains(standardTypes, name) {
				k := of(question, why, name)
				k.why, k.changes = append(k.why, whyPattern), []string{changeGain, changeLoss}
			}
		}
	}
	for _, object := range requests {
		va, vb, err := c.judges.both(c.ctx, PointVisibility, object)
		if err != nil || va.Outcome == vb.Outcome {
			continue
		}
		question, why := questionAccess, whyCustomType
		if object["items"] != nil {
			question, why = questionItem, whyItems
		}
		k := of(question, why, object["type"].(string))
		k.record(object, va, vb)
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		if err := c.add(by[key]); err != nil {
			return err
		}
	}
	return nil
}

func sameSources(a, b *World) bool {
	text := func(w *World) string {
		v := tables.Of[*tables.Visibility](w.revision.Tables)
		if v == nil {
			return "[]"
		}
		var list []tables.MetricSource
		for _, s := range v.Sources {
			s.Source = ""
			list = append(list, s)
		}
		return jsonText(list)
	}
	return text(a) == text(b)
}

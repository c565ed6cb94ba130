package diff

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/lint/risk"
	"github.com/writ-policy/writ/translator/tables"
)

// Report is what Compare finds.
type Report struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Now is the time of the comparison, Until the next time at which a document begins or
	// ends to hold, or nil.
	Now        time.Time        `json:"now"`
	Until      *time.Time       `json:"until"`
	Equivalent bool             `json:"equivalent"`
	Summary    map[string]int   `json:"summary"`
	Statements []statement.JSON `json:"statements"`
	Classes    []Class          `json:"classes"`
	Groups     []Group          `json:"groups"`
	Details    []Detail         `json:"details"`
	Notes      []string         `json:"notes"`
	Coverage   Coverage         `json:"coverage"`
	// Assertions are those whose verdict differs, or that fail newly; nil if no revision has any.
	Assertions []AssertionChange `json:"assertions,omitzero"`
	// Reach is the paths to administrators that differ; nil unless they are asked for.
	Reach *Reach `json:"reach,omitempty"`

	asserted *Assertions // nil without any

	found map[string]*class // by ID
	parts []Group           // as text and Markdown show them: a class in each change that was found

	powers map[string][]risk.Power // of classes, by ID, once they are asked for
}

// Class is a set of requests whose outcome changes.
type Class struct {
	ID          string       `json:"id"`
	Point       string       `json:"point"`
	Exact       bool         `json:"exact"`
	Why         []string     `json:"why"`
	All         [][]int      `json:"all"`
	Except      []int        `json:"except"`
	Question    string       `json:"question,omitempty"`
	Types       []string     `json:"types,omitempty"`
	Actions     []string     `json:"actions,omitempty"`
	Paths       []string     `json:"paths,omitempty"`
	Rules       []string     `json:"rules,omitempty"`
	Pods        []PodChange  `json:"pods,omitempty"`
	Changes     []string     `json:"changes"`
	Transitions []Transition `json:"transitions"`
	// Summary is the change in one sentence, and Dangers are its dangerous abilities, the most
	// dangerous one first.
	Summary  string   `json:"summary"`
	Dangers  []string `json:"dangers"`
	Accepted bool     `json:"accepted"`
	// Reason is why and until when the class is accepted, and Expired states that it was.
	Reason  string `json:"reason,omitempty"`
	Expired bool   `json:"expired,omitempty"`
	// At is the first time at which the class holds, if several are compared.
	At *time.Time `json:"at,omitempty"`

	causes []Cause // of a path
	danger int     // of the most dangerous power, above 0 if there is one
}

// Transition is a pair of outcomes with a witness.
type Transition struct {
	Change   string   `json:"change"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Witness  Witness  `json:"witness"`
	Affected Affected `json:"affected"`
}

// Witness is a request with the decisions of both revisions.
type Witness struct {
	Request map[string]any  `json:"request"`
	A       json.RawMessage `json:"a"`
	B       json.RawMessage `json:"b"`
}

// Affected are the named principals that go through a transition alone: all of them, unless a
// note of the report says how many are not listed.
type Affected struct {
	Total      int      `json:"total"`
	Principals []string `json:"principals"`
}

// PodChange is a smallest set of risk factors for a pair of outcomes.
type PodChange struct {
	Factors map[string]int `json:"factors"`
	Score   map[string]int `json:"score"`
	From    string         `json:"from"`
	To      string         `json:"to"`
}

// Group is the classes of one change that the same documents cause.
type Group struct {
	Change string `json:"change"`
	Title  string `json:"title"`
	// Summary is the change in one sentence, and Dangers are its dangerous abilities, the most
	// dangerous one first.
	Summary string   `json:"summary"`
	Dangers []string `json:"dangers"`
	Classes []string `json:"classes"`
	Causes  []Cause  `json:"causes"`

	title title
}

// Cause is a document that differs.
type Cause struct {
	In        string `json:"in"`
	What      string `json:"what"` // added, removed or changed
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"`
}

// Document returns the kind, the namespace and the name of the document.
func (c *Cause) Document() string {
	return tables.Title(c.Kind, c.Namespace, c.Name)
}

func (c *Cause) isDocument(kind, namespace, name string) bool {
	return c.Kind == kind && c.Namespace == namespace && c.Name == name
}

// Detail is a difference that changes no outcome.
type Detail struct {
	Kind   string `json:"kind"`
	What   string `json:"what"`
	In     string `json:"in"`
	Source string `json:"source"`
	Text   string `json:"text"`
}

// Coverage states what the report claims.
type Coverage struct {
	Points      []string            `json:"points"`
	Subjects    string              `json:"subjects"`
	Namespaces  string              `json:"namespaces"`
	At          []time.Time         `json:"at"`
	Until       *time.Time          `json:"until"`
	Compared    []string            `json:"compared"`
	NotCompared []map[string]string `json:"notCompared"`
	Inexact     []Inexact           `json:"inexact"`

	holds string // why the claim ends at Until, the first boundary that is not compared
}

// Inexact names the statements of classes that may be wider than what changes.
type Inexact struct {
	Why        string `json:"why"`
	Statements []int  `json:"statements"`
}

// maxListed bounds the affected principals that a report lists, of all its classes together.
const maxListed = 1_000_000

// report numbers the statements and orders everything.
func (c *comparison) report(points []string, times []moment) (*Report, error) {
	r := &Report{A: *c.a, B: *c.b, Now: c.o.Now.UTC(), Summary: map[string]int{"accepted": 0}, Classes: []Class{}, Groups: []Group{},
		Details: []Detail{}, Notes: []string{}, found: make(map[string]*class)}
	g := new(statement.Registry)
	entries := make(map[*member]*statement.Entry)
	for _, k := range c.classes {
		for _, m := range slices.Concat(k.all...) {
			entries[m] = g.AddOwn(m.s, m.in)
		}
		for _, m := range k.except {
			entries[m] = g.Add(m.s, m.in)
		}
	}
	clocks := c.clocks(g, points)
	if r.Statements = g.Number(); r.Statements == nil {
		r.Statements = []statement.JSON{}
	}
	byID := make(map[string]int)
	for _, k := range c.classes {
		out := c.classJSON(k, entries, r.Statements)
		if c.o.AllTimes || len(times) > 1 {
			at := k.at.UTC()
			out.At = &at
		}
		if i, ok := byID[out.ID]; ok {
			r.Classes[i].merge(&out)
			continue
		}
		byID[out.ID] = len(r.Classes)
		r.found[out.ID] = k
		r.Classes = append(r.Classes, out)
	}
	slices.SortFunc(r.Classes, func(a, b Class) int { return cmp.Compare(a.ID, b.ID) })
	for i := range r.Classes {
		r.summarize(&r.Classes[i])
	}
	r.Equivalent = len(r.Classes) == 0
	r.Groups, r.parts = r.groups(c, (*Class).mostDangerous), r.groups(c, (*Class).found)
	r.Count()
	c.cover(r, points, times)
	r.addClocks(clocks)
	c.setUntil(r, times)
	c.detail(r)
	if a, b := c.a.World.Access.ImpliesGroups(), c.b.World.Access.ImpliesGroups(); a != b {
		r.Equivalent = false
		which := map[bool]string{true: "kubernetes", false: "none"}
		r.Notes = append(r.Notes, "implied-groups: "+which[a]+" in a, "+which[b]+" in b: what is bound to groups such as system:authenticated reaches other users; "+
			"requests are compared as they are sent, and no group is added")
	}
	if c.unlisted > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d affected principals are not listed, after the first %d; classes whose affected.total is larger than their list count them", c.unlisted, maxListed))
	}
	if c.untried > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d principals of classes that are not exact were not tried alone, after the first %d of each: "+
			"affected.total of these classes may be smaller than it is", c.untried, maxAlone))
	}
	return r, nil
}

// Count counts the classes by their changes, accepted ones apart.
func (r *Report) Count() {
	r.Summary = map[string]int{"accepted": 0}
	for _, change := range changeKinds {
		r.Summary[change] = 0
	}
	for i := range r.Classes {
		if k := &r.Classes[i]; k.Accepted {
			r.Summary["accepted"]++
		} else {
			for _, change := range k.Changes {
				r.Summary[change]++
			}
		}
	}
}

func (c *comparison) classJSON(k *class, entries map[*member]*statement.Entry, statements []statement.JSON) Class {
	out := Class{Point: k.point, Exact: len(k.why) == 0, Why: append([]string{}, k.why...), All: [][]int{}, Question: k.question,
		Types: k.types, Actions: k.actions, Paths: k.paths, Rules: k.rules, Changes: append([]string{}, k.changes...), Transitions: []Transition{}, causes: k.causes}
	ids := func(list []*member) []int {
		found := elements.Map(list, func(m *member) int { return entries[m].ID })
		return statement.SortedIDs(found)
	}
	out.All = append(out.All, elements.Map(k.all, ids)...)
	out.Except = ids(k.except)
	for _, t := range k.transitions {
		change := changeOf(k.point, t.from, t.to)
		out.Changes = append(out.Changes, change)
		out.Transitions = append(out.Transitions, Transition{Change: change, From: t.from, To: t.to,
			Witness: Witness{t.request, t.a.Decision, t.b.Decision}, Affected: c.affectedOf(t)})
	}
	out.Changes = sortedChanges(out.Changes)
	for _, p := range k.pods {
		out.Pods = append(out.Pods, PodChange(p))
	}
	out.ID = out.hash(statements)
	return out
}

// possible marks a change that may happen, of which no request was found.
const possible = " (possible)"

// summarize states each change of a class.
func (r *Report) summarize(k *Class) {
	var sentences []string
	for _, change := range k.Changes {
		t := r.titleOf([]*Class{k}, change, nil)
		text := t.sentence()
		if !k.isFound(change) {
			text += possible
		}
		sentences = append(sentences, text)
		k.Dangers, k.danger = t.dangers(), max(k.danger, t.danger())
	}
	k.Summary = k.later(r.Now) + strings.Join(sentences, "; ")
}

func (c *comparison) affectedOf(t *transition) Affected {
	all := slices.AppendSeq([]string{}, maps.Keys(t.affected)) // an empty list is [] in JSON
	slices.Sort(all)
	shown := all[:min(len(all), maxListed-c.listed)]
	c.listed, c.unlisted = c.listed+len(shown), c.unlisted+len(all)-len(shown)
	return Affected{len(all), shown}
}

// sortedChanges orders changes, most dangerous first, each once.
func sortedChanges(list []string) []string {
	out := []string{}
	return append(out, elements.Filter(changeKinds, func(change string) bool { return slices.Contains(list, change) })...)
}

// hash returns the ID of a class, which survives renamed files and moved lines.
func (k *Class) hash(statements []statement.JSON) string {
	bare := func(ids []int) []string {
		var texts []string
		for _, id := range ids {
			s := statements[id]
			s.ID, s.Documents, s.Session = 0, nil, ""
			texts = append(texts, statement.JSONText(s))
		}
		slices.Sort(texts)
		return texts
	}
	all := elements.Map(k.All, bare)
	pairs := elements.Map(k.Transitions, func(t Transition) string { return t.From + " " + t.To })
	sum := sha256.Sum256([]byte(statement.JSONText([]any{k.Point, k.Question, k.Types, k.Actions, k.Paths, k.Rules, pairs, all, bare(k.Except), k.Why})))
	return hex.EncodeToString(sum[:8])
}

// merge adds the affected principals of an equal class. Each total may be larger than its list,
// which is bounded; of two totals whose lists may have principals in common, the larger is certain.
func (k *Class) merge(o *Class) {
	for i := range k.Transitions {
		if i >= len(o.Transitions) {
			break
		}
		a, b := &k.Transitions[i].Affected, o.Transitions[i].Affected
		all := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(a.Principals), b.Principals...))))
		a.Total = max(a.Total, b.Total, len(all))
		a.Principals = all
	}
}

// cover states what was compared.
func (c *comparison) cover(r *Report, points []string, times []moment) {
	r.Coverage = Coverage{Points: points, Subjects: cmp.Or(c.o.Subject, "all"), Namespaces: cmp.Or(c.o.Namespace, "all"), At: []time.Time{},
		Compared: []string{"outcome"}, Inexact: []Inexact{},
		NotCompared: []map[string]string{
			{"what": "reasons and warnings", "why": "they do not decide"},
			{"what": "cache lifetimes", "why": "they do not decide"},
			{"what": "facts that an endpoint fills in", "why": "fetched pods and labels of clusters are part of the request here"},
			{"what": "rate limits and aggregated values", "why": "they do not decide"},
		}}
	for _, m := range times {
		r.Coverage.At = append(r.Coverage.At, m.at.UTC())
	}
	if points == nil {
		r.Coverage.Points = []string{}
	}
	by := make(map[string][]int)
	for i := range r.Classes {
		for _, why := range r.Classes[i].Why {
			by[why] = slices.Concat(append([][]int{by[why]}, r.Classes[i].All...)...)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(by)) {
		r.Coverage.Inexact = append(r.Coverage.Inexact, Inexact{why, statement.SortedIDs(by[why])})
	}
}

// clocks adds the statements whose extension reads the time, by extension. They are not
// exact even where no class has them: they may change with the time.
func (c *comparison) clocks(g *statement.Registry, points []string) map[string][]*statement.Entry {
	out := make(map[string][]*statement.Entry)
	if !slices.Contains(points, statement.PointAccess) {
		return out
	}
	for in, w := range map[string]*statement.World{"a": c.a.World, "b": c.b.World} {
		for _, s := range w.ClockReaders() {
			out[s.Opaque] = append(out[s.Opaque], g.Add(named(s, in), []string{in}))
		}
	}
	return out
}

func (r *Report) addClocks(clocks map[string][]*statement.Entry) {
	for _, why := range slices.Sorted(maps.Keys(clocks)) {
		ids := elements.Map(clocks[why], func(e *statement.Entry) int { return e.ID })
		i := slices.IndexFunc(r.Coverage.Inexact, func(x Inexact) bool { return x.Why == why })
		if i < 0 {
			r.Coverage.Inexact = append(r.Coverage.Inexact, Inexact{Why: why, Statements: statement.SortedIDs(ids)})
		} else {
			r.Coverage.Inexact[i].Statements = statement.SortedIDs(append(r.Coverage.Inexact[i].Statements, ids...))
		}
	}
	slices.SortFunc(r.Coverage.Inexact, func(a, b Inexact) int { return cmp.Compare(a.Why, b.Why) })
}

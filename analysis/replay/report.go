package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
)

// Report is what a replay finds. Reports of shards can be merged.
type Report struct {
	Events    int            `json:"events"`
	Replayed  int            `json:"replayed"`
	Skipped   map[string]int `json:"skipped"`
	Malformed []string       `json:"malformed,omitempty"`
	Uncertain map[string]int `json:"uncertain"`
	Window    Window         `json:"window"`
	Unchanged int            `json:"unchanged"`
	Fidelity  Fidelity       `json:"fidelity"`
	Changed   []Change       `json:"changed"`
	Unused    *Unused        `json:"unused,omitempty"`
}

// Window is the time of the first and of the last event; nil if no event has a time.
type Window struct {
	First *time.Time `json:"first"`
	Last  *time.Time `json:"last"`
}

// add adds the events of another window.
func (w *Window) add(o Window) {
	if o.First != nil && (w.First == nil || o.First.Before(*w.First)) {
		w.First = o.First
	}
	if o.Last != nil && (w.Last == nil || o.Last.After(*w.Last)) {
		w.Last = o.Last
	}
}

// windowOf returns the window of one event.
func windowOf(t time.Time) Window {
	if t.IsZero() {
		return Window{}
	}
	return Window{&t, &t}
}

// Fidelity counts how often the recorded outcome is that of the revision compared with.
type Fidelity struct {
	Agree  int `json:"agree"`
	Differ int `json:"differ"`
}

// Change is the events of one group that are decided differently.
type Change struct {
	Point     string     `json:"point"`
	Change    string     `json:"change"`
	From      string     `json:"from"`
	To        string     `json:"to"`
	Count     int        `json:"count"`
	Subjects  Subjects   `json:"subjects"`
	Verb      string     `json:"verb"`
	APIGroup  string     `json:"apiGroup"`
	Resource  string     `json:"resource"`
	Namespace string     `json:"namespace"`
	Path      string     `json:"path"`
	Target    string     `json:"target,omitempty"`
	Cluster   string     `json:"cluster,omitempty"`
	Type      string     `json:"type,omitempty"`
	A         Reason     `json:"a"`
	B         Reason     `json:"b"`
	Documents []Document `json:"documents"`
	Window
	Example Example `json:"example"`
}

// Subjects are the users that were seen, and the groups of requests without a user: all of
// them, or the first 10,000 if there are more. Total is a lower bound then.
type Subjects struct {
	Total      int      `json:"total"`
	Principals []string `json:"principals"`
	More       bool     `json:"more,omitempty"`
}

// Reason is why a revision decides the example as it does.
type Reason struct {
	Reason string `json:"reason"`
}

// Document is a document that decides.
type Document struct {
	In        string `json:"in"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      any    `json:"rule"`
	Source    string `json:"source"`
	// Binding is where the binding of a rule is written; empty for rules without one.
	Binding statement.Written `json:"binding,omitzero"`
}

// Example is a request of a group.
type Example struct {
	Request json.RawMessage `json:"request"`
}

const (
	maxMalformed = 20
	maxSubjects  = 10000
)

// tally counts the events of one worker.
type tally struct {
	events, replayed, unchanged, agree, differ int

	skipped   map[string]int
	malformed []string
	uncertain map[string]int
	window    Window
	groups    map[string]*group
}

// group is a Change under construction.
type group struct {
	Change
	subjects leastValues // at most maxSubjects
	more     bool        // there are more subjects
}

// leastValues are the first values of a set in order, so that those that are listed do not
// depend on the order of a log.
type leastValues []string

// maxListed is how many values of an entry are listed.
const maxListed = 20

// add adds a value to a list of at most so many. It returns false if one is left out.
func (l *leastValues) add(value string, most int) bool {
	at, known := slices.BinarySearch(*l, value)
	switch {
	case known:
		return true
	case at < most:
		*l = slices.Insert(*l, at, value)
	}
	isWhole := at < most && len(*l) <= most
	*l = (*l)[:min(len(*l), most)]
	return isWhole
}

// newGroup returns the group of a change with some subjects.
func newGroup(c *Change, subjects []string) *group {
	g := &group{Change: *c, more: c.Subjects.More}
	g.addSubjects(subjects)
	return g
}

func newTally() *tally {
	return &tally{skipped: make(map[string]int), uncertain: make(map[string]int), groups: make(map[string]*group)}
}

func (t *tally) skip(reason string, l line) {
	t.skipped[reason]++
	if reason == skipMalformed {
		t.addMalformed(fmt.Sprintf("%s:%d", l.file, l.number))
	}
}

// addMalformed adds places of malformed records, in the order of files and lines.
func (t *tally) addMalformed(places ...string) {
	t.malformed = append(t.malformed, places...)
	slices.SortFunc(t.malformed, func(a, b string) int {
		i, j := strings.LastIndexByte(a, ':'), strings.LastIndexByte(b, ':')
		return cmp.Or(cmp.Compare(a[:i+1], b[:j+1]), len(a)-len(b), cmp.Compare(a, b))
	})
	t.malformed = t.malformed[:min(len(t.malformed), maxMalformed)]
}

// decided is what a report shows of a decision.
type decided struct {
	Reason  string `json:"reason"`
	Matched []struct {
		Kind      string            `json:"kind"`
		Namespace string            `json:"namespace"`
		Name      string            `json:"name"`
		Rule      any               `json:"rule"`
		Source    string            `json:"source"`
		Effect    string            `json:"effect"`
		Role      *decision.RoleRef `json:"role"`
		Binding   statement.Written `json:"binding"`
	} `json:"matched"`
}

func readDecision(v statement.Verdict) (d decided) {
	if v.Decision != nil {
		_ = json.Unmarshal(v.Decision, &d) // an engine made it
	}
	return d
}

// change counts an event that is decided differently.
func (t *tally) change(r *record, before, after statement.Verdict) {
	from := before.Outcome
	if from == forbidden {
		from = statement.OutcomeNone
	}
	c := Change{Point: r.point, From: from, To: after.Outcome, Count: 1, Window: windowOf(r.time), Documents: []Document{}}
	c.Change = diff.Kind(r.point, from, after.Outcome)
	c.Example.Request = r.request()
	a, b := readDecision(before), readDecision(after)
	c.A.Reason, c.B.Reason = a.Reason, b.Reason
	for _, side := range []struct {
		in string
		d  decided
	}{{"a", a}, {"b", b}} {
		if len(side.d.Matched) > 0 {
			m := side.d.Matched[0]
			c.Documents = append(c.Documents, Document{side.in, m.Kind, m.Namespace, m.Name, m.Rule, m.Source, m.Binding})
		}
	}
	c.describe(c.Example.Request, cmp.Or(after.Target, before.Target))
	t.addGroup(newGroup(&c, r.subjects()))
}

// describe sets what the events of a group have in common.
func (c *Change) describe(request []byte, target string) {
	var q struct {
		Verb        string `json:"verb"`
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Path        string `json:"path"`
		Type        string `json:"type"`
	}
	switch c.Point {
	case statement.PointGateway:
		c.Target = target
		return
	case statement.PointVisibility:
		var v struct {
			Type    string `json:"type"`
			Cluster struct {
				Name string `json:"name"`
			} `json:"cluster"`
		}
		_ = json.Unmarshal(request, &v) // it is decided as valid
		c.Type, c.Cluster = v.Type, v.Cluster.Name
		return
	}
	_ = json.Unmarshal(request, &q) // it is decided as valid
	c.Verb, c.APIGroup, c.Resource, c.Namespace, c.Path = q.Verb, q.APIGroup, q.Resource, q.Namespace, q.Path
	if q.Subresource != "" {
		c.Resource += "/" + q.Subresource
	}
}

// key identifies the group of a change.
func (c *Change) key() string {
	parts := []string{c.Point, c.From, c.To, c.Verb, c.APIGroup, c.Resource, c.Namespace, c.Target, c.Cluster, c.Type}
	if c.Path != "" {
		parts = append(parts, "path")
	}
	for _, d := range c.Documents {
		parts = append(parts, d.In, d.Kind, d.Namespace, d.Name, fmt.Sprint(d.Rule))
	}
	return strings.Join(parts, "\x00")
}

func (t *tally) addGroup(g *group) {
	key := g.key()
	into := t.groups[key]
	if into == nil {
		t.groups[key] = g
		return
	}
	into.join(g)
}

func (g *group) join(o *group) {
	g.Count += o.Count
	g.Window.add(o.Window)
	if string(o.Example.Request) < string(g.Example.Request) { // the order of records must not matter
		g.Example, g.A, g.B, g.Path = o.Example, o.A, o.B, o.Path
	}
	g.addSubjects(o.subjects)
	g.more = g.more || o.more
}

func (g *group) addSubjects(list []string) {
	for _, subject := range list {
		if !g.subjects.add(subject, maxSubjects) {
			g.more = true
		}
	}
}

// add adds the counts of another worker.
func (t *tally) add(o *tally) {
	t.events += o.events
	t.replayed += o.replayed
	t.unchanged += o.unchanged
	t.agree += o.agree
	t.differ += o.differ
	for reason, n := range o.skipped {
		t.skipped[reason] += n
	}
	for fact, n := range o.uncertain {
		t.uncertain[fact] += n
	}
	t.addMalformed(o.malformed...)
	t.window.add(o.window)
	for _, key := range slices.Sorted(maps.Keys(o.groups)) {
		t.addGroup(o.groups[key])
	}
}

func (t *tally) report() *Report {
	r := &Report{Events: t.events, Replayed: t.replayed, Skipped: t.skipped, Malformed: t.malformed, Uncertain: t.uncertain,
		Unchanged: t.unchanged, Fidelity: Fidelity{t.agree, t.differ}, Window: t.window, Changed: []Change{}}
	for _, g := range t.groups {
		c := g.Change
		c.Subjects = Subjects{len(g.subjects), append([]string{}, g.subjects...), g.more}
		r.Changed = append(r.Changed, c)
	}
	r.sort()
	return r
}

func (r *Report) sort() {
	kinds := diff.Kinds()
	slices.SortFunc(r.Changed, func(a, b Change) int {
		return cmp.Or(slices.Index(kinds, a.Change)-slices.Index(kinds, b.Change), b.Count-a.Count, cmp.Compare(a.key(), b.key()))
	})
}

// Fails reports whether the report has changes that count: gain, loss, any or none.
func (r *Report) Fails(on string) bool {
	return slices.ContainsFunc(r.Changed, func(c Change) bool { return diff.Counts(on, c.Change) })
}

// Merge adds the reports of shards. It returns ErrEmptyLog if none has an event that was
// replayed.
func Merge(reports []*Report) (*Report, error) {
	t := newTally()
	var unused *Unused
	for _, r := range reports {
		part := newTally()
		part.events, part.replayed, part.unchanged = r.Events, r.Replayed, r.Unchanged
		part.agree, part.differ = r.Fidelity.Agree, r.Fidelity.Differ
		part.malformed = r.Malformed
		maps.Copy(part.skipped, r.Skipped)
		maps.Copy(part.uncertain, r.Uncertain)
		part.window = r.Window
		for _, c := range r.Changed {
			g := newGroup(&c, c.Subjects.Principals)
			g.Subjects = Subjects{}
			part.addGroup(g)
		}
		t.add(part)
		unused = unused.merge(r.Unused)
	}
	out := t.report()
	out.Unused = unused
	if out.Replayed == 0 {
		return nil, ErrEmptyLog
	}
	return out, nil
}

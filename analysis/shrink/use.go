package shrink

import (
	"encoding/binary"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/tables"
)

// Use is the events of a log by what they use. It is safe for concurrent use.
type Use struct {
	model   *Model
	groups  []string // that sessions lend
	mu      sync.Mutex
	classes map[string]*class
	heldOut int
}

// class is events that the same grants allow in the same way.
type class struct {
	key     string
	options []option
	// beside are the grants that begin or end, where options has others: a grant that ends
	// makes none superfluous that stays.
	beside []option
	count  int
	first  time.Time
	last   time.Time
	// Event is one of the events, the first by log and line.
	event Sample
	// isHeld states that no event of the class takes part in the choice.
	isHeld bool
	held   int // events held out
}

// option is a grant that allows a class, with the cells of its rule that do.
type option struct {
	subject *subject
	rule    *rule
	cells   []cell
}

// Sample is an event that stands for those of its class.
type Sample struct {
	Event replay.Event
	Held  bool
	Count int
	First time.Time
	Last  time.Time
}

// NewUse returns the use of a log without events.
func NewUse(m *Model) *Use {
	u := &Use{model: m, classes: make(map[string]*class)}
	if s := tables.Of[*tables.Sessions](m.result.Tables); s != nil {
		for _, session := range s.Sessions.All() {
			u.groups = append(u.groups, session.Groups...)
		}
	}
	return u
}

// matched is what is read of a decision.
type matched struct {
	Allowed  bool               `json:"allowed"`
	Matched  []decision.Matched `json:"matched"`
	Warnings []string           `json:"warnings"`
}

// grant is a rule of a binding that may allow an event.
type grant struct {
	binding *binding
	index   int
	via     bool
}

// Add adds an event. Held states that it does not take part in the choice.
func (u *Use) Add(e *replay.Event, held bool) {
	q, ok := e.Question.(*decision.Request)
	if !ok || e.Point != statement.PointAccess {
		return
	}
	u.add(&Sample{Event: *e, Held: held, Count: 1, First: e.Time, Last: e.Time}, q)
}

// AddSample adds the events that an event stands for.
func (u *Use) AddSample(s *Sample) {
	if q, ok := s.Event.Question.(*decision.Request); ok {
		u.add(s, q)
	}
}

// HeldOut is the number of events that take no part in the choice.
func (u *Use) HeldOut() int { return u.heldOut }

func (u *Use) add(s *Sample, q *decision.Request) {
	if s.Event.IsDenied {
		return
	}
	if u.model.result.Directory.ImpliedGroups == settings.Kubernetes {
		q = q.WithImpliedGroups()
	}
	grants := u.grants(s.Event.Verdict)
	if s.Held {
		u.mu.Lock()
		u.heldOut += s.Count
		u.mu.Unlock()
	}
	if s.Event.Variants == nil {
		if s.Event.Verdict.Outcome == statement.OutcomeAllow {
			u.count(s, q, grants)
		}
		return
	}
	// Each grant that could allow it counts as used.
	for _, v := range s.Event.Variants {
		for _, g := range u.grants(v) {
			if !slices.Contains(grants, g) {
				grants = append(grants, g)
			}
		}
	}
	for _, g := range append(grants, u.undecided(s.Event)...) {
		u.count(s, q, []grant{g})
	}
}

// grants returns the rules that allow by a decision: those of a step before each denial.
func (u *Use) grants(v statement.Verdict) []grant {
	var d matched
	if v.Outcome != statement.OutcomeAllow || json.Unmarshal(v.Decision, &d) != nil {
		return nil
	}
	isDenied := slices.ContainsFunc(d.Matched, func(m decision.Matched) bool { return m.Effect == statement.OutcomeDeny })
	var out []grant
	for i := range d.Matched {
		e := &d.Matched[i]
		b := u.model.bindingOf[documentID{e.APIVersion, e.Kind, e.Namespace, e.Name}]
		if b == nil || e.Effect != statement.OutcomeAllow || isDenied && !u.model.isClusterWide(b) {
			continue
		}
		out = append(out, grant{b, e.Rule, len(e.Via) > 0})
	}
	return out
}

// isClusterWide reports whether a binding reaches every namespace.
func (m *Model) isClusterWide(b *binding) bool {
	return b.header.Kind == "ClusterRoleBinding" || b.header.APIVersion == versionOrigin && b.header.Namespace == m.result.Directory.Master
}

const versionOrigin = "writ.dev/v1"

// undecidedRule reads a warning. The name of a binding may have spaces.
var undecidedRule = regexp.MustCompile(`^(\w+) (?:([^/ ]+)/)?(.+?) rule (\d+): .* undecidable`)

// undecided returns the rules of which a decision states that a restriction is undecidable.
func (u *Use) undecided(e replay.Event) []grant {
	var out []grant
	for _, v := range append([]statement.Verdict{e.Verdict}, e.Variants...) {
		var d matched
		if json.Unmarshal(v.Decision, &d) != nil {
			continue
		}
		for _, text := range d.Warnings {
			found := undecidedRule.FindStringSubmatch(text)
			if found == nil {
				continue
			}
			b := u.model.bindingOf[documentID{versionOrigin, found[1], found[2], found[3]}]
			index, err := strconv.Atoi(found[4])
			if b == nil || err != nil {
				continue
			}
			if g := (grant{b, index, false}); !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	return out
}

// count adds an event to the class of its grants.
func (u *Use) count(s *Sample, q *decision.Request, grants []grant) {
	if len(grants) == 0 {
		return
	}
	w := wants(q)
	principals := statement.Principals(q.User, q.Groups)
	var key []byte
	hasNames := false
	subjects := make([][]*subject, len(grants))
	for i, g := range grants {
		subjects[i] = u.held(g, principals)
		key = binary.AppendUvarint(key, uint64(g.binding.order)) //nolint:gosec // not negative
		key = binary.AppendUvarint(key, uint64(g.index))         //nolint:gosec // not negative
		for _, one := range subjects[i] {
			key = append(append(key, one.principal...), 0)
		}
		for _, r := range u.model.rulesOf(g.binding, g.index) {
			hasNames = hasNames || len(r.lists) == 4 && len(r.lists[3].entries) > 0
			if q.Path != "" && len(r.lists) == 2 {
				for _, v := range r.values(&r.lists[1], w, u.model.o) {
					key = append(append(key, v...), 0)
				}
			}
		}
		key = append(key, 1)
	}
	for _, text := range []string{q.Verb, q.APIGroup, q.Resource, q.Subresource} {
		key = append(append(key, text...), 0)
	}
	if hasNames {
		key = append(key, q.Name...)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.classes[string(key)]
	if c == nil {
		c = &class{key: string(key), event: *s, first: s.First, last: s.Last, isHeld: true}
		for i, g := range grants {
			for _, r := range u.model.rulesOf(g.binding, g.index) {
				if r.isDeny {
					continue
				}
				var cells []cell
				if r.fixed == "" {
					if cells = r.cells(w, u.model.o); len(cells) == 0 {
						r.fixed = fixedLayout // what decided is not what is written
					}
				}
				for _, one := range subjects[i] {
					c.options = append(c.options, option{one, r, cells})
				}
			}
		}
		c.setDatedAside()
		u.classes[string(key)] = c
	}
	c.add(s)
}

// setDatedAside moves the options of bindings that begin or end to those beside, unless the
// class has no others.
func (c *class) setDatedAside() {
	isDated := func(o option) bool { return o.subject.binding.isDated }
	stay := slices.DeleteFunc(slices.Clone(c.options), isDated)
	if len(stay) > 0 {
		c.beside = slices.DeleteFunc(c.options, func(o option) bool { return !isDated(o) })
		c.options = stay
	}
}

func (c *class) add(s *Sample) {
	a, b := &s.Event, &c.event.Event
	if a.Log < b.Log || a.Log == b.Log && a.Line < b.Line {
		c.event.Event = *a
	}
	c.count += s.Count
	if s.Held {
		c.held += s.Count
	} else {
		c.isHeld = false
	}
	if !s.First.IsZero() && (c.first.IsZero() || s.First.Before(c.first)) {
		c.first = s.First
	}
	if s.Last.After(c.last) {
		c.last = s.Last
	}
}

// held returns the subjects of a binding that a request has.
func (u *Use) held(g grant, principals []string) []*subject {
	var out []*subject
	for _, s := range g.binding.subjects {
		named := tables.ParseSubject(s.principal)
		if slices.Contains(principals, s.principal) || g.via && named.IsGroup && slices.Contains(u.groups, named.Name) {
			out = append(out, s)
		}
	}
	return out
}

// sorted returns the classes in an order that does not depend on that of the log.
func (u *Use) sorted() []*class {
	out := make([]*class, 0, len(u.classes))
	for _, c := range u.classes {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *class) int { return strings.Compare(a.key, b.key) })
	return out
}

// Samples returns an event of each class, to be decided by other documents. An event that is
// in several classes is returned once.
func (u *Use) Samples() []Sample {
	var out []Sample
	type line struct {
		log    string
		number int
	}
	seen := make(map[line]bool)
	for _, c := range u.sorted() {
		s := c.event
		if at := (line{s.Event.Log, s.Event.Line}); seen[at] {
			continue
		} else {
			seen[at] = true
		}
		s.Count, s.First, s.Last, s.Held = c.count, c.first, c.last, c.isHeld
		out = append(out, s)
	}
	return out
}

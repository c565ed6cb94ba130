package question

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// The verdicts on a principal or a rule.
const (
	verdictAlways    = "always"
	verdictSometimes = "sometimes"
)

// WhoCan is the answer to "who can do this?".
type WhoCan struct {
	Question        QuestionJSON     `json:"question"`
	Subjects        []Subject        `json:"subjects"`
	Users           []string         `json:"users"`
	Groups          []string         `json:"groups"`
	ServiceAccounts []string         `json:"serviceAccounts"`
	Statements      []statement.JSON `json:"statements"`
	EverybodyDenied []int            `json:"everybodyDenied"`
	Warnings        []string         `json:"warnings"`
	Revision        string           `json:"revision"`
	// At is the time of the answer.
	At string `json:"at"`
	// Sessions are the BreakglassSessions that are valid then. Statements name their groups.
	Sessions []Session `json:"sessions"`
	// Potential are those who could get it, if the question asks for them.
	Potential []Potential `json:"potential,omitzero"`
	// Next is what After must be for the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

// Subject is a principal that is allowed alone in some request of the question.
type Subject struct {
	Subject    string `json:"subject"`
	Verdict    string `json:"verdict"`
	Statements []int  `json:"statements"`
	Unless     []int  `json:"unless"`
	Text       string `json:"text"`
	Inexact    bool   `json:"inexact,omitempty"`
	// Until is when the first of the statements and of the sessions that give them begins or
	// ends; empty if none does.
	Until string `json:"until,omitempty"`
	// Via are the sessions of a subject that is allowed through sessions alone.
	Via            []Via          `json:"via,omitempty"`
	Example        map[string]any `json:"example,omitempty"`
	Counterexample map[string]any `json:"counterexample,omitempty"`
}

// Asker answers questions about one revision. It is safe for concurrent use.
type Asker struct {
	World *statement.World
	// Judge decides the examples.
	Judge statement.Judge
	// Revision is shown in answers.
	Revision string
	// Now is the time of the answers, at which World holds and Judge decides.
	Now time.Time
}

// fitting holds the statements that fit some request of a question.
type fitting struct {
	deny []*statement.Statement // of deny policies
	by   map[string][]*statement.Statement
	all  []*statement.Statement // all of them, each once, without those that sessions lend
	// sessions are those that fit the question.
	sessions []*tables.Session

	known map[place]bool // whether a condition fits in a place
}

// place is a condition that bindings share, everywhere or in one namespace: where the
// namespace is open, what fits in one fits in all, unless the condition reads it.
type place struct {
	condition  statement.Condition
	namespaced bool
	namespace  string // empty unless the condition reads it
}

// fit returns the statements of deny policies that fit the question.
func (q *Question) fit(deny []*statement.Statement) *fitting {
	f := &fitting{by: make(map[string][]*statement.Statement), known: make(map[place]bool)}
	for _, s := range deny {
		if q.mayFit(s) && q.find([]*statement.Statement{s}, nil, nil) != nil {
			f.deny = append(f.deny, s)
		}
	}
	f.all = slices.Clone(f.deny)
	return f
}

// fits reports whether a statement of a binding fits the question.
func (f *fitting) fits(q *Question, s *statement.Statement) bool {
	key := place{condition: s.Condition, namespaced: s.Namespace != ""}
	if s.ReadsNamespace() {
		key.namespace = s.Namespace
	}
	fits, ok := f.known[key]
	if !ok {
		fits = q.mayFit(s) && q.find([]*statement.Statement{s}, nil, nil) != nil
		f.known[key] = fits
	}
	return fits
}

// add adds the statements of bindings that fit the question.
func (f *fitting) add(q *Question, bound iter.Seq[*statement.Statement]) *fitting {
	for s := range bound {
		if len(s.Subjects) == 0 || !f.fits(q, s) {
			continue
		}
		f.all = append(f.all, s)
		for _, p := range s.Subjects {
			f.by[p] = append(f.by[p], s)
		}
	}
	return f
}

// find looks for a request of the question by some principals. If the group is open, a
// request for all groups is preferred: it is an example for each of them.
func (q *Question) find(must, mustNot []*statement.Statement, principals []string) *statement.Request {
	if q.open["apiGroup"] && q.text("resource") != "" {
		allGroups := func(r *statement.Request) bool {
			isPinned := q.pin(r)
			r.Group = "*"
			return isPinned
		}
		if r := q.findPinned(allGroups, must, mustNot, principals); r != nil {
			return r
		}
	}
	return q.findPinned(q.pin, must, mustNot, principals)
}

func (q *Question) findPinned(pin func(*statement.Request) bool, must, mustNot []*statement.Statement, principals []string) *statement.Request {
	base, _ := statement.RequestOf(statement.PointAccess, principals) // one principal, or those of a subject
	base.Facts = q.facts
	if q.within != nil {
		must = append(slices.Clip(must), q.within)
	}
	s := statement.Search{Must: must, MustNot: mustNot, Pin: pin, Point: statement.PointAccess, Base: base}
	found := s.Find()
	q.cut = q.cut || s.Cut
	return found
}

const (
	subjectUser   = "user"
	subjectGroups = "groups"
)

// state adds the statements of a subject: what allows it, and what denies it.
func (s *Subject) state(of []*statement.Statement, entries map[*statement.Statement]*statement.Entry) {
	for _, one := range of {
		id := entries[one.Stated()].ID
		if one.Effect == statement.OutcomeAllow {
			s.Statements = append(s.Statements, id)
		} else {
			s.Unless = append(s.Unless, id)
		}
	}
	s.Statements, s.Unless = statement.SortedIDs(s.Statements), statement.SortedIDs(s.Unless)
}

// WhoCan lists the principals that are allowed alone in some request of the question.
func (a *Asker) WhoCan(ctx context.Context, q *Question) (*WhoCan, error) {
	if err := a.prepare(q); err != nil {
		return nil, err
	}
	f := a.fit(q)
	g := new(statement.Registry)
	entries := make(map[*statement.Statement]*statement.Entry, len(f.all))
	for _, s := range f.all {
		entries[s] = g.Add(s, nil)
	}
	out := &WhoCan{
		Question: q.json(), Statements: g.Number(), Revision: a.Revision, At: dates.Format(a.Now),
		Subjects: []Subject{}, Users: []string{}, Groups: []string{}, ServiceAccounts: []string{},
		EverybodyDenied: []int{}, Warnings: a.warnings(q), Sessions: sessionsOf(f.sessions),
	}
	for _, s := range f.deny {
		out.EverybodyDenied = append(out.EverybodyDenied, entries[s].ID)
	}
	out.EverybodyDenied = statement.SortedIDs(out.EverybodyDenied)
	known := make(map[string]*Subject)
	for _, p := range slices.Sorted(maps.Keys(f.by)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if q.After != "" && p <= q.After {
			continue
		}
		subject, err := a.subjectLike(ctx, q, f, p, known)
		if err != nil {
			return nil, err
		}
		if subject == nil {
			continue
		}
		if n := len(out.Subjects); q.Limit > 0 && n == q.Limit {
			out.Next = out.Subjects[n-1].Subject
			break
		}
		subject.Subject = p
		if subject.Via, err = a.via(ctx, q, f, p); err != nil {
			return nil, err
		}
		subject.state(f.by[p], entries)
		subject.Until = untilOf(f.by[p], dates.Of(a.Now))
		out.Subjects = append(out.Subjects, *subject)
		out.list(p)
	}
	if q.Potential {
		var err error
		if out.Potential, err = a.potential(ctx, q, f, known); err != nil {
			return nil, err
		}
	}
	if q.Limit > 0 || q.After != "" {
		out.keepPage(q.After, f.all, entries)
	}
	return out, q.err()
}

// keepPage removes the statements that concern only principals of other pages. The pages
// of an answer have all of its statements together, each by the same ID.
func (w *WhoCan) keepPage(after string, all []*statement.Statement, entries map[*statement.Statement]*statement.Entry) {
	kept := make(map[int]bool)
	isOnPage := func(p string) bool { return p > after && (w.Next == "" || p <= w.Next) }
	for _, s := range all {
		if s.Subjects == nil || slices.ContainsFunc(s.Subjects, isOnPage) {
			kept[entries[s].ID] = true
		}
	}
	for _, subject := range w.Subjects { // what sessions lend
		for _, id := range slices.Concat(subject.Statements, subject.Unless) {
			kept[id] = true
		}
	}
	w.Statements = slices.DeleteFunc(w.Statements, func(s statement.JSON) bool { return !kept[s.ID] })
	w.Sessions = slices.DeleteFunc(w.Sessions, func(s Session) bool { return !isOnPage(statement.UserPrefix + s.User) })
	w.Potential = slices.DeleteFunc(w.Potential, func(p Potential) bool { return !isOnPage(p.Subject) })
}

// fit returns the statements that fit a question who can do something.
func (a *Asker) fit(q *Question) *fitting {
	bound := a.World.ClusterWide()
	if namespace, ok := q.namespace(); !ok || namespace != "" {
		if bound = a.World.All(namespace); q.target != nil {
			bound = a.World.AllFor(namespace, q.target)
		}
	}
	return q.fit(a.World.Deny).add(q, bound).lend(q, a.World.Sessions())
}

// list adds a principal to the list of its kind.
func (w *WhoCan) list(principal string) {
	user, isUser := strings.CutPrefix(principal, statement.UserPrefix)
	switch {
	case isUser && strings.HasPrefix(user, statement.AccountPrefix):
		w.ServiceAccounts = append(w.ServiceAccounts, user)
	case isUser:
		w.Users = append(w.Users, user)
	default:
		w.Groups = append(w.Groups, strings.TrimPrefix(principal, statement.GroupPrefix))
	}
}

// via returns the sessions of a principal that is allowed through sessions alone.
func (a *Asker) via(ctx context.Context, q *Question, f *fitting, p string) ([]Via, error) {
	own := slices.DeleteFunc(slices.Clone(f.by[p]), func(s *statement.Statement) bool { return s.Session != nil })
	if len(own) == len(f.by[p]) {
		return nil, nil
	}
	if alone, err := a.subject(ctx, q, f.deny, own, []string{p}); err != nil || alone != nil {
		return nil, err
	}
	return viaOf(f.by[p]), nil
}

// subjectLike returns the verdict on a principal, nil if nothing allows it. The verdicts on
// principals whose statements have the same conditions in the same places differ in the
// principal alone, so that one of them is computed and decided by the engine.
func (a *Asker) subjectLike(ctx context.Context, q *Question, f *fitting, p string, known map[string]*Subject) (*Subject, error) {
	key, ok := a.likeness(q, f.deny, f.by[p], p)
	if !ok {
		return a.subject(ctx, q, f.deny, f.by[p], []string{p})
	}
	like, found := known[key]
	if !found {
		var err error
		if like, err = a.subject(ctx, q, f.deny, f.by[p], []string{p}); err != nil {
			return nil, err
		}
		known[key] = like
	}
	if like == nil {
		return nil, nil
	}
	out := *like
	out.Statements, out.Unless = nil, nil
	out.Example, out.Counterexample = by([]string{p}, like.Example), by([]string{p}, like.Counterexample)
	return &out, nil
}

// likeness identifies the conditions and places of statements of some principals. It returns
// false if one of them may read the user of a request, or if a session may override pod security
// for its user.
func (a *Asker) likeness(q *Question, deny, own []*statement.Statement, principals ...string) (string, bool) {
	var key strings.Builder
	readsPods := (q.open["pod"] || q.facts["pod"] != nil) && slices.ContainsFunc(deny, (*statement.Statement).ReadsPod)
	if readsPods && len(a.World.Overrides()) > 0 {
		hasSession := func(p string) bool { return len(a.World.Sessions().Of(p)) > 0 }
		if len(principals) == 0 || slices.ContainsFunc(principals, hasSession) {
			return "", false
		}
		for _, e := range a.World.Escalations() {
			fmt.Fprintf(&key, "%t ", statement.MayOverride(e, principals))
		}
	}
	for _, s := range own {
		if s.Opaque != "" || s.ReadsUser() {
			return "", false
		}
		fmt.Fprintf(&key, "%p %d %s\x00", s.Condition, s.Step, s.Namespace)
	}
	return key.String(), true
}

// by returns a request as one of another subject.
func by(principals []string, request map[string]any) map[string]any {
	if request == nil {
		return nil
	}
	r, _ := statement.RequestOf(statement.PointAccess, principals) // at most one user
	out := statement.With(request, "user", r.User)
	delete(out, "groups")
	if len(r.Groups) > 0 {
		out["groups"] = r.Groups
	}
	return out
}

// subject returns the verdict on principals with their own statements, nil if nothing
// allows them.
func (a *Asker) subject(ctx context.Context, q *Question, deny, own []*statement.Statement, principals []string) (*Subject, error) {
	out := &Subject{Verdict: verdictAlways}
	example, inexact, err := a.example(ctx, q, deny, own, principals)
	if err != nil || example == nil && !inexact {
		return nil, err
	}
	if out.Example, err = a.selected(ctx, q, example); err != nil {
		return nil, err
	}
	counter, unsure := q.counterexample(own, principals)
	if counter != nil {
		object := counter.Object(statement.PointAccess)
		v, err := a.Judge(ctx, statement.PointAccess, statement.Encode(object))
		if err != nil {
			return nil, err
		}
		if v.Outcome != statement.OutcomeAllow {
			out.Counterexample = object
		} else {
			unsure = true
		}
	}
	if out.Inexact = inexact || unsure && out.Counterexample == nil; out.Inexact || out.Counterexample != nil {
		out.Verdict = verdictSometimes
		out.Text = statement.ConditionText(own, q.open, q.isSelecting())
	}
	return out, nil
}

// selected returns an allowed request with a selector in the place of the labels of its object, if
// a server applies selectors to it and the selector decides alike: a list has no object.
func (a *Asker) selected(ctx context.Context, q *Question, example map[string]any) (map[string]any, error) {
	with := statement.Selecting(example)
	if with == nil || !q.open["labels"] || !q.open["attributes"] {
		return example, nil
	}
	v, err := a.Judge(ctx, statement.PointAccess, statement.Encode(with))
	if err != nil || v.Outcome != statement.OutcomeAllow {
		return example, err
	}
	return with, nil
}

// example returns a request that is allowed by one of the principal's own statements. It
// reports whether only an opaque statement grants it: then nil is that no example was found.
func (a *Asker) example(ctx context.Context, q *Question, deny, own []*statement.Statement, principals []string) (map[string]any, bool, error) {
	unsure := false
	for _, opaque := range []bool{false, true} {
		for _, t := range own {
			if t.Effect != statement.OutcomeAllow || (t.Opaque != "") != opaque {
				continue
			}
			object, may, err := a.allowed(ctx, q, t, deny, below(own, t), principals)
			if err != nil || object != nil {
				return object, opaque, err
			}
			unsure = unsure || may
		}
	}
	return nil, unsure, nil
}

// below returns the denials that come before an allow statement.
func below(own []*statement.Statement, t *statement.Statement) []*statement.Statement {
	return elements.Filter(own, func(s *statement.Statement) bool { return s.Effect == statement.OutcomeDeny && s.Step < t.Step })
}

// allowed looks for a request that t allows: first where nothing opaque is in the way,
// then where the engine lets it pass. If none is found, it reports whether t may allow one
// all the same, by a CEL expression or an extension: their values cannot be listed.
func (a *Asker) allowed(
	ctx context.Context, q *Question, t *statement.Statement, deny, denials []*statement.Statement, principals []string,
) (found map[string]any, unsure bool, err error) {
	exceptions := slices.DeleteFunc(slices.Concat(deny, denials), func(s *statement.Statement) bool {
		return s.Step >= t.Step || statement.AreApart(t, s)
	})
	if r := q.find([]*statement.Statement{t}, exceptions, principals); r != nil {
		if found, err = a.probe(ctx, q, r, t); found != nil || err != nil {
			return found, false, err
		}
		unsure = isCode(t)
	}
	plain := slices.DeleteFunc(slices.Clone(exceptions), func(s *statement.Statement) bool { return s.Opaque != "" })
	if len(plain) == len(exceptions) {
		return nil, unsure, nil
	}
	r := q.find([]*statement.Statement{t}, plain, principals)
	if r == nil {
		return nil, unsure, nil
	}
	if found, err = a.probe(ctx, q, r, t); found != nil || err != nil {
		return found, false, err
	}
	found, err = a.passing(ctx, q, t, exceptions, principals)
	return found, unsure || isCode(t) || slices.ContainsFunc(exceptions, isCode) || slices.ContainsFunc(exceptions, q.mayPass), err
}

// isCode reports whether an expression or an extension decides whether a statement fits.
func isCode(s *statement.Statement) bool { return s.Opaque != "" && s.Opaque != statement.WhyPod }

// probe returns the first variant of a request that is of the question and that the engine allows.
func (a *Asker) probe(ctx context.Context, q *Question, r *statement.Request, t *statement.Statement) (map[string]any, error) {
	variants := statement.Variants(a.World, r, t, statement.MaxOpaqueTries)
	isOther := func(object map[string]any) bool {
		return slices.ContainsFunc(opaqueFacts, func(key string) bool { return object[key] != nil && variants[0][key] == nil && !q.open[key] })
	}
	for _, object := range variants {
		if isOther(object) {
			continue
		}
		v, err := a.Judge(ctx, statement.PointAccess, statement.Encode(object))
		if err != nil {
			return nil, err
		}
		if v.Outcome == statement.OutcomeAllow {
			return object, nil
		}
	}
	return nil, nil
}

// counterexample looks for a request that nothing but a deny policy allows: no statement
// of the principal does, or a denial comes first. It reports whether an opaque statement
// may be such a denial, or an allowance that is the only one.
func (q *Question) counterexample(own []*statement.Statement, principals []string) (r *statement.Request, unsure bool) {
	var allows, exact []*statement.Statement
	for _, s := range own {
		if s.Effect == statement.OutcomeAllow {
			allows = append(allows, s)
			if s.Opaque == "" {
				exact = append(exact, s)
			}
		}
	}
	if r = q.find(nil, allows, principals); r != nil {
		return r, false
	}
	for _, d := range own {
		if d.Effect != statement.OutcomeDeny {
			continue
		}
		over := slices.DeleteFunc(slices.Clone(allows), func(s *statement.Statement) bool { return s.Step > d.Step })
		found := q.find([]*statement.Statement{d}, over, principals)
		if found != nil && d.Opaque == "" {
			return found, false
		}
		unsure = unsure || found != nil
	}
	return nil, unsure || len(exact) < len(allows) && q.find(nil, exact, principals) != nil
}

// warnings names the API groups in which a resource is named, if none is the question's.
func (a *Asker) warnings(q *Question) []string {
	resource, group := q.text("resource"), q.text("apiGroup")
	if resource == "" || q.open["apiGroup"] {
		return []string{}
	}
	var groups []string
	for key := range a.World.Access.Roles.All() {
		for _, r := range a.World.RulesOf(key) {
			k, ok := r.Condition.(*statement.KubernetesRule)
			switch {
			case !ok || !slices.Contains(k.Resources, resource):
			case statement.HasWord(k.Groups, group):
				return []string{}
			default:
				groups = append(groups, k.Groups...)
			}
		}
	}
	if len(groups) == 0 {
		return []string{}
	}
	for i, g := range groups {
		if g == "" {
			groups[i] = "the core group"
		}
	}
	return []string{fmt.Sprintf("documents name %s only in other API groups: %s", resource, strings.Join(tables.Entries(groups), ", "))}
}

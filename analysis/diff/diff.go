package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// Side is one revision of a comparison.
type Side struct {
	World *statement.World `json:"-"`
	Judge statement.Judge  `json:"-"`
	// Source, Revision and Documents are shown in the report.
	Source    string `json:"source"`
	Revision  string `json:"revision"`
	Documents int    `json:"documents"`
}

// Options say what is compared. The zero value compares every request at now.
type Options struct {
	// Points are the points that are compared; nil compares all that have documents.
	Points []string
	// Subject and Namespace restrict the comparison if they are not empty.
	Subject   string
	Namespace string
	Now       time.Time
	// SetNow, if not nil, sets the time at which the judges decide. Then the revisions are
	// compared at each later boundary too of a document that is not the same in both.
	SetNow func(time.Time)
	// AllTimes adds the boundaries of documents that are the same in both revisions.
	AllTimes bool
	// Details are what differs without a decision that differs.
	Details bool
	// MaxClasses is the largest number of classes; more are an error.
	MaxClasses int
}

// ErrTooManyClasses is the error of a comparison with more classes than the limit.
var ErrTooManyClasses = errors.New("more classes than --max-classes allows")

// DisagreementError is a witness that an engine decides in another way than its class
// states. It is a defect of writ.
type DisagreementError struct{ Request, Class, Decided string }

func (e *DisagreementError) Error() string {
	return fmt.Sprintf("the request %s is decided %s, but its class states %s; please report this as a defect", e.Request, e.Decided, e.Class)
}

// comparison is the state of one Compare.
type comparison struct {
	ctx         context.Context
	a, b        *Side
	o           Options
	judges      judges
	classes     []*class
	unnamedUser string // a user whom no revision names
	// listed and unlisted count affected principals of the report.
	listed, unlisted int
	// untried counts principals of classes that are not exact, beyond maxAlone of each.
	untried int
	unlike  map[string]bool // names of documents that differ; nil until it is asked for
	// routed returns gatewayDocuments of both revisions, which are collected once.
	routed func() (a, b map[Cause]string)
}

// Compare compares two revisions, both for all clusters or for the same one.
func Compare(ctx context.Context, a, b *Side, o Options) (*Report, error) {
	if x, y := a.World.Access.Cluster, b.World.Access.Cluster; x != y {
		return nil, fmt.Errorf("a decides for cluster %q and b for cluster %q (empty: all clusters); compare bundles of one cluster", x, y)
	}
	wholeA, wholeB := *a, *b
	wholeA.World, wholeB.World = a.World.Whole(), b.World.Whole()
	a, b = &wholeA, &wholeB
	c := &comparison{ctx: ctx, a: a, b: b, o: o, judges: judges{a.Judge, b.Judge}, unnamedUser: statement.UnnamedUser(a.World, b.World)}
	c.routed = sync.OnceValues(func() (_, _ map[Cause]string) { return gatewayDocuments(a.World), gatewayDocuments(b.World) })
	points := c.points()
	times := c.times(points)
	for i, m := range times {
		if c.o.SetNow != nil {
			c.o.SetNow(m.at)
		}
		c.o.Now = m.at
		before := len(c.classes)
		if err := c.compare(m.points, i == 0); err != nil {
			return nil, err
		}
		if err := c.verify(c.classes[before:]); err != nil {
			return nil, err
		}
	}
	c.o.Now = o.Now
	if c.o.SetNow != nil {
		c.o.SetNow(o.Now)
	}
	return c.report(points, times)
}

// compare compares some points at one time. The gateway depends on it by the point access
// alone.
func (c *comparison) compare(points []string, isFirst bool) error {
	before := len(c.classes)
	for _, point := range points {
		var err error
		switch {
		case point == statement.PointVisibility:
			err = c.visibility()
		case point == statement.PointAccess:
			err = c.access()
		case point == statement.PointGateway && (isFirst || len(c.classes) > before):
			err = c.gateway(c.classes[before:], isFirst)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// points returns those that a revision has documents for.
func (c *comparison) points() []string {
	has := map[string]bool{statement.PointAccess: true}
	for _, w := range []*statement.World{c.a.World, c.b.World} {
		if v := tables.Of[*tables.Visibility](w.Revision.Tables); v != nil && !v.IsEmpty() {
			has[statement.PointVisibility] = true
		}
		if g := tables.Of[*tables.Gateway](w.Revision.Tables); g != nil && !g.IsEmpty() {
			has[statement.PointGateway] = true
		}
	}
	var out []string
	for _, point := range []string{statement.PointAccess, statement.PointVisibility, statement.PointGateway} {
		if has[point] && (c.o.Points == nil || slices.Contains(c.o.Points, point)) {
			out = append(out, point)
		}
	}
	return out
}

func (c *comparison) add(list ...*class) error {
	c.classes = append(c.classes, list...)
	if len(c.classes) > c.o.MaxClasses && c.o.MaxClasses > 0 {
		return ErrTooManyClasses
	}
	return c.ctx.Err()
}

// side returns one direction: the statements of x that y lacks.
func (c *comparison) side(x, y *space, xName, yName, point, none string) *side {
	return &side{x: x, y: y, xName: xName, yName: yName, point: point, none: none,
		filter: filter{c.o.Subject, c.o.Namespace}, ctx: c.ctx, judges: c.judges, unnamedUser: c.unnamedUser}
}

// requestOf is statement.RequestOf, with a user whom no revision names where it needs one.
func requestOf(unnamedUser, point string, principals []string) (statement.Request, bool) {
	r, ok := statement.RequestOf(point, principals)
	if r.IsUnnamed(principals) {
		r.User = unnamedUser
	}
	return r, ok
}

// access compares the point access.
func (c *comparison) access() error {
	at, earlier := dates.Of(c.o.Now), c.classes
	c.classes = nil // those of this time are joined among themselves
	defer func() { c.classes = append(earlier, c.classes...) }()
	a, b := accessSpace(c.a.World.At(at)), accessSpace(c.b.World.At(at))
	if err := c.pods(a, b); err != nil {
		return err
	}
	for _, d := range []*side{
		c.side(b, a, "b", "a", statement.PointAccess, statement.OutcomeNone),
		c.side(a, b, "a", "b", statement.PointAccess, statement.OutcomeNone),
	} {
		for _, s := range d.changed() {
			if err := c.add(d.classes(s)...); err != nil {
				return err
			}
		}
	}
	c.merge()
	return nil
}

func accessSpace(w *statement.World) *space {
	l := w.Sessions()
	in := func(principal, place string) []*statement.Statement {
		return append(w.In(principal, place), l.In(principal, place)...)
	}
	lends := len(l.Users()) > 0
	return &space{everyone: w.Deny, of: w.Held, all: allOf(w), in: in, world: w, denies: lends || w.HasDenials(), lends: lends}
}

// allOf returns the statements of every principal: a request is allowed or denied.
func allOf(w *statement.World) func(namespace, effect string) iter.Seq[*statement.Statement] {
	return func(namespace, effect string) iter.Seq[*statement.Statement] {
		bound := w.All(namespace)
		if effect == statement.OutcomeDeny {
			bound = w.Denials(namespace)
		}
		return func(yield func(*statement.Statement) bool) {
			for s := range bound {
				if !yield(s) {
					return
				}
			}
			w.Sessions().All(namespace)(yield)
		}
	}
}

// changed returns the statements of x that y lacks for some subject, with these subjects.
// Pod security is compared apart.
func (d *side) changed() []*statement.Statement {
	var out []*statement.Statement
	have := make(map[string]bool)
	for _, s := range d.y.everyone {
		have[statement.ContentOf(s)] = true
	}
	for _, s := range d.x.everyone {
		if s.Opaque != statement.WhyPod && !have[statement.ContentOf(s)] && d.filter.admits(s) {
			have[statement.ContentOf(s)] = true
			out = append(out, s)
		}
	}
	merged := make(map[string]*statement.Statement)
	candidates := d.changedBySessions(len(out) > 0)
	for _, key := range ChangedBindings(d.x.world.Access, d.y.world.Access) {
		candidates = append(candidates, d.x.world.Binding(key)...)
	}
	for _, s := range candidates {
		var subjects []string
		for _, p := range s.Subjects {
			if !slices.ContainsFunc(d.y.in(p, s.Namespace), func(t *statement.Statement) bool { return statement.ContentOf(t) == statement.ContentOf(s) }) {
				subjects = append(subjects, p)
			}
		}
		if len(subjects) == 0 || !d.filter.admits(s) {
			continue
		}
		m := merged[statement.ContentOf(s)]
		if m == nil {
			part := *s
			m = &part
			m.Subjects, m.Documents = nil, nil
			merged[statement.ContentOf(s)] = m
			out = append(out, m)
		}
		m.Subjects = append(m.Subjects, subjects...)
		m.Documents = append(m.Documents, s.Documents...)
	}
	for _, s := range merged {
		slices.Sort(s.Subjects)
		s.Subjects = slices.Compact(s.Subjects)
	}
	return out
}

// changedBySessions returns the statements that sessions give in x, of the users for whom y may
// give others. deniesDiffer states whether deny policies differ.
func (d *side) changedBySessions(deniesDiffer bool) []*statement.Statement {
	x, y := d.x.world.Sessions(), d.y.world.Sessions()
	changed := make(map[string]bool) // principals
	for _, key := range ChangedBindings(d.x.world.Access, d.y.world.Access) {
		for _, s := range d.x.world.Binding(key) {
			for _, p := range s.Subjects {
				changed[p] = true
			}
		}
	}
	var out []*statement.Statement
	for _, user := range x.Users() {
		mine, others := x.Of(user), y.Of(user)
		isSame := !deniesDiffer && slices.EqualFunc(mine, others, func(s, t *tables.Session) bool { return s.Same(*t) }) &&
			slices.EqualFunc(x.Debug(user), y.Debug(user), func(s, t *statement.Statement) bool { return statement.ContentOf(s) == statement.ContentOf(t) }) &&
			!slices.ContainsFunc(mine, func(s *tables.Session) bool {
				return slices.ContainsFunc(s.Groups, func(group string) bool { return changed[statement.GroupPrefix+group] })
			})
		if isSame || d.filter.subject != "" && d.filter.subject != user {
			continue
		}
		out = append(out, slices.DeleteFunc(x.Holding(user, ""), func(s *statement.Statement) bool { return s.Opaque == statement.WhyPod })...)
	}
	return out
}

func (f filter) admits(s *statement.Statement) bool {
	return f.namespace == "" || s.Namespace == "" || s.Namespace == f.namespace
}

// ChangedBindings returns the keys of bindings of x whose row, role or subjects differ in
// y, apart from their lines.
func ChangedBindings(x, y *tables.Access) []string {
	keys := make(map[string]bool)
	x.Bindings.Since(y.Bindings, func(key string, now, before *tables.Binding) {
		if now != nil && (before == nil || !sameBinding(*now, *before)) {
			keys[key] = true
		}
	})
	roles := make(map[string]bool)
	x.Roles.Since(y.Roles, func(key string, now, before *tables.Role) {
		if now != nil && (before == nil || !sameRole(now, before)) {
			roles[key] = true
		}
	})
	for key, role := range x.Roles.All() {
		if statement.HasExtension(role) {
			roles[key] = true
		}
	}
	if len(roles) > 0 || x.Master != y.Master {
		for key, b := range x.Bindings.All() {
			if roles[b.Role] || x.Master != y.Master {
				keys[key] = true
			}
		}
	}
	subjects := func(_ string, now, before *[]string) {
		had := make(map[string]bool)
		for _, key := range deref(before) {
			had[key] = true
		}
		for _, key := range deref(now) {
			if !had[key] {
				keys[key] = true
			}
		}
	}
	x.Subjects.Cluster.Since(y.Subjects.Cluster, subjects)
	x.Subjects.Namespaces.Since(y.Subjects.Namespaces, func(_ string, now, before *tables.Map[[]string]) {
		if now == nil {
			return
		}
		var earlier tables.Map[[]string]
		if before != nil {
			earlier = *before
		}
		now.Since(earlier, subjects)
	})
	return slices.Sorted(maps.Keys(keys))
}

func deref(list *[]string) []string {
	if list == nil {
		return nil
	}
	return *list
}

func sameBinding(a, b tables.Binding) bool {
	a.Source, b.Source = "", ""
	a.Dates, b.Dates = nil, nil // both hold
	return a == b
}

func sameRole(a, b *tables.Role) bool {
	return slices.EqualFunc(a.Kubernetes, b.Kubernetes, func(x, y tables.KubernetesRule) bool {
		x.Source, y.Source = "", ""
		return reflect.DeepEqual(x, y)
	}) && slices.EqualFunc(a.Origin, b.Origin, func(x, y tables.OriginRule) bool {
		x.Source, y.Source = "", ""
		return reflect.DeepEqual(x, y)
	})
}

// merge joins the classes of equal statements: groups of principals that differ only in
// what else they hold.
func (c *comparison) merge() {
	byKey := make(map[string][]*class)
	var keys []string
	for _, k := range c.classes {
		key := k.key()
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], k)
	}
	c.classes = c.classes[:0]
	for _, key := range keys {
		list := byKey[key]
		list[0].join(list[1:])
		c.classes = append(c.classes, list[0])
	}
}

// key identifies the statements of a class without their subjects.
func (k *class) key() string {
	text := k.point + "\x00" + k.question + statement.JSONText(k.types) + statement.JSONText(k.actions) + statement.JSONText(k.paths)
	for _, list := range append(slices.Clone(k.all), k.except) {
		contents := elements.Map(list, func(m *member) string { return statement.ContentOf(m.s) + statement.JSONText(m.in) })
		slices.Sort(contents)
		text += "\x01" + statement.JSONText(contents)
	}
	return text
}

// join adds what other classes of the same statements have.
func (k *class) join(others []*class) {
	if len(others) == 0 {
		return
	}
	for i := range k.all {
		list := k.all[i]
		for _, o := range others {
			list = append(list, o.all[i]...)
		}
		k.all[i] = joined(list)
	}
	for _, o := range others {
		k.except = append(k.except, o.except...)
		for _, t := range o.transitions {
			i := slices.IndexFunc(k.transitions, func(u *transition) bool { return u.from == t.from && u.to == t.to })
			if i < 0 {
				k.transitions = append(k.transitions, t)
				continue
			}
			k.transitions[i].prefer(t.request)
			for p := range t.affected {
				k.transitions[i].affected[p] = true
			}
		}
	}
}

// verify lets both engines decide every witness.
func (c *comparison) verify(classes []*class) error {
	for _, k := range classes {
		k.at = c.o.Now
		for _, t := range k.transitions {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			a, b, err := c.judges.both(c.ctx, k.point, t.request)
			if err != nil {
				return fmt.Errorf("decide a witness: %w", err)
			}
			if a.Outcome != t.from || b.Outcome != t.to {
				return &DisagreementError{string(statement.Encode(t.request)), t.from + " -> " + t.to, a.Outcome + " -> " + b.Outcome}
			}
			t.a, t.b = a, b
			if len(k.why) > 0 && k.point != statement.PointGateway && c.o.Subject == "" {
				c.tryAlone(k, t)
			}
		}
		slices.SortFunc(k.transitions, func(x, y *transition) int {
			return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
		})
	}
	return nil
}

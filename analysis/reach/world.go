package reach

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
)

// standIn is a name that documents hardly have.
const standIn = statement.OtherWord

// standInFor returns a name that no rule tells apart from most others: neither does one list
// it, nor does a pattern of a deny policy fit it.
func standInFor(w *statement.World) string {
	named := make(map[string]bool)
	for _, role := range w.Access.Roles.All() {
		for _, k := range role.Kubernetes {
			for _, name := range k.Names {
				named[name] = true
			}
		}
	}
	denials := slices.Concat(w.Deny, slices.Collect(w.Denials("")))
	isNamed := func(name string) bool {
		return named[name] || slices.ContainsFunc(denials, func(s *statement.Statement) bool {
			return slices.Contains(s.Names(), name) || s.HasPatternFor("name", name)
		})
	}
	for n := range 10 {
		for _, word := range []string{standIn, "unlisted", "x", "7q", "Z"} {
			if n > 0 {
				word = fmt.Sprintf("%s-%d", word, n)
			}
			if !isNamed(word) {
				return word
			}
		}
	}
	return standIn
}

// world is a revision, with the changes that hops made to it.
type world struct {
	*statement.World
	o       *Options
	changes []change
	key     string
	engine  statement.Judge // decides by the documents; nil until it is needed
	sealed  bool            // sessions decide too: statements do not know them

	*memory
	numbers map[*statement.Statement]int      // of contents
	denials map[target][]*statement.Statement // of deny policies, by the shape of a request

	quiet map[*edge][2][]string // namespaces, by whether a deny policy may fit the edge there

	bindings    map[string][]string // by namespace; nil until they are asked for
	subtracting []*tables.Binding   // of roles that deny; nil until they are asked for
}

// shape is what a request asks for, wherever and with whatever name: few are asked by all
// identities in all namespaces.
type shape struct {
	request *statement.Request
	fits    map[statement.Condition]bool // whether a condition matches what is asked for
}

func newWorld(w *statement.World, o *Options, m *memory, changes []change) *world {
	out := &world{World: w, o: o, changes: changes, memory: m, numbers: make(map[*statement.Statement]int),
		denials: make(map[target][]*statement.Statement), quiet: make(map[*edge][2][]string)}
	out.key = keyOf(changes)
	sessions := tables.Of[*tables.Sessions](w.Revision.Tables)
	out.sealed = sessions != nil && sessions.Sessions.Len()+sessions.Debug.Len() > 0
	return out
}

// keyOf identifies a set of changes, which are sorted.
func keyOf(changes []change) string {
	var key strings.Builder
	for i := range changes {
		key.WriteString(changes[i].key() + "\n")
	}
	return key.String()
}

// verdict is how requests are allowed: one with a name, and with values of facts.
type verdict struct {
	class Class // Certain, Possible or never
	name  string
	facts map[string]any
	why   []string
}

// target is a request without who makes it.
type target struct{ verb, group, resource, sub, namespace, name string }

func (t target) object() map[string]any {
	out := map[string]any{"verb": t.verb, "resource": t.resource, "apiGroup": t.group}
	for key, value := range map[string]string{"subresource": t.sub, "namespace": t.namespace, "name": t.name} {
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// shape returns the shape of a target.
func (w *world) shape(t target) *shape {
	t.name, t.namespace = "", ""
	found := w.shapes[t]
	if found == nil {
		r := &statement.Request{Verb: t.verb, Group: t.group, Resource: t.resource, Subresource: t.sub}
		found = &shape{request: r.KeepWords(), fits: make(map[statement.Condition]bool)}
		w.shapes[t] = found
	}
	return found
}

// mayFit reports whether a statement may fit a request of the shape in some namespace.
func (s *shape) mayFit(of *statement.Statement) bool {
	fits, known := s.fits[of.Condition]
	if !known {
		fits = of.MayFit(s.request) && of.MayConcern(s.request)
		s.fits[of.Condition] = fits
	}
	return fits
}

// fitting returns the statements that may fit a target in its namespace.
func (w *world) fitting(t target, list []*statement.Statement) (out []*statement.Statement) {
	shape := w.shape(t)
	there := *shape.request
	there.Namespace = t.namespace
	for _, s := range list {
		if (s.Namespace == "" || s.Namespace == t.namespace) && shape.mayFit(s) && s.MayHold(&there) {
			out = append(out, s)
		}
	}
	return out
}

// denying returns the statements of deny policies that may fit a target.
func (w *world) denying(t target) []*statement.Statement {
	if len(w.Deny) == 0 {
		return nil
	}
	any := t
	any.name, any.namespace = "", ""
	list, known := w.denials[any]
	if !known {
		shape := w.shape(t)
		list = elements.Filter(w.Deny, shape.mayFit)
		w.denials[any] = list
	}
	return w.fitting(t, list)
}

// held returns the statements of an identity, each once.
func (w *world) held(i *Identity) (out []*statement.Statement) {
	seen := make(map[*statement.Statement]bool)
	for _, p := range i.Principals() {
		for _, s := range w.Of(p, "") {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// allowed returns how an identity, whose statements are held, is allowed a target. anyName
// states that the name is open: one that decides best is chosen.
func (w *world) allowed(ctx context.Context, i *Identity, held []*statement.Statement, t target, anyName bool, stated map[string]any) (verdict, error) {
	v, err := w.allowedAlone(ctx, i, held, t, anyName, stated)
	if err != nil || v.class == never || i.Acting == nil || i.Acting.Mode == legacy {
		return v, err
	}
	by := i.Acting.By
	t.verb, t.name = onVerb(i.Acting.Mode, t.verb), v.name
	also, err := w.allowedAlone(ctx, by, w.held(by), t, false, merged(stated, v.facts))
	also.class = max(also.class, v.class)
	also.facts, also.name = merged(v.facts, also.facts), v.name
	also.why = tables.Once(slices.Concat(v.why, also.why))
	return also, err
}

func merged(a, b map[string]any) map[string]any {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func (w *world) allowedAlone(ctx context.Context, i *Identity, held []*statement.Statement, t target, anyName bool, stated map[string]any) (verdict, error) {
	fits := w.fitting(t, held)
	allows := slices.DeleteFunc(slices.Clone(fits), func(s *statement.Statement) bool { return s.Effect != statement.OutcomeAllow })
	if len(allows) == 0 && !w.sealed {
		return verdict{class: never}, nil
	}
	names := []string{t.name}
	if anyName {
		names = []string{w.o.standIn}
	}
	denials := w.denying(t)
	isPlain := !w.sealed && len(denials) == 0 && len(allows) == len(fits)
	for _, s := range allows {
		k, isKubernetes := s.Condition.(*statement.KubernetesRule)
		switch {
		case !isKubernetes && anyName:
			names = append(names, w.namesOf(s)...)
		case !isKubernetes || len(k.Names) == 0:
		case anyName:
			names = append(names, k.Names...)
			continue
		case !slices.Contains(k.Names, t.name):
			continue
		}
		if isKubernetes && isPlain {
			return verdict{name: names[0]}, nil
		}
	}
	if isPlain && len(names) > 1 && !slices.ContainsFunc(allows, func(s *statement.Statement) bool { return s.Opaque != "" }) {
		if k, ok := allows[0].Condition.(*statement.KubernetesRule); ok && len(k.Names) > 0 {
			return verdict{name: k.Names[0]}, nil
		}
	}
	like := t
	if len(denials) == 0 && !slices.ContainsFunc(fits, readsPlace) {
		like.name, like.namespace = "", ""
	}
	key, hasKey := w.likeness(i, fits, denials, &like, anyName, stated)
	if v, ok := w.known[key]; ok && hasKey {
		if !anyName {
			v.name = t.name
		}
		return v, nil
	}
	best, err := w.best(ctx, i, t, tables.Once(names), denials, stated)
	if err == nil && hasKey {
		w.known[key] = best
	}
	return best, err
}

// best returns the surest answer to a target with one of the names.
func (w *world) best(ctx context.Context, i *Identity, t target, names []string, denials []*statement.Statement, stated map[string]any) (verdict, error) {
	best := verdict{class: never}
	for _, name := range names {
		t.name = name
		v, err := w.ask(ctx, i, &t, denials, stated)
		if err != nil {
			return best, err
		}
		if v.class < best.class {
			best = v
		}
		if best.class == Certain {
			break
		}
	}
	return best, nil
}

// ask answers by the statements that fit a target, with its facts open. Denials are those of
// deny policies that may fit it.
func (w *world) ask(ctx context.Context, i *Identity, t *target, denials []*statement.Statement, stated map[string]any) (verdict, error) {
	w.asks++
	q := &question.Question{Stated: i.request(merged(t.object(), merged(w.o.Stated, stated)))}
	delete(q.Stated, "user")
	delete(q.Stated, "groups")
	for _, fact := range question.Facts() {
		if _, isStated := q.Stated[fact]; !isStated {
			q.Open = append(q.Open, fact)
		}
	}
	a := &question.Asker{World: w.World, Judge: w.decide, Now: w.o.Now}
	found, err := a.Allowance(ctx, q, i.Principals(), denials)
	switch {
	case err != nil:
		return verdict{}, err
	case found == nil:
		return verdict{class: never}, nil
	case found.Always:
		return verdict{name: t.name}, nil
	}
	v := verdict{class: Possible, name: t.name, facts: make(map[string]any)}
	for _, fact := range q.Open {
		value, given := found.Allowed[fact]
		if given {
			v.facts[fact] = value
		}
		other, otherGiven := found.Refused[fact]
		differs := given != otherGiven || given && statement.JSONText(value) != statement.JSONText(other)
		if found.Refused != nil && found.Allowed != nil && differs {
			v.why = append(v.why, fact)
		}
	}
	v.why = tables.Once(slices.Concat(found.Opaque, v.why))
	if len(v.why) == 0 {
		v.why = []string{"attributes"}
	}
	return v, nil
}

// decide decides by statements, and by the documents where a statement is opaque. It is a
// statement.Judge.
func (w *world) decide(ctx context.Context, point string, request []byte) (statement.Verdict, error) {
	object, principals, err := parse(request)
	if err != nil {
		return statement.Verdict{}, err
	}
	decisive, exact := w.decisive(object, principals)
	switch {
	case !exact || w.sealed:
		engine, err := w.documents(ctx)
		switch {
		case err != nil:
			return statement.Verdict{}, err
		case engine != nil:
			return engine(ctx, point, request)
		case decisive == nil:
			return statement.Verdict{Outcome: statement.OutcomeNone}, nil
		}
	case decisive == nil:
		return statement.Verdict{Outcome: statement.OutcomeNone}, nil
	}
	return statement.Verdict{Outcome: decisive.Effect}, nil
}

// documents returns what decides by the changed documents, nil if nothing can.
func (w *world) documents(ctx context.Context) (_ statement.Judge, err error) {
	if w.engine == nil && w.o.Rebuild != nil {
		adds, removes := applied(w.changes)
		w.engine, err = w.o.Rebuild(ctx, adds, removes)
	}
	return w.engine, err
}

// decisive returns the statement that decides a request, nil for none. exact is false if an
// opaque one fits too.
func (w *world) decisive(object map[string]any, principals []string) (found *statement.Statement, exact bool) {
	exact = true
	found = w.decisiveIf(object, principals, func(*statement.Statement) bool {
		exact = false
		return false
	})
	return found, exact
}

// decisiveIf returns the statement that decides a request if, of the opaque ones that fit it, those
// hold that holds accepts; nil for none.
func (w *world) decisiveIf(object map[string]any, principals []string, holds func(*statement.Statement) bool) (found *statement.Statement) {
	var r statement.Request
	for _, set := range statement.Setters(object, nil) {
		set(&r)
	}
	r.User, _ = object["user"].(string)
	r.KeepWords()
	goesBefore := func(s *statement.Statement) bool {
		order := bytes.Compare(s.Rank, found.Rank)
		return order < 0 || order == 0 && s.Effect == statement.OutcomeDeny && found.Effect != s.Effect
	}
	consider := func(s *statement.Statement) {
		if s.Fits(&r) && (s.Opaque == "" || holds(s)) && (found == nil || goesBefore(s)) {
			found = s
		}
	}
	for _, s := range w.Deny {
		consider(s)
	}
	for _, p := range principals {
		for _, s := range w.In(p, "") {
			consider(s)
		}
		if r.Namespace != "" {
			for _, s := range w.In(p, r.Namespace) {
				consider(s)
			}
		}
	}
	return found
}

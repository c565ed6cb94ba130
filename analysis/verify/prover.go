package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// The verdicts.
const (
	Holds    = "holds"
	Fails    = "fails"
	Excepted = "excepted"
	Unknown  = "unknown"
	Vacuous  = "vacuous"
)

// The names of worlds in a witness.
const (
	worldAll       = "all"
	worldWithout   = "without"
	worldReference = "reference"
)

// world is documents at a time, with the engine that decides by them.
type world struct {
	name  string
	index *index
	judge statement.Judge
	at    time.Time
	views map[string]*world // at the point visibility, by what they decide
	steps map[string]*tables.GatewaySteps
}

// prover proves one assertion at one time.
type prover struct {
	ctx context.Context
	a   *assertion.Assertion
	now time.Time
	all *world
	// other are the documents that the assertion compares with, nil without any.
	other *world
	// base are the documents by which a witness must not break the assertion, nil without any,
	// and baseOther those of the base without the files of the form independent.
	base, baseOther *world

	askers     *askers
	conditions []*assertion.Holds
	kindsOf    map[*assertion.Class][]*kind
	// out are the classes that are left out: unless, and exceptions that are in force.
	out []*assertion.Class
	// within, if not nil, are classes that requests are in one of, beside those of the assertion.
	within []*assertion.Class
	isCut  bool
	// isPartial reports that items were tried of which a search finds some.
	isPartial bool
	err       error

	// isRecording asks for trees: why no request of each class of the assertion breaks it. last is
	// the proof of the last search.
	isRecording bool
	last        *statement.Proof
	trees       []*Tree
}

func newProver(ctx context.Context, a *assertion.Assertion, now time.Time, all, other *world) *prover {
	p := &prover{
		ctx: ctx, a: a, now: now, all: all, other: other, conditions: conditions(a), kindsOf: make(map[*assertion.Class][]*kind),
		askers: newAskers(a, all.index.named, all.index.ordered),
	}
	if other != nil {
		p.know(other.index)
	}
	return p
}

// know adds the principals that other documents name.
func (p *prover) know(x *index) {
	named := maps.Clone(p.askers.named)
	maps.Copy(named, x.named)
	if len(named) > len(p.askers.named) {
		p.askers = newAskers(p.a, named, slices.Sorted(maps.Keys(named)))
	}
}

// stop reports whether the proof cannot go on.
func (p *prover) stop() bool {
	if p.err == nil {
		p.err = p.ctx.Err()
	}
	return p.err != nil
}

// proof is the result of one search.
type proof struct {
	witness *Witness
	why     []string
}

func (r *proof) holds() bool { return r.witness == nil && len(r.why) == 0 }

const (
	// mostFound is how many requests that break an assertion are compared.
	mostFound = 24
	// mostTried is how many requests are tried that may break it.
	mostTried = 200
)

// prove looks for a request that breaks the assertion while some classes are left out.
func (p *prover) prove(out []*assertion.Class) (*proof, error) {
	p.out = out
	switch p.a.Form {
	case assertion.Disjoint:
		return p.proveDisjoint()
	case assertion.Covers:
		return p.proveCovers()
	}
	if p.a.Point == assertion.Gateway {
		return p.proveGateway()
	}
	var exact, maybe []found
	for _, classes := range p.parts() {
		s := p.searchIn(classes[0], out, classes[1:]...)
		for _, g := range p.goals(classes...) {
			s.solve(&g, func(f found) bool {
				switch {
				case p.a.Word == assertion.Shown:
					exact = append(exact, p.withItem(&f, g.kind)...)
				case len(f.opaque) == 0:
					exact = append(exact, f)
				case len(maybe) < mostTried:
					maybe = append(maybe, f)
				}
				return len(exact) < mostFound
			})
		}
		if p.isRecording {
			p.trees = append(p.trees, s.tree())
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.judge(exact, maybe)
}

// isDenied reports whether a statement that may deny reaches the class of the assertion.
func (p *prover) isDenied() bool {
	return p.a.Point != assertion.Access || slices.ContainsFunc(p.a.Of, func(c *assertion.Class) bool {
		r := p.searchIn(c, nil).denyingIn(p.all)
		return r.isCut || len(r.all()) > 0
	})
}

// parts returns the parts of the class: requests of one are in each of its classes.
func (p *prover) parts() [][]*assertion.Class {
	var out [][]*assertion.Class
	for _, c := range p.a.Of {
		if p.within == nil {
			out = append(out, []*assertion.Class{c})
		}
		for _, also := range p.within {
			out = append(out, []*assertion.Class{c, also})
		}
	}
	return out
}

// judge lets the engine decide what was found.
func (p *prover) judge(exact, maybe []found) (*proof, error) {
	w, err := p.best(exact)
	if w != nil || err != nil {
		return &proof{witness: w}, err
	}
	var why []string
	for _, f := range maybe {
		if w, err := p.vary(f); w != nil || err != nil {
			return &proof{witness: w}, err
		}
		why = append(why, reasons(f.opaque)...)
	}
	if p.isPartial {
		why = append(why, statement.WhyItems)
	}
	if p.isCut || p.askers.isCut || p.comparesNodes() {
		why = append(why, statement.WhyPattern)
	}
	return &proof{why: tables.Entries(why)}, nil
}

// comparesNodes reports whether restrictions read the nodes of two requesters of one request,
// one of them by his name. The search has one node for both.
func (p *prover) comparesNodes() bool {
	isNode := func(principal string) bool { return strings.HasPrefix(principal, statement.NodePrefix) }
	if p.a.Form != assertion.Implies || !slices.ContainsFunc(slices.Concat(p.a.Subjects[0], p.a.Subjects[1]), isNode) {
		return false
	}
	for _, r := range p.all.index.world.Access.Roles.All() {
		if r.Reads()&tables.ReadsNodes != 0 {
			return true
		}
	}
	return false
}

// outcomeIn is what a request shows in one world: one of some outcomes.
type outcomeIn struct {
	world    *world
	outcomes []string
	as       []string
}

// plan is one way to break the assertion.
type plan struct {
	parts     []outcomeIn
	must, not []*statement.Statement
}

// plans returns what would break the assertion: a request that meets all parts of one of
// them does.
func (p *prover) plans() []plan {
	allowed := allowedAt(p.a.Point)
	refused := p.others(allowed)
	whole := func(outcomes []string) []plan {
		return []plan{{parts: []outcomeIn{{world: p.all, outcomes: outcomes}}}}
	}
	switch {
	case p.a.Word == assertion.Shown: // the engine decides about items
		if p.a.Form == assertion.Never {
			return whole(allowed)
		}
		return whole(outcomesAt[p.a.Point])
	case p.a.Form == assertion.Never:
		return whole(p.outcomes())
	case p.a.Form == assertion.Always:
		return whole(p.others(p.outcomes()))
	case p.a.Form == assertion.Implies:
		if !p.isComplete(p.a.Subjects[0]) {
			return nil
		}
		return []plan{{parts: []outcomeIn{{p.all, allowed, p.a.Subjects[0]}, {p.all, refused, p.a.Subjects[1]}}}}
	case p.other != nil:
		var out []plan
		for _, x := range outcomesAt[p.a.Point] {
			others := p.others([]string{x})
			if p.a.Form == assertion.Within {
				others = refused
			}
			if p.a.Form != assertion.Within || slices.Contains(allowed, x) {
				out = append(out, plan{parts: []outcomeIn{{world: p.all, outcomes: []string{x}}, {world: p.other, outcomes: others}}})
			}
		}
		return out
	}
	return p.plansOfList(allowed, refused)
}

// plansOfList returns those of the forms within and equals of a list.
func (p *prover) plansOfList(allowed, refused []string) []plan {
	var entries []*statement.Statement
	for i := range p.a.Entries {
		entries = append(entries, statement.InEntry(&p.a.Entries[i]))
	}
	out := []plan{{parts: []outcomeIn{{world: p.all, outcomes: allowed}}, not: entries}}
	if p.a.Form == assertion.Equals {
		for _, e := range entries {
			out = append(out, plan{parts: []outcomeIn{{world: p.all, outcomes: refused}}, must: []*statement.Statement{e}})
		}
	}
	return out
}

// goals returns the goals of requests that are in all of some classes, of each kind: a request
// that reaches one of them breaks the assertion, and by the base it does not.
func (p *prover) goals(classes ...*assertion.Class) []goal {
	var out []goal
	plans := p.plans()
	if p.base != nil && p.a.Word != assertion.Shown { // items are compared by the engine
		plans = p.newPlans(plans)
	}
	for _, k := range p.kinds(classes...) {
		for _, one := range plans {
			lists := [][]part{nil}
			for _, d := range one.parts {
				var grown [][]part
				for _, outcome := range d.outcomes {
					for _, way := range p.ways(d.world, outcome, k, d.as) {
						for _, before := range lists {
							grown = append(grown, slices.Concat(before, way))
						}
					}
				}
				lists = grown
			}
			for _, parts := range lists {
				out = append(out, goal{k, parts, one.must, one.not})
			}
		}
	}
	return out
}

// breaks reports whether outcomes of a request break the assertion.
func (p *prover) breaks(r *statement.Request, got []string) bool {
	isAllowed := func(outcome string) bool { return slices.Contains(allowedAt(p.a.Point), outcome) }
	switch p.a.Form {
	case assertion.Never:
		return p.isWord(got[0])
	case assertion.Always:
		return !p.isWord(got[0])
	case assertion.Implies:
		return isAllowed(got[0]) && !isAllowed(got[1])
	case assertion.Covers:
		return !isAllowed(got[0])
	case assertion.Within:
		if p.other != nil {
			return isAllowed(got[0]) && !isAllowed(got[1])
		}
		return isAllowed(got[0]) && !p.isListed(r)
	}
	if p.other != nil {
		return got[0] != got[1]
	}
	return isAllowed(got[0]) != p.isListed(r)
}

func (p *prover) isListed(r *statement.Request) bool {
	return slices.ContainsFunc(p.a.Entries, func(e assertion.Entry) bool { return statement.InEntry(&e).Fits(r) })
}

// ask is a request in one world.
type ask struct {
	world *world
	as    []string // nil: those of the request
}

// asks returns the requests that a witness has.
func (p *prover) asks() []ask { return p.asksOf(p.all, p.other) }

// asksOf returns the requests that break the assertion by a world, which is compared with another
// one unless that is nil.
func (p *prover) asksOf(world, other *world) []ask {
	switch {
	case p.a.Form == assertion.Implies:
		return []ask{{world, p.a.Subjects[0]}, {world, p.a.Subjects[1]}}
	case other != nil:
		return []ask{{world: world}, {world: other}}
	}
	return []ask{{world: world}}
}

// decide lets the engine decide a request of some principals.
func (p *prover) decide(r *statement.Request, held []string, asks []ask) ([]WitnessRequest, []string, error) {
	var out []WitnessRequest
	var got []string
	for _, q := range asks {
		as := held
		if q.as != nil {
			as = q.as
		}
		object := p.object(r, as)
		v, err := q.world.judge(p.ctx, p.a.Point, statement.Encode(object))
		if err != nil {
			return nil, nil, err
		}
		out = append(out, WitnessRequest{World: q.world.name, Request: object, Outcome: v.Outcome, Decision: v.Decision})
		got = append(got, v.Outcome)
	}
	return out, got, nil
}

// object returns a request as one of some principals.
func (p *prover) object(r *statement.Request, held []string) map[string]any {
	base, _ := p.requestOf(held)
	asked := *r
	asked.User, asked.Groups = base.User, base.Groups
	if len(base.Facts) > 0 {
		asked.Facts = maps.Clone(r.Facts)
		maps.Copy(asked.Facts, base.Facts)
	}
	return asked.Object(p.a.Point)
}

// isIn reports whether a request of some principals is in the class of the assertion.
func (p *prover) isIn(r *statement.Request, held []string) bool {
	return p.isComplete(held) && p.askers.admits(held) && p.fitsAny(p.a.Of, r, held) && !p.fitsAny(p.out, r, held)
}

func (p *prover) fitsAny(list []*assertion.Class, r *statement.Request, held []string) bool {
	return slices.ContainsFunc(list, func(c *assertion.Class) bool {
		return c.Holds.Fits(held, p.askers.isNamed) && statement.InClass(c).Fits(r) && fitsFacts(c, r)
	})
}

// disagreement is the error of a request that the engine decides in another way than the
// statements.
func disagreement(a *assertion.Assertion, requests []WitnessRequest) error {
	decided := ""
	for _, r := range requests {
		decided += fmt.Sprintf(" %s", r.Outcome)
	}
	return &diff.DisagreementError{Request: string(statement.Encode(requests[0].Request)), Class: "that " + a.ID() + " is broken", Decided: decided}
}

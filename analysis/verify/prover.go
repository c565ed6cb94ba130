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
}

// prover proves one assertion at one time.
type prover struct {
	ctx context.Context
	a   *assertion.Assertion
	now time.Time
	all *world
	// other are the documents that the assertion compares with, nil without any.
	other *world
	// base are the documents by which a witness must not break the assertion, nil without any.
	base *world

	askers     *askers
	conditions []*assertion.Holds
	// out are the classes that are left out: unless, and exceptions that are in force.
	out   []*assertion.Class
	isCut bool
	err   error
}

func newProver(ctx context.Context, a *assertion.Assertion, now time.Time, all, other *world) *prover {
	named, ordered := all.index.named, all.index.ordered
	if other != nil {
		named = maps.Clone(named)
		maps.Copy(named, other.index.named)
		ordered = slices.Sorted(maps.Keys(named))
	}
	return &prover{ctx: ctx, a: a, now: now, all: all, other: other, askers: newAskers(a, named, ordered), conditions: conditions(a)}
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
	var exact, maybe []found
	for _, c := range p.a.Of {
		s := p.searchIn(c, out)
		goals := p.goals()
		if p.base != nil {
			goals = p.newGoals(goals)
		}
		for _, g := range goals {
			s.solve(&g, func(f found) bool {
				switch {
				case len(f.opaque) == 0:
					exact = append(exact, f)
				case len(maybe) < mostTried:
					maybe = append(maybe, f)
				}
				return len(exact) < mostFound
			})
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.judge(exact, maybe)
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

// outcomes are those of a word at the point access.
func outcomes(word string) []string {
	switch word {
	case assertion.Allowed:
		return []string{statement.OutcomeAllow}
	case assertion.Denied:
		return []string{statement.OutcomeDeny}
	}
	return []string{statement.OutcomeAllow, statement.OutcomeDeny}
}

var everyOutcome = []string{statement.OutcomeAllow, statement.OutcomeDeny, statement.OutcomeNone}

func otherOutcomes(list []string) []string {
	return slices.DeleteFunc(slices.Clone(everyOutcome), func(o string) bool { return slices.Contains(list, o) })
}

// goals returns what would break the assertion: a request that reaches one of them does.
func (p *prover) goals() []goal {
	allow := part{world: p.all, outcome: statement.OutcomeAllow}
	refused := otherOutcomes([]string{statement.OutcomeAllow})
	var out []goal
	switch {
	case p.a.Form == assertion.Never:
		for _, o := range outcomes(p.a.Word) {
			out = append(out, goal{parts: []part{{world: p.all, outcome: o}}})
		}
	case p.a.Form == assertion.Always:
		for _, o := range otherOutcomes(outcomes(p.a.Word)) {
			out = append(out, goal{parts: []part{{world: p.all, outcome: o}}})
		}
	case p.a.Form == assertion.Implies:
		for _, o := range refused {
			out = append(out, goal{parts: []part{{p.all, statement.OutcomeAllow, p.a.Subjects[0]}, {p.all, o, p.a.Subjects[1]}}})
		}
	case p.other != nil:
		for _, x := range everyOutcome {
			for _, y := range everyOutcome {
				if x != y && (p.a.Form != assertion.Within || x == statement.OutcomeAllow) {
					out = append(out, goal{parts: []part{{world: p.all, outcome: x}, {world: p.other, outcome: y}}})
				}
			}
		}
	default:
		var entries []*statement.Statement
		for i := range p.a.Entries {
			entries = append(entries, statement.InEntry(&p.a.Entries[i]))
		}
		out = append(out, goal{parts: []part{allow}, not: entries})
		for _, e := range entries {
			for _, o := range refused {
				if p.a.Form == assertion.Equals {
					out = append(out, goal{parts: []part{{world: p.all, outcome: o}}, must: []*statement.Statement{e}})
				}
			}
		}
	}
	return out
}

// breaks reports whether outcomes of a request break the assertion.
func (p *prover) breaks(r *statement.Request, got []string) bool {
	isAllowed := got[0] == statement.OutcomeAllow
	switch p.a.Form {
	case assertion.Never:
		return slices.Contains(outcomes(p.a.Word), got[0])
	case assertion.Always:
		return !slices.Contains(outcomes(p.a.Word), got[0])
	case assertion.Implies:
		return isAllowed && got[1] != statement.OutcomeAllow
	case assertion.Covers:
		return !isAllowed
	case assertion.Within:
		if p.other != nil {
			return isAllowed && got[1] != statement.OutcomeAllow
		}
		return isAllowed && !p.isListed(r)
	}
	if p.other != nil {
		return got[0] != got[1]
	}
	return isAllowed != p.isListed(r)
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
func (p *prover) asks() []ask {
	switch {
	case p.a.Form == assertion.Implies:
		return []ask{{p.all, p.a.Subjects[0]}, {p.all, p.a.Subjects[1]}}
	case p.other != nil:
		return []ask{{world: p.all}, {world: p.other}}
	}
	return []ask{{world: p.all}}
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
		object := object(r, as)
		v, err := q.world.judge(p.ctx, statement.PointAccess, statement.Encode(object))
		if err != nil {
			return nil, nil, err
		}
		out = append(out, WitnessRequest{World: q.world.name, Request: object, Outcome: v.Outcome, Decision: v.Decision})
		got = append(got, v.Outcome)
	}
	return out, got, nil
}

// object returns a request as one of some principals.
func object(r *statement.Request, held []string) map[string]any {
	base, _ := statement.RequestOf(statement.PointAccess, held)
	asked := *r
	asked.User, asked.Groups = base.User, base.Groups
	return asked.Object(statement.PointAccess)
}

// isIn reports whether a request of some principals is in the class of the assertion.
func (p *prover) isIn(r *statement.Request, held []string) bool {
	return p.askers.admits(held) && p.fitsAny(p.a.Of, r, held) && !p.fitsAny(p.out, r, held)
}

func (p *prover) fitsAny(list []*assertion.Class, r *statement.Request, held []string) bool {
	return slices.ContainsFunc(list, func(c *assertion.Class) bool {
		return c.Holds.Fits(held, p.askers.isNamed) && statement.InClass(c).Fits(r)
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

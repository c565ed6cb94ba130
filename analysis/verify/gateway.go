package verify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

const (
	// mostOpen is how many requests of a path are varied, if conditions decide it.
	mostOpen = 3
	// mostVariants bounds the variants of one assertion.
	mostVariants = 4000
	// mostBroken is how many requests that break an assertion are compared.
	mostBroken = 256
)

// crossing is a request at the point gateway with what it shows.
type crossing struct {
	asked    *asked
	object   map[string]any
	requests []WitnessRequest
	got      []string
	// targets are the paths that decide, by world; empty without one.
	targets []string
	isTied  bool // routes of several namespaces decide together
}

// proveGateway looks for a request that breaks an assertion at the point gateway. Each path,
// with and without an identity, is decided in one way unless it has conditions, so one
// request of each is decided, and requests of paths with conditions are varied.
func (p *prover) proveGateway() (*proof, error) {
	if p.a.Word == assertion.Limited {
		return p.proveLimited()
	}
	states := make(map[string]bool) // that do not break the assertion
	open := make(map[string][]*crossing)
	var order []string
	var broken []*crossing
	p.eachCrossing(p.out, func(x *crossing) bool {
		key := fmt.Sprint(x.targets, x.asked.identity)
		switch isOpen := p.isOpen(x); {
		case states[key] && !x.isTied:
		case p.breaksAt(x):
			broken = append(broken, x)
		case !isOpen:
			states[key] = true
		case len(open[key]) < mostOpen:
			if open[key] == nil {
				order = append(order, key)
			}
			open[key] = append(open[key], x)
		}
		return len(broken) < mostBroken
	})
	if w := p.plainest(broken); w != nil || p.err != nil {
		return &proof{witness: w}, p.err
	}
	left := mostVariants
	for _, key := range order {
		for _, x := range open[key] {
			if found := p.varied(x, &left); found != nil {
				return &proof{witness: found.witness()}, nil
			}
		}
	}
	var why []string
	if len(order) > 0 {
		why = append(why, statement.WhyGateway)
	}
	if p.isCut {
		why = append(why, statement.WhyPattern)
	}
	return &proof{why: why}, p.err
}

// plainest returns the witness that states the least, nil without any.
func (p *prover) plainest(list []*crossing) *Witness {
	if len(list) == 0 {
		return nil
	}
	best := slices.MinFunc(list, func(x, y *crossing) int { return cmp.Compare(x.asked.size(), y.asked.size()) })
	return best.witness()
}

func (x *crossing) witness() *Witness {
	return &Witness{In: inClass, Requests: x.requests, crossing: x}
}

// eachCrossing decides requests of the class less some classes, one for each that routes and
// classes tell apart, until visit returns false.
func (p *prover) eachCrossing(out []*assertion.Class, visit func(*crossing) bool) {
	goOn := true
	for _, c := range p.a.Of {
		p.eachAsked(c, out, func(a *asked) bool {
			for _, identity := range []bool{false, true} {
				with := *a
				if with.identity = identity; !fitsIdentity(c, identity) {
					continue
				}
				x, err := p.cross(&with, with.object())
				if err != nil {
					p.err = err
					return false
				}
				if x != nil && p.isInGateway(p.a.Of, x) && !p.isInGateway(out, x) && (p.within == nil || p.isInGateway(p.within, x)) {
					goOn = visit(x)
				}
				if !goOn || p.stop() {
					return false
				}
			}
			return true
		})
		if !goOn || p.err != nil {
			return
		}
	}
}

func fitsIdentity(c *assertion.Class, isPresent bool) bool {
	if isPresent {
		return c.Texts["identity"].Fits("present")
	}
	return c.Texts["identity"].Fits("absent")
}

// cross lets the engine decide a request in each world. It returns nil for a request that
// is not valid.
func (p *prover) cross(a *asked, object map[string]any) (*crossing, error) {
	x := &crossing{asked: a, object: object}
	for i, w := range p.worlds() {
		v, err := w.judge(p.ctx, statement.PointGateway, statement.Encode(object))
		if p.ctx.Err() != nil {
			return nil, p.ctx.Err()
		}
		if err != nil {
			return nil, nil //nolint:nilerr // the request is not valid, so it is in no class
		}
		var d struct {
			Warnings []string `json:"warnings"`
		}
		if err := json.Unmarshal(v.Decision, &d); err != nil {
			return nil, err
		}
		x.isTied = x.isTied || slices.ContainsFunc(d.Warnings, func(text string) bool { return strings.HasPrefix(text, "route-conflict: ") })
		x.targets = append(x.targets, v.Target)
		x.got = append(x.got, v.Outcome)
		if i < len(p.asks()) {
			x.requests = append(x.requests, WitnessRequest{World: w.name, Request: object, Outcome: v.Outcome, Decision: v.Decision})
		}
	}
	return x, nil
}

// breaksAt reports whether a request breaks the assertion, and does not by the base.
func (p *prover) breaksAt(x *crossing) bool { return p.isBroken(x.got) }

// isBroken is breaksAt for the outcomes in each world.
func (p *prover) isBroken(got []string) bool {
	if p.base == nil {
		return p.breaks(nil, got)
	}
	asks := len(p.asks())
	before := slices.Clone(got[asks:]) // by the base, and by the base without some files
	if p.other != nil && p.baseOther == nil {
		before = append(before, got[1])
	}
	return p.breaks(nil, got[:asks]) && !p.breaks(nil, before)
}

// isOpen reports whether conditions may decide requests like x in another way, so that they
// break the assertion.
func (p *prover) isOpen(x *crossing) bool {
	var same []string
	isOpen := false
	possible := [][]string{nil} // the outcomes in each world
	for i, w := range p.worlds() {
		steps := []*tables.GatewaySteps{w.stepsOf(x.targets[i])}
		if x.isTied {
			steps = w.allSteps()
		}
		outcomes := []string{x.got[i]}
		for _, s := range steps {
			if !hasConditions(s, x.asked.identity) {
				continue
			}
			isOpen, outcomes = true, []string{statement.OutcomeAllow, statement.OutcomeDeny}
			if !x.isTied && !reviews(s) {
				same = append(same, s.ID)
			}
		}
		var grown [][]string
		for _, before := range possible {
			for _, outcome := range outcomes {
				grown = append(grown, append(slices.Clone(before), outcome))
			}
		}
		possible = grown
	}
	if p.other != nil && p.base == nil && len(same) == 2 && same[0] == same[1] {
		return false // the same conditions decide a request alike in two worlds
	}
	return isOpen && slices.ContainsFunc(possible, p.isBroken)
}

// hasConditions reports whether conditions of a policy decide requests with or without an
// identity.
func hasConditions(s *tables.GatewaySteps, identity bool) bool {
	isConditional := func(r *tables.NamedRule) bool { return len(r.Rule.When) > 0 }
	switch {
	case s == nil:
		return false
	case identity:
		return len(s.Authorization) > 0
	case !s.Authenticates:
		return len(s.Authorization) > 0
	case len(s.Anonymous) == 0:
		return s.When != nil
	}
	return len(s.Authorization) > 0 || !slices.ContainsFunc(s.Anonymous, func(r *tables.NamedRule) bool { return !isConditional(r) })
}

func reviews(s *tables.GatewaySteps) bool {
	return slices.ContainsFunc(s.Authorization, func(r *tables.NamedRule) bool { return r.Rule.Authorization.Review != nil })
}

func (w *world) gateway() *tables.Gateway {
	if t := tables.Of[*tables.Gateway](w.index.world.Revision.Tables); t != nil {
		return t
	}
	return new(tables.Gateway)
}

// stepsOf returns the steps of the effective AuthPolicy of a path, nil if nothing restricts
// it.
func (w *world) stepsOf(target string) *tables.GatewaySteps {
	if w.steps == nil {
		w.steps = make(map[string]*tables.GatewaySteps)
		g := w.gateway()
		for _, path := range g.Paths {
			if e, ok := path.Effective[tables.KindAuthPolicy]; ok {
				w.steps[g.PathName(path)] = g.Effective[e].Steps
			}
		}
	}
	return w.steps[target]
}

func (w *world) allSteps() []*tables.GatewaySteps {
	return elements.Map(w.gateway().Effective, func(e tables.EffectivePolicy) *tables.GatewaySteps { return e.Steps })
}

// isInGateway reports whether a request is in one of some classes.
func (p *prover) isInGateway(list []*assertion.Class, x *crossing) bool {
	return slices.ContainsFunc(list, func(c *assertion.Class) bool {
		listener, route, _ := strings.Cut(x.targets[0], " > ")
		if listener = strings.TrimPrefix(listener, tables.KindGateway+"/"); listener == "" {
			listener = strings.TrimSuffix(x.asked.gateway+"#"+x.asked.listener, "#")
		}
		return fitsSection(c.Texts["gateway"], listener) && (c.Texts["route"] == nil || route != "" && fitsSection(c.Texts["route"], route)) &&
			fitsIdentity(c, x.asked.identity) && x.asked.fits(c)
	})
}

// fitsSection reports whether OBJECT#SECTION is in a set of objects and sections.
func fitsSection(v *assertion.Value, target string) bool {
	object, _, _ := strings.Cut(target, "#")
	if v == nil || slices.Contains(v.Texts, object) || slices.Contains(v.Texts, target) {
		return true
	}
	patterns := assertion.Value{Globs: v.Globs, Prefixes: v.Prefixes}
	return patterns.Fits(object) || patterns.Fits(target) ||
		slices.ContainsFunc(v.Not, func(n *assertion.Value) bool { return !fitsSection(n, target) })
}

// emptyGateway returns why the class has no request with a path, "" if it has one.
func (p *prover) emptyGateway(out []*assertion.Class) (string, error) {
	isEmpty := true
	if p.a.Word == assertion.Limited {
		isEmpty = len(p.limitedPaths(out)) == 0
	} else {
		p.eachCrossing(out, func(x *crossing) bool {
			isEmpty = x.targets[0] == ""
			return isEmpty
		})
	}
	switch unknown := p.unknownWords(p.a.Of); {
	case p.err != nil || !isEmpty || p.isCut:
		return "", p.err
	case len(unknown) > 0:
		return "no path is in the class, and " + unknown[0].text(), nil
	}
	return "no request of the class has a path", nil
}

// unknownGatewayWords returns the gateways and routes of a class that are not there.
func (p *prover) unknownGatewayWords(c *assertion.Class) []*unknownWord {
	known := make(map[string][]string)
	for _, w := range p.worlds() {
		g := w.gateway()
		for i := range g.Gateways {
			name := g.Gateways[i].Namespace + "/" + g.Gateways[i].Name
			known["gateway"] = append(known["gateway"], name)
			for j := range g.Gateways[i].Listeners {
				known["gateway"] = append(known["gateway"], name+"#"+g.Gateways[i].Listeners[j].Name)
			}
		}
		for i := range g.Routes {
			r := &g.Routes[i]
			known["route"] = append(known["route"], tables.TargetName(r.Kind, r.Namespace, r.Name, ""))
			for j := range r.Rules {
				known["route"] = append(known["route"], tables.TargetName(r.Kind, r.Namespace, r.Name, r.Rules[j].Name))
			}
		}
	}
	var out []*unknownWord
	for _, key := range []string{"gateway", "route"} {
		for _, word := range c.Texts[key].Words() {
			if !slices.Contains(known[key], word) {
				out = append(out, &unknownWord{unknownKey{key, word}, known[key]})
			}
		}
	}
	return out
}

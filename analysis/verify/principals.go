package verify

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// unnamed is a user that no document names.
const unnamed = "somebody"

// mostHeld bounds the principals of one request.
const mostHeld = 8

// askers chooses who asks: the smallest sets of principals that a class admits.
type askers struct {
	a *assertion.Assertion
	// named are the principals that documents name, in their order.
	named   map[string]bool
	ordered []string
	// unnamed are principals that no document names: one for each kind that conditions tell
	// apart, the plainest first.
	unnamed []string
	isCut   bool
	// words are the principals that conditions name.
	words []string
	// proof returns why the principals that were tried last ask nothing that breaks the
	// assertion; nil: proofs are not asked for.
	proof func() *statement.Proof
}

func newAskers(a *assertion.Assertion, named map[string]bool, ordered []string) *askers {
	out := &askers{a: a, named: named, ordered: ordered}
	var values statement.List
	add := func(list ...string) {
		for _, p := range list {
			if _, name, _ := strings.Cut(p, ":"); name != "" && !named[p] && (strings.HasPrefix(p, statement.UserPrefix) || strings.HasPrefix(p, statement.GroupPrefix)) {
				out.unnamed = append(out.unnamed, p)
			}
		}
	}
	add(statement.UserPrefix+unnamed, statement.GroupPrefix+assertion.MadeUp)
	patterns := false
	for _, h := range conditions(a) {
		add(h.Samples()...)
		expressions := h.Expressions()
		patterns = patterns || len(expressions) > 0
		values.Patterns = append(values.Patterns, expressions...)
		values.Add(h.Words()...)
	}
	if patterns || named[statement.UserPrefix+unnamed] || named[statement.GroupPrefix+assertion.MadeUp] || !isPlain(values.Values) {
		values.Patterns = append(values.Patterns, "^user:.", "^group:.")
		values.Add(out.ordered...)
		known := len(values.Values)
		add(values.All()[known:]...)
		out.isCut = values.IsCut()
	}
	for _, h := range conditions(a) {
		out.words = append(out.words, h.Words()...)
	}
	add(out.words...)
	out.unnamed = tables.Once(out.unnamed)
	return out
}

// isPlain reports whether some principals are not those that are made up.
func isPlain(list []string) bool {
	return !slices.Contains(list, statement.UserPrefix+unnamed) && !slices.Contains(list, statement.GroupPrefix+assertion.MadeUp)
}

// conditions returns the conditions on principals of an assertion.
func conditions(a *assertion.Assertion) []*assertion.Holds {
	var out []*assertion.Holds
	add := func(list []*assertion.Class) {
		for _, c := range list {
			if c != nil && c.Holds != nil {
				out = append(out, c.Holds)
			}
		}
	}
	add(a.Of)
	add(a.Unless)
	add(a.Classes[:])
	for _, e := range a.Exceptions {
		add(e.Of)
	}
	return out
}

func (k *askers) isNamed(p string) bool { return k.named[p] }

// admits reports whether some request may hold these principals.
func (k *askers) admits(held []string) bool {
	if !k.admitsUsers(held) || k.a.Alone && len(held) > 1 {
		return false
	}
	return !slices.ContainsFunc(k.a.Apart, func(list []string) bool {
		apart := 0
		for _, p := range held {
			if slices.Contains(list, p) {
				apart++
			}
		}
		return apart > 1
	})
}

// each calls try with every smallest set of principals that has some, that conditions
// require, and that those in not do not fit. It stops when try returns false. Conditions in
// soft need not be escaped, but sets that escape them are tried too. It returns the proof that
// no set breaks the assertion, if proofs are asked for.
func (k *askers) each(base []string, require, not, soft []*assertion.Holds, try func(held []string) bool) *statement.Proof {
	seen := make(map[string]*statement.Proof)
	more, tries := true, 0
	var visit func(held []string) *statement.Proof
	grown := func(held []string, h *assertion.Holds, fit bool, rest *statement.Proof) *statement.Proof {
		return k.split(k.changes(h, held, fit), rest, func(list []string) *statement.Proof { return visit(append(slices.Clone(held), list...)) })
	}
	visited := func(held []string) *statement.Proof {
		if !k.admits(held) {
			return new(statement.Proof)
		}
		if len(held) > mostHeld || len(seen) > 1<<12 {
			k.isCut = true
			return nil
		}
		for _, h := range require {
			if !h.Fits(held, k.isNamed) {
				return grown(held, h, true, new(statement.Proof))
			}
		}
		for _, h := range not {
			if h.Fits(held, k.isNamed) {
				return grown(held, h, false, new(statement.Proof))
			}
		}
		if len(held) == 0 || k.needsUser(held) { // a request has a subject
			return k.eachSubject(held, visit, func() int { return tries })
		}
		tries++
		var proof *statement.Proof
		if more = try(held); more && k.proof != nil {
			proof = k.proof()
		}
		for _, h := range soft {
			if more && h.Fits(held, k.isNamed) {
				proof = grown(held, h, false, proof)
			}
		}
		return proof
	}
	visit = func(held []string) *statement.Proof {
		held = tables.Entries(held)
		key := strings.Join(held, "\x00")
		proof, isKnown := seen[key]
		if !more || isKnown {
			return proof
		}
		seen[key] = nil
		seen[key] = visited(held)
		return seen[key]
	}
	return visit(base)
}

// split visits what may be added to principals. It returns the proof that tells them apart;
// rest is that of requests which hold none of them. A principal that was made up stands for
// others too, of which no statement is: it is not told apart.
func (k *askers) split(additions [][]string, rest *statement.Proof, visit func(list []string) *statement.Proof) *statement.Proof {
	out := &statement.Proof{Split: "holds"}
	var ofAny *statement.Proof
	for _, list := range additions {
		node := visit(list)
		if k.proof == nil {
			continue
		}
		if !slices.ContainsFunc(list, func(p string) bool { return k.isNamed(p) || slices.Contains(k.words, p) }) {
			ofAny = telling(ofAny, node)
		}
		for i, p := range slices.Backward(list) {
			branches := []statement.Branch{{Values: []string{p}, Node: node}}
			if i > 0 {
				node = &statement.Proof{Split: "holds", Branches: append(branches, statement.Branch{Rest: true, Node: rest})}
			} else {
				out.Branches = append(out.Branches, branches...)
			}
		}
	}
	switch {
	case k.proof == nil:
		return nil
	case ofAny != nil:
		return ofAny
	case len(out.Branches) == 0:
		return rest
	}
	out.Branches = append(out.Branches, statement.Branch{Rest: true, Node: rest})
	return out
}

// telling returns the first of two proofs that has requests.
func telling(proof, other *statement.Proof) *statement.Proof {
	if proof == nil || proof.Split == "" && proof.By == nil {
		return other
	}
	return proof
}

// eachSubject calls visit with principals and one that no document names, or one that a
// document names if no other does. Where requests hold one principal alone, those that conditions
// name are tried too: a set cannot be made to escape a condition by another principal. It returns
// one of the proofs.
func (k *askers) eachSubject(held []string, visit func(held []string) *statement.Proof, tries func() int) (proof *statement.Proof) {
	before, first := tries(), k.unnamed
	if k.a.Alone {
		first = slices.Concat(k.unnamed, k.words)
	}
	for i, p := range slices.Concat(first, k.ordered) {
		if i == len(first) && k.a.Alone {
			before = tries()
		}
		if i >= len(first) && tries() > before {
			break
		}
		if !k.needsUser(held) || isUser(p) {
			proof = telling(proof, visit(append(slices.Clone(held), p)))
		}
	}
	return proof
}

// changes returns what to add to principals so that a condition fits them, or does not.
func (k *askers) changes(h *assertion.Holds, held []string, fit bool) [][]string {
	var out [][]string
	each := func(list []string, wanted func(string) bool) {
		for _, p := range list {
			if wanted(p) && !slices.Contains(held, p) {
				out = append(out, []string{p})
			}
		}
	}
	switch {
	case h.Not != nil:
		return k.changes(h.Not, held, !fit)
	case fit && h.Any != nil:
		for _, o := range h.Any {
			out = append(out, k.changes(o, held, true)...)
		}
	case h.Any != nil:
		for _, o := range h.Any {
			if o.Fits(held, k.isNamed) {
				return k.changes(o, held, false)
			}
		}
	case fit && h.Principal != "":
		return [][]string{{h.Principal}}
	case fit && h.All != nil:
		return [][]string{h.All}
	case fit && h.Only != nil:
		each(h.Only, func(string) bool { return true })
	case fit:
		each(k.unnamed, h.FitsPrincipal)
		// Those that documents name add statements; they matter where no other fits.
		if len(out) == 0 {
			each(k.ordered, h.FitsPrincipal)
		}
	case h.Only != nil:
		each(k.ordered, func(p string) bool { return !slices.Contains(h.Only, p) })
	}
	return out
}

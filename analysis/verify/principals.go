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
		add(h.Words()...)
	}
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
// soft need not be escaped, but sets that escape them are tried too.
func (k *askers) each(base []string, require, not, soft []*assertion.Holds, try func(held []string) bool) {
	seen := make(map[string]bool)
	more, tries := true, 0
	var visit func(held []string)
	visit = func(held []string) {
		held = tables.Entries(held)
		key := strings.Join(held, "\x00")
		if !more || seen[key] {
			return
		}
		seen[key] = true
		if !k.admits(held) {
			return
		}
		if len(held) > mostHeld || len(seen) > 1<<12 {
			k.isCut = true
			return
		}
		grow := func(additions [][]string) {
			for _, list := range additions {
				visit(append(slices.Clone(held), list...))
			}
		}
		for _, h := range require {
			if !h.Fits(held, k.isNamed) {
				grow(k.changes(h, held, true))
				return
			}
		}
		for _, h := range not {
			if h.Fits(held, k.isNamed) {
				grow(k.changes(h, held, false))
				return
			}
		}
		if len(held) == 0 || k.needsUser(held) { // a request has a subject
			k.eachSubject(held, visit, func() int { return tries })
			return
		}
		tries++
		if more = try(held); !more {
			return
		}
		for _, h := range soft {
			if h.Fits(held, k.isNamed) {
				grow(k.changes(h, held, false))
			}
		}
	}
	visit(base)
}

// eachSubject calls visit with principals and one that no document names, or one that a
// document names if no other does.
func (k *askers) eachSubject(held []string, visit func(held []string), tries func() int) {
	before := tries()
	for i, p := range slices.Concat(k.unnamed, k.ordered) {
		if i >= len(k.unnamed) && tries() > before {
			return
		}
		if !k.needsUser(held) || isUser(p) {
			visit(append(slices.Clone(held), p))
		}
	}
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

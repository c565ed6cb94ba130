package risk

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
)

// Words of powers.
const (
	Everything = "everything"
	Wildcards  = "wildcards" // every verb
)

// Power is something dangerous that requests do.
type Power struct {
	// Word names it: "secrets", "exec".
	Word  string
	Level Level

	order int // of the rule
}

// Powers returns the powers of requests that fit all of some statements and none of others:
// the most dangerous one first, each word once. How much they matter depends on the subjects
// of the first statement and on how far the requests reach.
func Powers(must, not []*statement.Statement) []Power {
	var out []Power
	add := func(order int, r *rule, principals []string) {
		found, _ := r.reach(must, not)
		if found.reach == nowhere {
			return
		}
		for _, principal := range principals {
			out = append(out, Power{r.word, r.levelOf(principal, found.reach), order})
		}
	}
	holders := heaviest(must[0].Subjects)
	for _, r := range []*rule{&everybody, &defaultAccount} {
		if own := slices.DeleteFunc(slices.Clone(holders), func(p string) bool { return !r.isAbout(p) }); len(own) > 0 {
			add(0, r, own)
		}
	}
	add(0, &allPowers, holders)
	if !slices.ContainsFunc(out, func(p Power) bool { return p.Word == Everything }) {
		for i := range rules {
			add(i, &rules[i], holders)
		}
	}
	return Once(out)
}

// Once returns each power once, the most dangerous one first. The list is modified.
func Once(list []Power) []Power {
	slices.SortStableFunc(list, func(a, b Power) int { return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(a.order, b.order)) })
	seen := make(map[string]bool)
	return slices.DeleteFunc(list, func(p Power) bool {
		known := seen[p.Word]
		seen[p.Word] = true
		return known
	})
}

// heaviest returns those subjects on which the level of a power depends: the first of each weight,
// and those that have a rule of their own. Without subjects it is an account, as anyone may be.
func heaviest(subjects []string) []string {
	var out []string
	seen := make(map[Level]bool)
	for _, p := range subjects {
		if w := weight(p); !seen[w] || isEverybody(p) || isDefaultAccount(p) && !slices.ContainsFunc(out, isDefaultAccount) {
			seen[w] = true
			out = append(out, p)
		}
	}
	if out == nil {
		return []string{accountUser}
	}
	return out
}

package shrink

import (
	"cmp"
	"maps"
	"slices"

	"github.com/writ-policy/writ/internal/elements"
)

// part is a rule as a list of values for each of its lists; its cells are the product.
type part [4][]string

func (p *part) has(c cell) bool {
	for i := range p {
		if !slices.Contains(p[i], c[i]) {
			return false
		}
	}
	return true
}

func (p *part) isEmpty() bool {
	return slices.ContainsFunc(p[:], func(values []string) bool { return len(values) == 0 })
}

// makeParts decides what becomes of the rules of each role.
func (c *choice) makeParts() {
	for _, p := range c.model.pools() {
		c.partsOf(p)
	}
	if c.model.o.NoSplit || !c.model.o.does(OnlyEntries) {
		c.takeEntries()
	}
}

// partsOf makes the cells of a pool rules again.
func (c *choice) partsOf(p *pool) {
	open := maps.Clone(p.cells)
	var chosen []*rule
	take := func(r *rule) {
		chosen = append(chosen, r)
		for one := range open {
			if r.covers(one) {
				delete(open, one)
			}
		}
	}
	rules := slices.DeleteFunc(slices.Clone(p.rules), func(r *rule) bool { return r.fixed != "" })
	for _, r := range rules { // that some cell needs alone
		isAlone := func(one cell) bool {
			return r.covers(one) && !slices.ContainsFunc(rules, func(o *rule) bool { return o != r && o.covers(one) })
		}
		if slices.ContainsFunc(p.sorted(), isAlone) {
			take(r)
		}
	}
	for len(open) > 0 {
		count := func(r *rule) (n int) {
			for one := range open {
				if r.covers(one) {
					n++
				}
			}
			return n
		}
		best := slices.MinFunc(rules, func(a, b *rule) int { return cmp.Or(count(b)-count(a), compareRules(a, b)) })
		take(best)
	}
	for _, r := range chosen {
		cells := slices.DeleteFunc(p.sorted(), func(one cell) bool { return !r.covers(one) })
		if c.model.o.NoSplit || !c.model.o.does(OnlyEntries) {
			r.parts = []part{around(cells)}
		} else {
			r.parts = blocks(cells)
		}
	}
	slices.SortFunc(chosen, func(a, b *rule) int { return compareRules(b, a) })
	p.takeDoubles(chosen)
}

// takeDoubles takes entries whose cells other parts have as well.
func (p *pool) takeDoubles(rules []*rule) {
	isElsewhere := func(one cell, except *part) bool {
		return slices.ContainsFunc(rules, func(r *rule) bool {
			for i := range r.parts {
				if &r.parts[i] != except && r.parts[i].has(one) {
					return true
				}
			}
			return false
		})
	}
	cells := p.sorted()
	for _, r := range rules {
		for n := len(r.parts) - 1; n >= 0; n-- {
			one := &r.parts[n]
			for i := range one {
				for _, value := range slices.Backward(slices.Clone(one[i])) {
					isNeeded := slices.ContainsFunc(cells, func(x cell) bool { return x[i] == value && one.has(x) && !isElsewhere(x, one) })
					if !isNeeded {
						one[i] = slices.DeleteFunc(slices.Clone(one[i]), func(v string) bool { return v == value })
					}
				}
			}
		}
		r.parts = slices.DeleteFunc(r.parts, func(one part) bool { return one.isEmpty() })
	}
}

// takeEntries takes entries that no class needs of parts which grant more than was used.
func (c *choice) takeEntries() {
	byPool := make(map[*pool][]*class)
	for _, k := range c.classes {
		for _, o := range k.options {
			if p := o.rule.pool; o.rule.fixed == "" && (len(byPool[p]) == 0 || byPool[p][len(byPool[p])-1] != k) {
				byPool[p] = append(byPool[p], k)
			}
		}
	}
	for _, p := range c.model.pools() {
		for _, r := range slices.Backward(p.rules) {
			for n := range r.parts {
				for i := range r.lists {
					for _, value := range slices.Backward(slices.Clone(r.parts[n][i])) {
						before := r.parts[n][i]
						isHeld := func(one cell) bool { return one[i] == value && r.parts[n].has(one) }
						if len(before) == 1 || value == "" || slices.ContainsFunc(slices.Collect(maps.Keys(p.held)), isHeld) {
							continue
						}
						r.parts[n][i] = slices.DeleteFunc(slices.Clone(before), func(v string) bool { return v == value })
						if slices.ContainsFunc(byPool[p], c.isLost) {
							r.parts[n][i] = before
						}
					}
				}
			}
		}
	}
}

// around returns the smallest part that has some cells.
func around(cells []cell) part {
	var out part
	for _, one := range cells {
		for i, value := range one {
			if at, found := slices.BinarySearch(out[i], value); !found {
				out[i] = slices.Insert(out[i], at, value)
			}
		}
	}
	return out
}

func (p *part) size() int {
	n := 1
	for i := range p {
		n *= len(p[i])
	}
	return n
}

// largeRule is the number of cells above which parts are found by their verbs alone.
const largeRule = 300

// blocks returns few parts that have exactly some cells.
func blocks(cells []cell) []part {
	if len(cells) == 0 {
		return nil
	}
	if whole := around(cells); whole.size() == len(cells) {
		return []part{whole}
	}
	var candidates []part
	if len(cells) > largeRule {
		candidates = rowsOf(cells)
	} else {
		candidates = largest(cells)
	}
	chosen := cover(cells, candidates)
	slices.SortFunc(chosen, func(a, b part) int {
		for _, i := range []int{1, 2, 3, 0} {
			if c := slices.Compare(a[i], b[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	return chosen
}

// orders are the orders in which a part grows along its lists.
var orders = func() (out [][4]int) {
	for a := range 4 {
		for b := range 4 {
			for c := range 4 {
				if d := 6 - a - b - c; a != b && a != c && b != c {
					out = append(out, [4]int{a, b, c, d})
				}
			}
		}
	}
	return out
}()

// largest returns parts that cannot grow without a cell that is not there.
func largest(cells []cell) []part {
	has := make(map[cell]bool, len(cells))
	for _, one := range cells {
		has[one] = true
	}
	whole := around(cells)
	var out []part
	seen := make(map[string]bool)
	for _, one := range cells {
		for _, order := range orders {
			p := around([]cell{one})
			for _, i := range order {
				p[i] = slices.DeleteFunc(slices.Clone(whole[i]), func(v string) bool { return !hasAll(has, &p, i, v) })
			}
			if key := keyOf(&p); !seen[key] {
				seen[key] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// hasAll reports whether the cells of a part with one value of a list are all there.
func hasAll(has map[cell]bool, p *part, list int, value string) bool {
	at := *p
	at[list] = []string{value}
	for _, a := range at[0] {
		for _, b := range at[1] {
			for _, c := range at[2] {
				for _, d := range at[3] {
					if !has[cell{a, b, c, d}] {
						return false
					}
				}
			}
		}
	}
	return true
}

// rowsOf returns a part for each group and set of verbs, and joins groups with equal lists.
func rowsOf(cells []cell) []part {
	rows := make(map[cell][]string) // verbs by the rest
	for _, one := range cells {
		rest := one
		rest[0] = ""
		rows[rest] = append(rows[rest], one[0])
	}
	joined := make(map[string]*part)
	for _, list := range []int{2, 1, 3} {
		next := make(map[string]*part)
		add := func(p part) {
			rest := p
			rest[list] = nil
			key := keyOf(&rest)
			if next[key] == nil {
				next[key] = &p
				return
			}
			next[key][list] = slices.Sorted(slices.Values(append(slices.Clone(next[key][list]), p[list]...)))
		}
		if list == 2 {
			for rest, verbs := range rows {
				add(part{slices.Sorted(slices.Values(verbs)), {rest[1]}, {rest[2]}, {rest[3]}})
			}
		} else {
			for _, p := range joined {
				add(*p)
			}
		}
		joined = next
	}
	return elements.Map(slices.Sorted(maps.Keys(joined)), func(key string) part { return *joined[key] })
}

func keyOf(p *part) string {
	key := ""
	for i := range p {
		for _, v := range p[i] {
			key += v + "\x01"
		}
		key += "\x02"
	}
	return key
}

// maxExact is the number of candidates up to which the fewest parts are searched for.
const maxExact = 24

// cover returns candidates that have all cells: the fewest if there are few candidates,
// else the one with most cells again and again.
func cover(cells []cell, candidates []part) []part {
	greedy := coverGreedy(cells, candidates)
	if len(candidates) > maxExact || len(greedy) < 3 {
		return greedy
	}
	best := greedy
	var search func(open []cell, chosen []part)
	search = func(open []cell, chosen []part) {
		if len(open) == 0 && len(chosen) < len(best) {
			best = slices.Clone(chosen)
		}
		if len(open) == 0 || len(chosen)+1 >= len(best) {
			return
		}
		for _, p := range candidates {
			if p.has(open[0]) {
				rest := slices.DeleteFunc(slices.Clone(open), p.has)
				search(rest, append(slices.Clone(chosen), p))
			}
		}
	}
	search(cells, nil)
	return best
}

func coverGreedy(cells []cell, candidates []part) []part {
	var out []part
	for open := slices.Clone(cells); len(open) > 0; {
		count := func(p *part) (n int) {
			for _, one := range open {
				if p.has(one) {
					n++
				}
			}
			return n
		}
		best, most := 0, 0
		for i := range candidates {
			if n := count(&candidates[i]); n > most {
				best, most = i, n
			}
		}
		out = append(out, candidates[best])
		open = slices.DeleteFunc(open, candidates[best].has)
	}
	return out
}

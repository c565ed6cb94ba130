package answers

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// tally counts the decisions of a rule. Revisions with the same rule share it.
type tally struct{ decided, matched atomic.Uint64 }

// unmatched is the tally of rules that have not matched.
var unmatched = new(tally)

// tallies are the tallies of rules by their keys.
type tallies struct {
	mu sync.RWMutex // held to read and write of
	of map[uint64]*tally
}

func (t *tallies) find(key uint64) *tally {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.of[key]
}

// add returns the tally of a key, and makes it if it is absent.
func (t *tallies) add(key uint64) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[key] == nil {
		t.of[key] = new(tally)
	}
	return t.of[key]
}

// counts has the rules of one revision. Rules of policies have a tally from the start, and
// those of roles from their first match: there may be millions, few of which ever match.
type counts struct {
	revision string
	access   *tables.Access // nil without roles
	policies []rule
	tallies  *tallies
	// ofPolicies are the tallies of policies alone, which are found without a lock: nothing is added.
	ofPolicies map[uint64]*tally
	earlier    *counts // of the revision before, whose requests may be in flight; without rules
}

// newCounts lists the rules of a revision. Rules that the revision before has as well keep
// their counts; roles that are shared with it cost nothing.
func newCounts(revision string, list tables.List, before *counts) *counts {
	policies := policyRules(list)
	c := &counts{revision: revision, access: tables.Of[*tables.Access](list), policies: policies,
		tallies: &tallies{of: make(map[uint64]*tally)}, ofPolicies: make(map[uint64]*tally, len(policies))}
	if before != nil {
		c.earlier = &counts{revision: before.revision, tallies: before.tallies, ofPolicies: before.ofPolicies}
		c.keep(before)
	}
	for i := range c.policies {
		key := c.policies[i].key()
		c.policies[i].tally = c.tallies.add(key)
		c.ofPolicies[key] = c.policies[i].tally
	}
	return c
}

// keep copies the tallies of the revision before to equal rules. Those of all changed
// documents are removed first, because a rule may stand where another one stood.
func (c *counts) keep(before *counts) {
	before.tallies.mu.RLock()
	c.tallies.of = maps.Clone(before.tallies.of)
	before.tallies.mu.RUnlock()
	m := mover{c.tallies.of, make(map[identity]*tally)}
	m.remove(slices.Values(before.policies))
	changed := []iter.Seq[rule]{slices.Values(c.policies)}
	rolesOf(c.access).Since(rolesOf(before.access), func(_ string, now, was *tables.Role) {
		if was != nil && m.remove(rulesOf(was)) && now != nil {
			changed = append(changed, rulesOf(now))
		}
	})
	for _, rules := range changed {
		for id, r := range identified(rules) {
			if t := m.removed[id]; t != nil {
				m.of[r.key()] = t
			}
		}
	}
}

// mover moves tallies from the rules of a revision to the equal rules of the next one.
type mover struct {
	of      map[uint64]*tally
	removed map[identity]*tally
}

// remove removes the tallies of the rules of documents, and reports whether a rule has one.
func (m mover) remove(rules iter.Seq[rule]) (found bool) {
	for r := range rules {
		found = found || m.of[r.key()] != nil
	}
	if !found {
		return false
	}
	for id, r := range identified(rules) {
		if t := m.of[r.key()]; t != nil {
			m.removed[id] = t
			delete(m.of, r.key())
		}
	}
	return true
}

// find returns the tally of a rule, nil before its first match.
func (c *counts) find(r *rule) *tally {
	if c.tallies == nil {
		return nil
	}
	return c.tallies.find(r.key())
}

// all returns the rules in the order of the tables.
func (c *counts) all() iter.Seq[rule] {
	return func(yield func(rule) bool) {
		for _, role := range rolesOf(c.access).All() {
			for r := range rulesOf(role) {
				if t := c.find(&r); t != nil {
					r.tally = t
				}
				if !yield(r) {
					return
				}
			}
		}
		for _, r := range c.policies {
			if !yield(r) {
				return
			}
		}
	}
}

// count counts a decision.
func (c *counts) count(o *decision.Observation) {
	if c == nil {
		return
	}
	if c.revision != o.Revision {
		if c = c.earlier; c == nil || c.revision != o.Revision {
			return
		}
	}
	for i := range o.Matched {
		if t := c.tallyOf(&o.Matched[i]); t != nil {
			t.matched.Add(1)
			if i == 0 {
				t.decided.Add(1)
			}
		}
	}
}

// tallyOf returns the tally of a rule that matched, or nil if the documents do not have it.
func (c *counts) tallyOf(m *decision.Matched) *tally {
	if m.Role == nil {
		return c.ofPolicies[matchedKey(m.Source, m.Name, m.Rule)]
	}
	key := matchedKey(m.Source, m.Role.Name, m.Rule)
	if t := c.tallies.find(key); t != nil {
		return t
	}
	for _, family := range [...]string{tables.FamilyKubernetes, tables.FamilyOrigin} {
		role := rolesOf(c.access).At(tables.RoleKey(family, m.Role.Namespace, m.Role.Name))
		for r := range rulesOf(&role) {
			if r.key() == key {
				return c.tallies.add(key)
			}
		}
	}
	return nil
}

package explore

import (
	"encoding/json"
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/tables"
)

// tally counts the decisions of a rule. Revisions with the same rule share it.
type tally struct{ decided, matched atomic.Uint64 }

// rule is a rule of documents with its tally.
type rule struct {
	kind, namespace, name string
	number                int
	source                string
	id                    identity
	*tally
}

// view returns the rule with its counts.
func (r *rule) view() view.Rule {
	return view.Rule{
		Kind: r.kind, Namespace: r.namespace, Name: r.name, Rule: r.number, Source: r.source,
		Decided: r.decided.Load(), Matched: r.matched.Load(),
	}
}

// matchedKey is the hash of what decisions have of a rule: its place, its role or policy,
// and its number. A server may have millions of rules, and a collision of hashes would only
// add up their counts.
func matchedKey(source, name string, number int) uint64 {
	return maphash.Comparable(contentSeed, struct {
		source, name string
		number       int
	}{source, name, number})
}

// identity is what a rule keeps over revisions: the hashes of its document's name and of
// its content, and how many equal rules of the document are before it.
type identity struct {
	document, content uint64
	equal             int
}

func identityOf(r *rule, content []byte) identity {
	document := maphash.Comparable(contentSeed, [...]string{r.kind, r.namespace, r.name})
	return identity{document, maphash.Bytes(contentSeed, content), 0}
}

// counts has the rules of one revision. Its maps are not written after it is made, so
// that decisions read them without a lock.
type counts struct {
	revision string
	rules    []*rule
	matched  map[uint64]*tally
	tallies  map[identity]*tally
	roles    map[*tables.Role][]*rule // tables of two revisions share equal rows
	earlier  *counts                  // of the revision before, whose requests may be in flight
}

var contentSeed = maphash.MakeSeed()

// newCounts lists the rules of a revision. Rules that the revision before has as well keep
// their counts; a role that is shared with it costs nothing.
func newCounts(revision string, list tables.List, before *counts) *counts {
	c := &counts{
		revision: revision, matched: make(map[uint64]*tally), tallies: make(map[identity]*tally),
		roles: make(map[*tables.Role][]*rule), earlier: before,
	}
	if before != nil {
		earlier := *before
		earlier.earlier = nil
		c.earlier = &earlier
	} else {
		before = new(counts)
	}
	if access := tables.Of[*tables.Access](list); access != nil {
		for _, role := range access.Roles.All() {
			c.addRole(role, before)
		}
	}
	if deny := tables.Of[*tables.Deny](list); deny != nil {
		for i := range deny.Policies {
			c.addDeny(&deny.Policies[i], before)
		}
	}
	if visibility := tables.Of[*tables.Visibility](list); visibility != nil {
		for i := range visibility.Policies {
			c.addVisibility(&visibility.Policies[i], before)
		}
	}
	if gateway := tables.Of[*tables.Gateway](list); gateway != nil {
		c.addGateway(gateway, before)
	}
	return c
}

// addRole adds the rules of a role.
func (c *counts) addRole(role *tables.Role, before *counts) {
	first := len(c.rules)
	for _, r := range before.roles[role] {
		c.keep(r)
	}
	if len(c.rules) > first {
		c.roles[role] = c.rules[first:]
		return
	}
	for i := range role.Kubernetes {
		r := role.Kubernetes[i]
		r.Rule, r.Source = 0, ""
		c.add(before, rule{kind: role.Kind, namespace: role.Namespace, name: role.Name, number: role.Kubernetes[i].Rule, source: role.Kubernetes[i].Source}, r)
	}
	for i := range role.Origin {
		r := role.Origin[i]
		r.Rule, r.Source = 0, ""
		c.add(before, rule{kind: role.Kind, namespace: role.Namespace, name: role.Name, number: role.Origin[i].Rule, source: role.Origin[i].Source}, r)
	}
	c.roles[role] = c.rules[first:]
}

// The kinds of policies.
const (
	kindDeny       = "DenyPolicy"
	kindVisibility = "MonitorAccessPolicy"
)

func (c *counts) addDeny(p *tables.DenyPolicy, before *counts) {
	for _, r := range p.Rules {
		at := rule{kind: kindDeny, name: p.Name, number: r.Rule, source: r.Source}
		r.Rule, r.Source = 0, ""
		c.add(before, at, r)
	}
	for _, r := range p.Impersonation {
		at := rule{kind: kindDeny, name: p.Name, number: r.Rule, source: r.Source}
		r.Rule, r.Source = 0, ""
		c.add(before, at, r)
	}
	if p.Pod != nil {
		pod := *p.Pod
		pod.Source = ""
		c.add(before, rule{kind: kindDeny, name: p.Name, number: whole, source: p.Pod.Source}, pod)
	}
}

// whole is the number of a rule that is its document as a whole.
const whole = -1

func (c *counts) addVisibility(p *tables.VisibilityPolicy, before *counts) {
	add := func(number int, r tables.VisibilityRule) {
		at := rule{kind: kindVisibility, namespace: p.Namespace, name: p.Name, number: number, source: r.Source}
		r.Source = ""
		c.add(before, at, r)
	}
	for i, r := range p.Rules {
		add(i, r)
	}
	if p.ByDefault != nil {
		add(whole, *p.ByDefault)
	}
}

// addGateway adds the rules that are in force on some path, each once.
func (c *counts) addGateway(g *tables.Gateway, before *counts) {
	seen := make(map[string]bool)
	for i := range g.Effective {
		for _, r := range g.Effective[i].Rules {
			if seen[r.Source] {
				continue
			}
			seen[r.Source] = true
			at := rule{number: whole, source: r.Source}
			if parts := strings.SplitN(r.Policy, "/", 3); len(parts) == 3 {
				at.kind, at.namespace, at.name = parts[0], parts[1], parts[2]
			}
			c.add(before, at, []any{r.Key, r.Value})
		}
	}
}

// add adds a rule with a tally: that of an equal rule of the revision before, or a new one.
func (c *counts) add(before *counts, r rule, content any) {
	text, err := json.Marshal(content)
	if err != nil {
		text = []byte(r.source) // the content cannot be compared
	}
	r.id = identityOf(&r, text)
	for c.tallies[r.id] != nil {
		r.id.equal++
	}
	if r.tally = before.tallies[r.id]; r.tally == nil {
		r.tally = new(tally)
	}
	c.keep(&r)
}

// keep adds a rule that has a tally.
func (c *counts) keep(r *rule) {
	c.tallies[r.id] = r.tally
	c.rules = append(c.rules, r)
	c.matched[matchedKey(r.source, r.name, r.number)] = r.tally
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
		m := &o.Matched[i]
		name := m.Name
		if m.Role != nil {
			name = m.Role.Name
		}
		t := c.matched[matchedKey(m.Source, name, m.Rule)]
		if t == nil {
			continue
		}
		t.matched.Add(1)
		if i == 0 {
			t.decided.Add(1)
		}
	}
}

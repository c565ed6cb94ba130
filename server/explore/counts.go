package explore

import (
	"encoding/json"
	"hash/maphash"
	"iter"
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

// counts has the rules of one revision.
type counts struct {
	revision string
	groups   []*ruleGroup // of roles, and of policies
	earlier  *counts      // of the revision before, whose requests may be in flight
}

// ruleGroup is rules with their tallies. It is not written after it is made, so that
// decisions read it without a lock, and revisions with the same roles share theirs.
type ruleGroup struct {
	rules   []*rule
	matched map[uint64]*tally
	roles   map[*tables.Role][]*rule // tables of two revisions share equal rows
}

var contentSeed = maphash.MakeSeed()

// newCounts lists the rules of a revision. Rules that the revision before has as well keep
// their counts; roles that are shared with it cost nothing.
func newCounts(revision string, list tables.List, before *counts) *counts {
	roles, policies := new(ruleGroup), new(ruleGroup)
	c := &counts{revision: revision}
	if before != nil {
		earlier := *before
		earlier.earlier = nil
		c.earlier = &earlier
		roles, policies = before.groups[0], before.groups[1]
	}
	c.groups = []*ruleGroup{rolesOf(tables.Of[*tables.Access](list), roles), policiesOf(list, policies)}
	return c
}

// all returns the rules in the order of the tables.
func (c *counts) all() iter.Seq[*rule] {
	return func(yield func(*rule) bool) {
		for _, g := range c.groups {
			for _, r := range g.rules {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// rolesOf returns the rules of roles: the group of the revision before if it has the same.
func rolesOf(access *tables.Access, before *ruleGroup) *ruleGroup {
	l := newListing(before)
	if access == nil {
		return l.ruleGroup
	}
	same := 0
	for _, role := range access.Roles.All() {
		if _, isShared := before.roles[role]; isShared {
			same++
		}
	}
	if same == access.Roles.Len() && same == len(before.roles) {
		return before
	}
	for _, role := range access.Roles.All() {
		l.addRole(role)
	}
	return l.ruleGroup
}

// policiesOf returns the rules of policies.
func policiesOf(list tables.List, before *ruleGroup) *ruleGroup {
	l := newListing(before)
	if deny := tables.Of[*tables.Deny](list); deny != nil {
		for i := range deny.Policies {
			l.addDeny(&deny.Policies[i])
		}
	}
	if visibility := tables.Of[*tables.Visibility](list); visibility != nil {
		for i := range visibility.Policies {
			l.addVisibility(&visibility.Policies[i])
		}
	}
	if gateway := tables.Of[*tables.Gateway](list); gateway != nil {
		l.addGateway(gateway)
	}
	return l.ruleGroup
}

// listing is a group that is being made.
type listing struct {
	*ruleGroup
	before *ruleGroup          // of the revision before
	known  map[identity]*tally // of its rules; nil until it is needed
	added  map[identity]bool
}

func newListing(before *ruleGroup) *listing {
	return &listing{
		ruleGroup: &ruleGroup{matched: make(map[uint64]*tally), roles: make(map[*tables.Role][]*rule)},
		before:    before, added: make(map[identity]bool),
	}
}

// addRole adds the rules of a role.
func (l *listing) addRole(role *tables.Role) {
	first := len(l.rules)
	defer func() { l.roles[role] = l.rules[first:] }()
	if kept, ok := l.before.roles[role]; ok {
		for _, r := range kept {
			l.keep(r)
		}
		return
	}
	for i := range role.Kubernetes {
		r := role.Kubernetes[i]
		r.Rule, r.Source = 0, ""
		l.add(rule{kind: role.Kind, namespace: role.Namespace, name: role.Name, number: role.Kubernetes[i].Rule, source: role.Kubernetes[i].Source}, r)
	}
	for i := range role.Origin {
		r := role.Origin[i]
		r.Rule, r.Source = 0, ""
		l.add(rule{kind: role.Kind, namespace: role.Namespace, name: role.Name, number: role.Origin[i].Rule, source: role.Origin[i].Source}, r)
	}
}

// The kinds of policies.
const (
	kindDeny       = "DenyPolicy"
	kindVisibility = "MonitorAccessPolicy"
)

func (l *listing) addDeny(p *tables.DenyPolicy) {
	for _, r := range p.Rules {
		at := rule{kind: kindDeny, name: p.Name, number: r.Rule, source: r.Source}
		r.Rule, r.Source = 0, ""
		l.add(at, r)
	}
	for _, r := range p.Impersonation {
		at := rule{kind: kindDeny, name: p.Name, number: r.Rule, source: r.Source}
		r.Rule, r.Source = 0, ""
		l.add(at, r)
	}
	if p.Pod != nil {
		pod := *p.Pod
		pod.Source = ""
		l.add(rule{kind: kindDeny, name: p.Name, number: whole, source: p.Pod.Source}, pod)
	}
}

// whole is the number of a rule that is its document as a whole.
const whole = -1

func (l *listing) addVisibility(p *tables.VisibilityPolicy) {
	add := func(number int, r tables.VisibilityRule) {
		at := rule{kind: kindVisibility, namespace: p.Namespace, name: p.Name, number: number, source: r.Source}
		r.Source = ""
		l.add(at, r)
	}
	for i, r := range p.Rules {
		add(i, r)
	}
	if p.ByDefault != nil {
		add(whole, *p.ByDefault)
	}
}

// addGateway adds the rules that are in force on some path, each once.
func (l *listing) addGateway(g *tables.Gateway) {
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
			l.add(at, []any{r.Key, r.Value})
		}
	}
}

// add adds a rule with a tally: that of an equal rule of the revision before, or a new one.
func (l *listing) add(r rule, content any) {
	text, err := json.Marshal(content)
	if err != nil {
		text = []byte(r.source) // the content cannot be compared
	}
	r.id = identityOf(&r, text)
	for l.added[r.id] {
		r.id.equal++
	}
	l.added[r.id] = true
	if l.known == nil {
		l.known = make(map[identity]*tally, len(l.before.rules))
		for _, r := range l.before.rules {
			l.known[r.id] = r.tally
		}
	}
	if r.tally = l.known[r.id]; r.tally == nil {
		r.tally = new(tally)
	}
	l.keep(&r)
}

// keep adds a rule that has a tally.
func (l *listing) keep(r *rule) {
	l.rules = append(l.rules, r)
	l.matched[matchedKey(r.source, r.name, r.number)] = r.tally
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
		key := matchedKey(m.Source, name, m.Rule)
		for _, g := range c.groups {
			if t := g.matched[key]; t != nil {
				t.matched.Add(1)
				if i == 0 {
					t.decided.Add(1)
				}
				break
			}
		}
	}
}

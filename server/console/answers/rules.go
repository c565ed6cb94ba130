package answers

import (
	"encoding/json"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/tables"
)

// rule is a rule of documents with its tally.
type rule struct {
	kind, namespace, name string
	family                string // of a role; empty for policies
	number                int
	source                string
	content               any // a pointer into the tables, or what a gateway's rule consists of
	*tally
}

// view returns the rule with its counts.
func (r *rule) view() console.Rule {
	return console.Rule{
		Kind: r.kind, Namespace: r.namespace, Name: r.name, Family: r.family, Rule: r.number, Source: r.source,
		Decided: r.decided.Load(), Matched: r.matched.Load(),
	}
}

// key is the key of the rule's tally.
func (r *rule) key() uint64 { return matchedKey(r.source, r.name, r.number) }

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

var contentSeed = maphash.MakeSeed()

// identified returns rules with their identities. It has all rules of their documents.
func identified(rules iter.Seq[rule]) iter.Seq2[identity, rule] {
	return func(yield func(identity, rule) bool) {
		equal := make(map[identity]int)
		for r := range rules {
			id := identity{document: maphash.Comparable(contentSeed, [...]string{r.kind, r.namespace, r.name}), content: maphash.Bytes(contentSeed, r.text())}
			equal[id]++
			id.equal = equal[id]
			if !yield(id, r) {
				return
			}
		}
	}
}

// text returns the content of the rule as JSON, without its place and number.
func (r *rule) text() []byte {
	content := r.content
	switch c := content.(type) {
	case *tables.KubernetesRule:
		c2 := *c
		c2.Rule, c2.Source, content = 0, "", &c2
	case *tables.OriginRule:
		c2 := *c
		c2.Rule, c2.Source, content = 0, "", &c2
	case *tables.DenyRule:
		c2 := *c
		c2.Rule, c2.Source, content = 0, "", &c2
	case *tables.ImpersonationRule:
		c2 := *c
		c2.Rule, c2.Source, content = 0, "", &c2
	case *tables.PodSecurity:
		c2 := *c
		c2.Source, content = "", &c2
	case *tables.VisibilityRule:
		c2 := *c
		c2.Source, content = "", &c2
	}
	text, err := json.Marshal(content)
	if err != nil {
		return []byte(r.source) // the content cannot be compared
	}
	return text
}

// rolesOf returns the roles of tables, which may be nil.
func rolesOf(access *tables.Access) (roles tables.Map[tables.Role]) {
	if access != nil {
		roles = access.Roles
	}
	return roles
}

// rulesOf returns the rules of a role.
func rulesOf(role *tables.Role) iter.Seq[rule] {
	return func(yield func(rule) bool) {
		at := rule{kind: role.Kind, namespace: role.Namespace, name: role.Name, family: role.Family, tally: unmatched}
		for i := range role.Kubernetes {
			r := &role.Kubernetes[i]
			at.number, at.source, at.content = r.Rule, r.Source, r
			if !yield(at) {
				return
			}
		}
		for i := range role.Origin {
			r := &role.Origin[i]
			at.number, at.source, at.content = r.Rule, r.Source, r
			if !yield(at) {
				return
			}
		}
	}
}

// The kinds of policies.
const (
	kindDeny       = "DenyPolicy"
	kindVisibility = "MonitorAccessPolicy"
)

// whole is the number of a rule that is its document as a whole.
const whole = -1

// policyRules returns the rules of policies in the order of the tables.
func policyRules(list tables.List) (rules []rule) {
	deny, visibility := tables.OrEmpty(tables.Of[*tables.Deny](list)), tables.OrEmpty(tables.Of[*tables.Visibility](list))
	for i := range deny.Policies {
		rules = append(rules, denyRules(&deny.Policies[i])...)
	}
	for i := range visibility.Policies {
		rules = append(rules, visibilityRules(&visibility.Policies[i])...)
	}
	return slices.Clip(append(rules, gatewayRules(tables.OrEmpty(tables.Of[*tables.Gateway](list)))...))
}

func denyRules(p *tables.DenyPolicy) (rules []rule) {
	for i := range p.Rules {
		r := &p.Rules[i]
		rules = append(rules, rule{kind: kindDeny, name: p.Name, number: r.Rule, source: r.Source, content: r})
	}
	for i := range p.Impersonation {
		r := &p.Impersonation[i]
		rules = append(rules, rule{kind: kindDeny, name: p.Name, number: r.Rule, source: r.Source, content: r})
	}
	if p.Pod != nil {
		rules = append(rules, rule{kind: kindDeny, name: p.Name, number: whole, source: p.Pod.Source, content: p.Pod})
	}
	return rules
}

func visibilityRules(p *tables.VisibilityPolicy) (rules []rule) {
	at := rule{kind: kindVisibility, namespace: p.Namespace, name: p.Name}
	for i := range p.Rules {
		at.number, at.source, at.content = i, p.Rules[i].Source, &p.Rules[i]
		rules = append(rules, at)
	}
	if p.ByDefault != nil {
		at.number, at.source, at.content = whole, p.ByDefault.Source, p.ByDefault
		rules = append(rules, at)
	}
	return rules
}

// gatewayRules returns the rules that are in force on some path, each once.
func gatewayRules(g *tables.Gateway) (rules []rule) {
	seen := make(map[string]bool)
	for i := range g.Effective {
		for _, r := range g.Effective[i].Rules {
			if seen[r.Source] {
				continue
			}
			seen[r.Source] = true
			at := rule{number: whole, source: r.Source, content: []any{r.Key, r.Value}}
			if parts := strings.SplitN(r.Policy, "/", 3); len(parts) == 3 {
				at.kind, at.namespace, at.name = parts[0], parts[1], parts[2]
			}
			rules = append(rules, at)
		}
	}
	return rules
}

package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

const (
	gatewayFolder = "compiled/gateway/"
	kindAuth      = "AuthPolicy"
)

// Emit writes what the gateway point decides by: one module a Gateway with
// its listeners and routes, one a policy with its rules, one an effective policy
// that puts rules in their order, and the names of all gateways.
func Emit(lowered *tables.Gateway, o emit.Options) map[string][]byte {
	files := make(map[string][]byte)
	if lowered == nil || len(lowered.Gateways) == 0 {
		return files
	}
	g := &gatewayEmitter{
		tables: lowered,
		ids:    make(map[any]string),
		used:   make(map[string]bool),
		paths:  make(map[[2]int][]*tables.GatewayPath),
	}
	for i := range lowered.Paths {
		path := &lowered.Paths[i]
		listener := [2]int{path.Gateway, path.Listener}
		g.paths[listener] = append(g.paths[listener], path)
	}
	g.name()
	files[gatewayFolder+"gateways.rego"] = g.gatewayNames()
	for i := range lowered.Gateways {
		gateway := &lowered.Gateways[i]
		files[gatewayFolder+"gateways/"+emit.FileName(gateway.Namespace, gateway.Name)+".rego"] = g.routing(i)
	}
	maps.Copy(files, g.policyFiles())
	for index, id := range g.effective {
		if id != "" {
			files[gatewayFolder+"effective/"+id+".rego"] = g.effectiveModule(index)
		}
	}
	if o.Tests {
		maps.Copy(files, gatewayTests(lowered))
	}
	return files
}

// gatewayEmitter holds the names that generated modules call each other by.
type gatewayEmitter struct {
	tables *tables.Gateway
	// effective holds, for each effective policy of the tables, the name of its
	// module; empty where it restricts nothing or is not decided by.
	effective []string
	ids       map[any]string // by the meaning of a rule, which is its own
	used      map[string]bool
	rules     []namedRule
	paths     map[[2]int][]*tables.GatewayPath // by gateway and listener
}

// namedRule is a rule in force somewhere, and the name its evaluation has.
type namedRule struct {
	id   string
	rule *tables.EffectiveRule
}

// name gives effective policies and their rules names. An effective policy is
// named for its content, so that another policy's change does not rename it.
func (g *gatewayEmitter) name() {
	g.effective = make([]string, len(g.tables.Effective))
	for i := range g.tables.Effective {
		effective := &g.tables.Effective[i]
		if effective.Kind != kindAuth || restrictsNothing(effective) {
			continue
		}
		hash := sha256.New()
		for j := range effective.Rules {
			rule := &effective.Rules[j]
			id := g.ruleName(rule)
			fmt.Fprintf(hash, "%q %q %q\n", rule.Key, id, rule.Source)
		}
		g.effective[i] = "e" + hex.EncodeToString(hash.Sum(nil)[:10])
	}
}

// ruleName is the name of a rule's evaluation: its policy and key, numbered where
// the policy has several of that key.
func (g *gatewayEmitter) ruleName(rule *tables.EffectiveRule) string {
	if rule.Meaning == nil {
		return ""
	}
	if id, ok := g.ids[rule.Meaning]; ok {
		return id
	}
	own := rule.Policy + " " + rule.Key
	id := own
	for n := 2; g.used[id]; n++ { // a rule may itself be named "a 2"
		id = fmt.Sprintf("%s %d", own, n)
	}
	g.used[id] = true
	g.ids[rule.Meaning] = id
	g.rules = append(g.rules, namedRule{id, rule})
	return id
}

// restrictsNothing reports whether an effective policy has no rule but conditions
// and patterns, which restrict nothing by themselves.
func restrictsNothing(effective *tables.EffectivePolicy) bool {
	return !slices.ContainsFunc(effective.Rules, func(r tables.EffectiveRule) bool {
		return strings.HasPrefix(r.Key, "rules.")
	})
}

// policyFiles writes one module for each policy of which a rule is in force.
func (g *gatewayEmitter) policyFiles() map[string][]byte {
	byPolicy := make(map[string][]namedRule)
	for _, named := range g.rules {
		byPolicy[named.rule.Policy] = append(byPolicy[named.rule.Policy], named)
	}
	files := make(map[string][]byte)
	for _, policy := range slices.Sorted(maps.Keys(byPolicy)) {
		rules := byPolicy[policy]
		slices.SortFunc(rules, func(a, b namedRule) int { return strings.Compare(a.id, b.id) })
		m := newGatewayModule(policy)
		for _, named := range rules {
			m.policyRule(named)
		}
		names := policyNames(policy)
		files[gatewayFolder+names[0]+"-"+emit.FileName(names[1:]...)+".rego"] = m.file()
		maps.Copy(files, m.bodies)
	}
	return files
}

// policyNames returns the kind, in lower case, the namespace and the name of a
// policy's locator.
func policyNames(locator string) []string {
	names := strings.SplitN(locator, "/", 3)
	names[0] = strings.ToLower(names[0])
	return names
}

// gatewayNames writes the names of all gateways, by which a request without one is
// refused where there are several.
func (g *gatewayEmitter) gatewayNames() []byte {
	names := make([]string, len(g.tables.Gateways))
	for i, gateway := range g.tables.Gateways {
		names[i] = regotext.Quote(gateway.Namespace + "/" + gateway.Name)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `# METADATA
# description: |
#   Gateways, the policies attached to them and to their routes, and what these
#   come to on every path. Generated from the documents of the directory.
package compiled.gateway

# METADATA
# description: The gateways there are.
names := {%s}
`, strings.Join(names, ", "))
	return out.Bytes()
}

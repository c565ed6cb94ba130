package gateway

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// statedTest writes a test that the constants in modules of gateways and effective policies
// are those of the documents: listeners, matches and paths, and which rules are in force.
func (g *gatewayEmitter) statedTest() []byte {
	stated := make(map[string]any)
	names := make([]string, 0, len(g.tables.Gateways))
	listeners, paths := make(map[string]any), make(map[string]any)
	matches, grpc := make(map[string]any), make(map[string]any)
	for i := range g.tables.Gateways {
		gateway := &g.tables.Gateways[i]
		name := gateway.Namespace + "/" + gateway.Name
		names = append(names, name)
		listeners[name] = addresses(gateway)
		for j := range gateway.Listeners {
			routes, listener := g.listeners[[2]int{i, j}], name+"#"+gateway.Listeners[j].Name
			paths[listener], matches[listener] = routes.Paths, routes.Matches[tables.KindHTTPRoute]
			if list := routes.Matches[tables.KindGRPCRoute]; len(list) > 0 {
				grpc[listener] = grpcMatches(list)
			}
		}
	}
	slices.Sort(names)
	stated["names"], stated["places"], stated["listeners"] = slices.Compact(names), g.tables.Places(), listeners
	for key, members := range map[string]map[string]any{"paths": paths, "matches": matches, "grpc_matches": grpc} {
		if len(members) > 0 {
			stated[key] = members
		}
	}
	for i := range min(len(g.tables.Effective), emit.TestedRoles) {
		steps := g.tables.Effective[i].Steps
		if steps == nil {
			continue
		}
		of := "effective" + regotext.Key(steps.ID) + "."
		stated[of+"policies"], stated[of+"rules"] = steps.Policies, ruleLocators(steps.Authorization)
		stated[of+"authentication"] = slices.Concat([]tables.GatewayPlace{}, steps.Authentication)
		if steps.When != nil {
			stated[of+"condition"] = steps.When.Place()
		}
	}
	var out bytes.Buffer
	out.WriteString(`# METADATA
# description: |
#   The constants of gateways and effective policies are those of the documents.
package compiled.tests.gateway.stated_test

test_constant[name] if {
	some name, hash in _hashes
	_found[name] == hash
}
`)
	keys := slices.Sorted(maps.Keys(stated))
	for _, key := range keys {
		fmt.Fprintf(&out, "\n_found[%s] := %s\n", regotext.Quote(key), regotext.HashOf("data.compiled.gateway."+key))
	}
	out.WriteString("\n_hashes := {\n")
	for _, key := range keys {
		fmt.Fprintf(&out, "\t%s: %s,\n", regotext.Quote(key), regotext.Hash(stated[key]))
	}
	out.WriteString("}\n")
	return out.Bytes()
}

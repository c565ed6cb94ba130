package gateway

import (
	"bytes"
	"fmt"
	"maps"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

const gatewayFolder = "compiled/gateway/"

// BodyFolder is the folder of the Rego that authors wrote within policies.
const BodyFolder = gatewayFolder + "rego/"

// emitFiles writes what the gateway point decides by: one module a Gateway with
// its listeners and routes, one a policy with its rules, one an effective policy
// that puts rules in their order, and the names of all gateways.
func emitFiles(lowered *tables.Gateway, o emit.Options) map[string][]byte {
	files := make(map[string][]byte)
	if lowered == nil || len(lowered.Gateways) == 0 {
		return files
	}
	g := &gatewayEmitter{lowered, OrderRoutes(lowered)}
	files[gatewayFolder+"gateways.rego"] = g.gatewayNames()
	for i := range lowered.Gateways {
		gateway := &lowered.Gateways[i]
		files[gatewayFolder+"gateways/"+emit.FileName(gateway.Namespace, gateway.Name)+".rego"] = g.routing(i)
	}
	maps.Copy(files, g.policyFiles())
	for i := range lowered.Effective {
		if steps := lowered.Effective[i].Steps; steps != nil {
			files[gatewayFolder+"effective/"+steps.ID+".rego"] = effectiveModule(steps)
		}
	}
	if o.Tests {
		maps.Copy(files, gatewayTests(lowered))
		files["compiled/tests/gateway/stated_test.rego"] = g.statedTest()
	}
	return files
}

// gatewayEmitter has the tables, and those of the listeners by gateway and listener.
type gatewayEmitter struct {
	tables    *tables.Gateway
	listeners map[[2]int]*ListenerTable
}

// policyFiles writes one module for each policy of which a rule is in force.
func (g *gatewayEmitter) policyFiles() map[string][]byte {
	files := make(map[string][]byte)
	for rest := g.tables.NamedRules(); len(rest) > 0; {
		m := newGatewayModule(rest[0].Policy)
		for len(rest) > 0 && rest[0].Policy == m.policy {
			m.policyRule(rest[0])
			rest = rest[1:]
		}
		names := policyNames(m.policy)
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
// refused where there are several, those that routes of two kinds have, by which a
// request without the kind of its route is refused, and what decisions name that no
// policy makes.
func (g *gatewayEmitter) gatewayNames() []byte {
	names := elements.Map(g.tables.Gateways, func(gateway tables.GatewayObject) string {
		return regotext.Quote(gateway.Namespace + "/" + gateway.Name)
	})
	var twins []string
	for i, route := range g.tables.Routes {
		if i > 0 && g.tables.Routes[i-1].Namespace == route.Namespace && g.tables.Routes[i-1].Name == route.Name {
			twins = append(twins, regotext.Quote(route.Namespace+"/"+route.Name))
		}
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

# METADATA
# description: Where gateways, their listeners and the rules of routes are written.
places := %s
`, strings.Join(names, ", "), regotext.Indented(g.tables.Places()))
	if len(twins) > 0 {
		fmt.Fprintf(&out, `
# METADATA
# description: The names that an HTTPRoute and a GRPCRoute have.
twins := {%s}
`, strings.Join(twins, ", "))
	}
	return out.Bytes()
}

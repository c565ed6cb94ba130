package gateway

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// gatewayTestRow is one row of a gateway's test: a request and a part of the decision
// on it.
type gatewayTestRow struct {
	note    string
	Request map[string]any `json:"request"`
	Want    map[string]any `json:"want"`
}

// gatewayTests writes one file a gateway: for each path a request that takes it and
// the policies that are in effect there, a neighbour that takes none, and where the
// policy wants to know who asks, a request without an identity.
func gatewayTests(lowered *tables.Gateway) map[string][]byte {
	files := make(map[string][]byte)
	if lowered == nil {
		return files
	}
	rows := make(map[int][]gatewayTestRow)
	for i := range lowered.Paths[:min(len(lowered.Paths), emit.TestedRoles)] {
		path := &lowered.Paths[i]
		rows[path.Gateway] = append(rows[path.Gateway], pathRows(lowered, path)...)
	}
	for _, index := range slices.Sorted(maps.Keys(rows)) {
		gateway := &lowered.Gateways[index]
		name := emit.FileName(gateway.Namespace, gateway.Name)
		files["compiled/tests/gateway/"+name+"_test.rego"] = gatewayTestModule(gateway, name, rows[index])
	}
	ruleTests(lowered, files)
	chainTests(lowered, files)
	return files
}

func pathRows(lowered *tables.Gateway, path *tables.GatewayPath) []gatewayTestRow {
	gateway, route := &lowered.Gateways[path.Gateway], &lowered.Routes[path.Route]
	listener, rule := &gateway.Listeners[path.Listener], &route.Rules[path.Rule]
	asked := func(rule string, identity bool) map[string]any {
		request := map[string]any{
			"gateway": map[string]string{"namespace": gateway.Namespace, "name": gateway.Name, "listener": listener.Name},
			"route":   map[string]string{"kind": route.Kind, "namespace": route.Namespace, "name": route.Name, "rule": rule},
			"request": map[string]string{"host": "writ.example", "method": "GET", "path": "/"},
		}
		if identity {
			request["auth"] = map[string]any{"identity": map[string]string{"sub": "writ:user"}}
		}
		return request
	}
	name := lowered.PathName(*path)
	steps := lowered.Effective[path.Effective[tables.KindAuthPolicy]].Steps
	rows := []gatewayTestRow{
		{name, asked(rule.Name, true), map[string]any{
			"policies": elements.NotNil(tables.OrEmpty(steps).Policies),
			"target": map[string]string{
				"gateway": "Gateway/" + gateway.Namespace + "/" + gateway.Name + "#" + listener.Name,
				"route":   lowered.RuleName(*path),
			},
		}},
		{"no path beside " + name, asked("writ-other-rule", true), map[string]any{"allowed": false, "status": 404}},
	}
	if requiresIdentity(steps) {
		rows = append(rows, gatewayTestRow{"without an identity on " + name, asked(rule.Name, false), map[string]any{
			"allowed": false, "denied": true, "matched": []string{},
		}})
	}
	return rows
}

// requiresIdentity reports whether the policy denies each request without an identity.
func requiresIdentity(steps *tables.GatewaySteps) bool {
	return steps != nil && steps.When == nil && steps.Authenticates && len(steps.Anonymous) == 0
}

// rowsInTest is how many rows one test has: opa test ends a test after five seconds, and a
// row takes tens of milliseconds where there are hundreds of policies.
const rowsInTest = 20

func gatewayTestModule(gateway *tables.GatewayObject, name string, rows []gatewayTestRow) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `# METADATA
# description: |
#   What the paths through one gateway come to, and what is beside them. Generated
#   from Gateway %s and the routes and policies below it.
package compiled.tests.gateway[%s]

_got(row) := decision if {
	decision := data.writ.gateway.decision with input as row.request
}
`, regotext.Comment(gateway.Namespace+"/"+gateway.Name), regotext.Quote(name+"_test"))
	number := 0
	for part := range slices.Chunk(rows, rowsInTest) {
		number++
		fmt.Fprintf(&out, `
test_path_%[1]d[note] if {
	some note, row in _rows_%[1]d
	got := _got(row)
	every key, value in row.want {
		got[key] == value
	}
}
`, number)
		emit.WriteRows(&out, fmt.Sprintf("_rows_%d", number), part, func(row gatewayTestRow) (string, any) { return row.note, row })
	}
	return out.Bytes()
}

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
	hashes := make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(stated)) {
		fmt.Fprintf(&out, "\n_found[%s] := %s\n", regotext.Quote(key), regotext.HashOf("data.compiled.gateway."+key))
		hashes[key] = regotext.Hash(stated[key])
	}
	emit.WriteMap(&out, "_hashes", hashes)
	return out.Bytes()
}

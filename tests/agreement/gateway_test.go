package agreement

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle/gateway"
)

// gatewayWorlds are random worlds with gateways and their policies.
func gatewayWorlds() int { return gate.Times(2) }

// A world of the point gateway is asked fewer requests than others, so that there
// are more of them; OPA, which has to compile each, knows only one of stockWorldEvery.
const (
	requestsPerGateway = 250
	stockWorldEvery    = 2
)

func TestEngineAndOPAAndOracleAgreeOnGateways(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for seed := firstWorld(); seed < firstWorld()+uint64(gatewayWorlds()); seed++ {
		files, world := gateway.Generate(seed)
		bundle := build(t, seed, files)
		engines := bothWays(t, bundle, []string{decision.Gateway}, engine.Options{})
		embedded, whole := engines[0], engines[1]
		var stock *rego.PreparedEvalQuery
		if seed%stockWorldEvery == 0 {
			query := stockPoint(t, bundle, "gateway")
			stock = &query
		}
		for i, request := range world.Requests(requestsPerGateway) {
			want := treeOfGate(t, world.Decide(request))
			got := guarded(t, embedded, request.JSON())
			if why := unequal(got, want, "engine"); why != "" {
				t.Fatalf("world %d, request %d: %s\n%s", seed, i, why, reduced(t, seed, world, request))
			}
			if stock != nil && i%stockEvery == 0 {
				if why := unequal(guardedByStock(t, *stock, request.JSON()), want, "OPA"); why != "" {
					t.Fatalf("world %d, request %d: %s\n%s", seed, i, why, reduced(t, seed, world, request))
				}
				if why := unequal(guarded(t, whole, request.JSON()), want, "engine by OPA"); why != "" {
					t.Fatalf("world %d, request %d: %s\n%s", seed, i, why, reduced(t, seed, world, request))
				}
			}
			countGate(want.(map[string]any), count)
		}
	}
	t.Logf("worlds %d to %d: %v", firstWorld(), firstWorld()+uint64(gatewayWorlds())-1, count)
	wanted := []string{"200", "403", "404", "allow", "deny", "skip"}
	if gatewayWorlds() >= 20 {
		wanted = append(wanted, "401", "gateway_required", "unknown_gateway")
	}
	if gatewayWorlds() >= 100 { // few worlds have these
		wanted = append(wanted, "conflict", "error", "headers", "metadata")
	}
	for _, what := range wanted {
		if count[what] == 0 {
			t.Errorf("no request came to %s: %v", what, count)
		}
	}
}

// guarded is what the engine says, but for what the specification leaves free.
func guarded(t *testing.T, e *engine.Engine, text string) any {
	t.Helper()
	request, err := decision.DecodeGateway([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	d, refused := e.Gateway(context.Background(), request)
	if refused != nil {
		return map[string]any{"error": refused.Code}
	}
	if d.EvaluationError != "" {
		t.Fatalf("%s: %s", text, d.EvaluationError)
	}
	return settled(t, d)
}

func guardedByStock(t *testing.T, query rego.PreparedEvalQuery, text string) any {
	t.Helper()
	result, err := query.Eval(context.Background(), rego.EvalInput(tree(t, []byte(text))))
	if err != nil || len(result) != 1 {
		t.Fatalf("%s: %v, %v", text, result, err)
	}
	return settled(t, result[0].Expressions[0].Value)
}

// settled is a decision without its free text.
func settled(t *testing.T, d any) any {
	t.Helper()
	decided := tree(t, []byte(written(t, d))).(map[string]any)
	if refused, ok := decided["error"].(map[string]any); ok {
		return map[string]any{"error": refused["code"]}
	}
	delete(decided, "reason")
	return decided
}

func treeOfGate(t *testing.T, d gateway.Decision) any {
	t.Helper()
	if d.Error != "" {
		return map[string]any{"error": d.Error}
	}
	named := func(list []gateway.GateMatched) []any {
		out := []any{}
		for _, m := range list {
			out = append(out, map[string]any{"kind": m.Kind, "namespace": m.Namespace, "name": m.Name, "rule": m.Rule, "source": m.Source})
		}
		return out
	}
	decided := map[string]any{
		"allowed": d.Allowed, "denied": d.Denied, "status": d.Status, "policies": append([]string{}, d.Policies...),
		"warnings": append([]string{}, d.Warnings...),
		"rules":    d.Rules, "matched": named(d.Matched), "decidedBy": named(d.Deciding), "headers": d.Headers, "metadata": d.Metadata,
	}
	if d.Route != "" {
		decided["target"] = map[string]any{"gateway": d.Gateway, "route": d.Route}
	}
	if r := d.Response; r != nil {
		decided["response"] = map[string]any{"code": r.Code, "message": r.Message, "headers": r.Headers, "body": r.Body}
	}
	return tree(t, []byte(written(t, decided)))
}

func countGate(d map[string]any, count map[string]int) {
	if problem, ok := d["error"].(string); ok {
		count[problem]++
		return
	}
	count[d["status"].(json.Number).String()]++
	if len(d["warnings"].([]any)) > 0 {
		count["conflict"]++
	}
	for _, said := range d["rules"].(map[string]any) {
		count[said.(string)]++
	}
	for _, key := range []string{"headers", "metadata"} {
		if len(d[key].(map[string]any)) > 0 {
			count[key]++
		}
	}
}

// reduced is an archive of as little as still tells a request apart, with both
// answers.
func reduced(t *testing.T, seed uint64, world *gateway.World, request *gateway.Request) string {
	t.Helper()
	var got, want any
	differs := func(files map[string]string) bool {
		bundle, err := tryBuild(files)
		if err != nil {
			return false
		}
		embedded, err := engine.Activate(context.Background(), bundle, engine.Options{})
		if err != nil {
			return false
		}
		given, wanted := guarded(t, embedded, request.JSON()), treeOfGate(t, world.Decide(request))
		if unequal(given, wanted, "") == "" {
			return false
		}
		got, want = given, wanted
		return true
	}
	files := world.Reduce(request, differs)
	var out strings.Builder
	for path, content := range files {
		fmt.Fprintf(&out, "-- %s --\n%s", path, content)
	}
	fmt.Fprintf(&out, "-- request --\n%s\n-- engine --\n%s\n-- oracle --\n%s\n", request.JSON(), written(t, got), written(t, want))
	return out.String()
}

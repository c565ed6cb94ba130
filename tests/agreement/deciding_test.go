package agreement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/oracle/gateway"
	"github.com/writ-policy/writ/translator/diag"
)

// denialsPerWorld is how many denials of a world are followed: each builds bundles.
const denialsPerWorld = 4

// Each decision at the gateway point names lines, and what stands there is what it names.
// Without the policies that a denial names, again and again, no policy denies the request.
func TestTheLinesOfAGatewayDecisionDecideIt(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for seed := firstWorld(); seed < firstWorld()+uint64(max(4, gatewayWorlds())); seed++ {
		files, world := gateway.Generate(seed)
		decide, ok := decider(t, files)
		if !ok {
			t.Fatalf("world %d does not compile", seed)
		}
		followed := 0
		for i, request := range world.Requests(requestsPerGateway) {
			d, refused := decide(request)
			if refused {
				continue
			}
			checkLines(t, seed, i, files, &d)
			count[fmt.Sprint(d.Status)]++
			if d.Denied && followed < denialsPerWorld {
				followed++
				undeny(t, seed, world, request, d, count)
			}
		}
	}
	t.Log(count)
	wanted := []string{"200", "403", "404", "removed"}
	if gatewayWorlds() >= 20 {
		wanted = append(wanted, "401")
	}
	for _, status := range wanted {
		if count[status] == 0 {
			t.Errorf("no decision has %s: %v", status, count)
		}
	}
}

// decider returns what decides requests by documents, false if they do not compile.
func decider(t *testing.T, files map[string]string) (decide func(*gateway.Request) (d decision.GatewayDecision, refused bool), ok bool) {
	t.Helper()
	bundle, err := tryBuild(files)
	if err != nil {
		return nil, false
	}
	e, err := engine.Activate(context.Background(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return func(request *gateway.Request) (decision.GatewayDecision, bool) {
		r, err := decision.DecodeGateway([]byte(request.JSON()))
		if err != nil {
			t.Fatal(err)
		}
		d, refused := e.Gateway(context.Background(), r)
		return d, refused != nil
	}, true
}

// checkLines checks that a decision names lines, each with the name of what it is.
func checkLines(t *testing.T, seed uint64, i int, files map[string]string, d *decision.GatewayDecision) {
	t.Helper()
	if len(d.Deciding) == 0 {
		t.Fatalf("world %d, request %d: the decision names no line: %s", seed, i, d.AppendJSON(nil))
	}
	for _, m := range d.Deciding {
		at, ok := diag.ParseSource(m.Source)
		lines := strings.Split(files[at.File], "\n")
		if !ok || at.Line < 1 || at.Line > len(lines) {
			t.Fatalf("world %d, request %d: %q is not a line", seed, i, m.Source)
		}
		// The line of a policy's rule has the rule's key, that of a gateway its kind.
		want := m.Kind
		if strings.HasSuffix(m.Kind, "Policy") {
			want = m.Rule[strings.LastIndex(m.Rule, ".")+1:]
		}
		if (strings.HasSuffix(m.Kind, "Policy") || m.Rule == "") && !strings.Contains(lines[at.Line-1], want) {
			t.Fatalf("world %d, request %d: %s does not have %q: %s", seed, i, m.Source, want, lines[at.Line-1])
		}
	}
}

// undeny removes the policies that a denial names until the request is not denied.
func undeny(t *testing.T, seed uint64, world *gateway.World, request *gateway.Request, d decision.GatewayDecision, count map[string]int) {
	t.Helper()
	all := world.Policies
	defer func() { world.Policies = all }()
	for d.Denied {
		before := len(world.Policies)
		world.Policies = slices.DeleteFunc(slices.Clone(world.Policies), func(p *gateway.Policy) bool {
			return slices.ContainsFunc(d.Deciding, func(m decision.MatchedRule) bool {
				return m.Kind == p.Kind && m.Namespace == p.Namespace && m.Name == p.Name
			})
		})
		if len(world.Policies) == before {
			t.Fatalf("world %d: the denial names no policy that there is: %s", seed, d.AppendJSON(nil))
		}
		decide, ok := decider(t, world.Again(1))
		if !ok {
			count["refused"]++ // another policy refers to a pattern of the removed one
			return
		}
		d, _ = decide(request)
	}
	count["removed"]++
}

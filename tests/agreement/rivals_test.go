package agreement

import (
	"context"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/oracle/gateway"
)

// A route of another namespace that is nowhere more specific, whatever its name and
// its creationTimestamp, never turns a denied request into an allowed one. A request
// that names its route gets the same decision.
func TestRivalsTakeNoPath(t *testing.T) {
	t.Parallel()
	denied, conflicts := 0, 0
	few, many := firstWorld()+uint64(max(2, gatewayWorlds()/2)), firstWorld()+20
	for seed := firstWorld(); seed < few || seed < many && denied*conflicts == 0; seed++ { // some deny nothing
		files, world := gateway.Generate(seed)
		before := activateGateway(t, seed, files)
		world.AddRivals("aaa")
		after := activateGateway(t, seed, world.Again(1))
		for i, request := range world.Requests(requestsPerGateway) {
			was := gatewayDecision(t, before, request.JSON())
			if was == nil || !was.Denied {
				continue
			}
			is := gatewayDecision(t, after, request.JSON())
			if is == nil {
				continue
			}
			denied++
			conflicts += len(is.Warnings)
			if is.Allowed || !is.Denied {
				t.Fatalf("world %d, request %d: denied before, not any more\n%s\n%s", seed, i, request.JSON(), written(t, is))
			}
			if request.Input["route"] != nil && written(t, was.Rules) != written(t, is.Rules) {
				t.Fatalf("world %d, request %d: another decision on a named route\n%s\n%s", seed, i, written(t, was), written(t, is))
			}
		}
	}
	if denied == 0 || conflicts == 0 {
		t.Errorf("got %d denied requests and %d conflicts, want both", denied, conflicts)
	}
}

func activateGateway(t *testing.T, seed uint64, files map[string]string) *engine.Engine {
	t.Helper()
	e, err := engine.Activate(context.Background(), build(t, seed, files), engine.Options{})
	if err != nil {
		t.Fatalf("world %d: %v", seed, err)
	}
	return e
}

// gatewayDecision is nil for an invalid request.
func gatewayDecision(t *testing.T, e *engine.Engine, text string) *decision.GatewayDecision {
	t.Helper()
	request, err := decision.DecodeGateway([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	d, refused := e.Gateway(context.Background(), request)
	if refused != nil {
		return nil
	}
	return &d
}

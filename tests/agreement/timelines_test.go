package agreement

import (
	"context"
	"flag"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/random"
)

var timelines = flag.Int("timelines", 2, "random worlds with dates, decided at the instants around each bound")

// Requests and instants of one world, and how many of the decisions a stock OPA makes too:
// one of so many.
const (
	requestsOnTimeline = 150
	stepsOnTimeline    = 12
	stockOnTimeline    = 25
)

// TestTimelines wants the engine, a stock OPA and the oracle to decide alike around each
// instant at which a document begins or ends, and a cache to answer as the engine does while
// the clock goes forth and back.
func TestTimelines(t *testing.T) {
	t.Parallel()
	instants := access.Instants()
	differ, kept := 0, 0
	for seed := *firstWorld; seed < *firstWorld+uint64(*timelines); seed++ {
		files, world := access.GenerateDated(seed)
		bundle := build(t, seed, files)
		now := instants[0]
		clock := func() time.Time { return now }
		embedded, err := engine.Activate(context.Background(), bundle, engine.Options{Now: clock})
		if err != nil {
			t.Fatalf("world %d: %v", seed, err)
		}
		cached := cache.New(cache.Options{Entries: 10_000, Now: clock}, metrics.New()).Of(embedded)
		stock := stockOPA(t, bundle)
		g := random.New(seed, 10)
		for i, request := range world.Requests(requestsOnTimeline) {
			text := request.JSON()
			seen := make(map[string]bool)
			at := g.IntN(len(instants))
			for step := range stepsOnTimeline {
				if g.Once(4) {
					at = g.IntN(len(instants))
				} else {
					at = (at + 1) % len(instants)
				}
				now = instants[at]
				world.Now = now
				where := fmt.Sprintf("world %d, request %d at %s %s", seed, i, now.Format(time.RFC3339Nano), text)
				want := ofOracle(world.Decide(request))
				got, _ := ofEngine(t, embedded, text)
				if !begin(got.Warnings, want.Warnings) {
					t.Fatalf("%s\nengine %q\noracle %q", where, got.Warnings, want.Warnings)
				}
				if want.Warnings = got.Warnings; !reflect.DeepEqual(got, want) {
					t.Fatalf("%s\nengine %+v\noracle %+v", where, got, want)
				}
				seen[got.outcome()+got.Reason] = true
				if r, err := decision.Decode([]byte(text)); err == nil {
					d := cached.Access(context.Background(), r)
					if of := ofDecision(d); !reflect.DeepEqual(of, got) {
						t.Fatalf("%s\ncache  %+v\nengine %+v", where, of, got)
					}
					if d.Cached {
						kept++
					}
				}
				if (i*stepsOnTimeline+step)%stockOnTimeline == 0 {
					if of := ofStockAt(t, stock, text, now); !reflect.DeepEqual(of, got) {
						t.Fatalf("%s\nOPA    %+v\nengine %+v", where, of, got)
					}
				}
			}
			if len(seen) > 1 {
				differ++
			}
		}
	}
	if differ == 0 || kept == 0 {
		t.Errorf("the time changed %d decisions, and %d were cached", differ, kept)
	}
	t.Logf("the time changed the decisions on %d requests; %d decisions were cached", differ, kept)
}

// ofStockAt is ofStock at an instant.
func ofStockAt(t *testing.T, query rego.PreparedEvalQuery, text string, now time.Time) answer {
	t.Helper()
	return ofStock(t, query, text, rego.EvalTime(now))
}

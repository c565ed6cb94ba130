package agreement

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/answers"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/oracle/visibility"
)

// What the explanation says of each item is what the oracle decides.
func TestExplainedItemsAreTheVisibleOnes(t *testing.T) {
	t.Parallel()
	shown, hidden := 0, make(map[string]int)
	for seed := firstWorld(); seed < firstWorld()+uint64(visibilityWorlds()); seed++ {
		files, views := visibility.Generate(seed)
		bundle := build(t, seed, files)
		var now time.Time
		clock := func() time.Time { return now }
		embedded, err := engine.Activate(context.Background(), bundle, engine.Options{Now: clock})
		if err != nil {
			t.Fatalf("world %d: %v", seed, err)
		}
		x := answers.New(answers.Options{Current: func() decision.Policies { return embedded }, Now: clock})
		x.Activate(bundle)
		for i, request := range views.Requests(requestsPerWorld / 4) {
			now = request.Now
			e, err := x.Now().Explain(t.Context(), console.Caller{SeesAll: true}, decision.Visibility, []byte(request.JSON()), now)
			if err != nil {
				t.Fatalf("world %d, request %d: %v", seed, i, err)
			}
			if request.Items == nil {
				continue
			}
			visible := []int{}
			for n, item := range e.Items {
				if item.Shown {
					visible, shown = append(visible, n), shown+1
				} else {
					hidden[item.HiddenBy]++
				}
			}
			want := views.Decide(request).Visible
			var d struct{ Visible []int }
			if err := json.Unmarshal(e.Decision, &d); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(visible, want) || !slices.Equal(d.Visible, visible) {
				t.Fatalf("world %d, request %d %s\nexplained %v, decided %v, oracle %v", seed, i, request.JSON(), visible, d.Visible, want)
			}
		}
	}
	if shown == 0 || len(hidden) < 8 {
		t.Errorf("%d items are shown, and the others are hidden by %v", shown, hidden)
	}
}

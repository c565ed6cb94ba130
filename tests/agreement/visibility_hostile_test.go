package agreement

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/oracle/visibility"
)

// hostileLeaves replace values of requests: other types, numbers in other spellings and at
// the ends of their range, and texts that look like others.
var hostileLeaves = []string{
	`null`, `true`, `""`, `" "`, `"0"`, `"1"`, `"true"`, `"*"`, `"^.*$"`, `"[a"`, `"\u0000"`, `"a\nb"`, `"K"`, `"\u017f"`, `"e\u0301"`, `"é"`, `"\ud83d\ude00"`, `"\u202e"`,
	`0`, `-0`, `1`, `1.0`, `10e-1`, `1e0`, `0.1`, `-1`, `9007199254740993`, `9007199254740992`, `123456789012345678901234567890`, `1e308`, `1e-320`, `1e40`,
	`[]`, `{}`, `[[]]`, `[null]`, `["a", 1]`, `{"": null}`, `{"name": "a"}`, `"2026-01-01T00:00:00Z"`, `"10Gi"`, `"1e3"`, `"500m"`,
}

// hostile changes a few values of a request, and adds and removes a few members.
func hostile(random *rand.Rand, value any) any {
	leaf := func() any {
		if random.IntN(12) == 0 {
			return strings.Repeat("a", 5000)
		}
		var v any
		decoder := json.NewDecoder(strings.NewReader(hostileLeaves[random.IntN(len(hostileLeaves))]))
		decoder.UseNumber()
		_ = decoder.Decode(&v)
		return v
	}
	if random.IntN(25) == 0 {
		return leaf()
	}
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if random.IntN(40) > 0 {
				out[key] = hostile(random, value[key])
			}
		}
		if random.IntN(40) == 0 && len(out) > 0 {
			keys := slices.Sorted(maps.Keys(out))
			out[keys[random.IntN(len(keys))]] = leaf()
		}
		return out
	case []any:
		out := make([]any, 0, len(value))
		for _, item := range value {
			out = append(out, hostile(random, item))
			if random.IntN(60) == 0 {
				out = append(out, leaf())
			}
		}
		return out
	}
	return value
}

// rounded is a tree in which numbers need to be only about what they are: both sides compute
// with floats, in another order.
func rounded(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, member := range value {
			out[key] = rounded(member)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = rounded(item)
		}
		return out
	case json.Number:
		if n, ok := worth(value); ok {
			return visibility.Number{Rat: n, About: true}
		}
	}
	return value
}

// Requests with values that no document expects are decided alike by the engine and by stock
// OPA, unless the engine rejects them as malformed.
func TestHostileRequestsAgreeOnVisibility(t *testing.T) {
	t.Parallel()
	var decided, malformed int
	for seed := firstWorld(); seed < firstWorld()+uint64(visibilityWorlds()); seed++ {
		files, views := visibility.Generate(seed)
		bundle := build(t, seed, files)
		var now time.Time
		embedded, err := engine.Activate(context.Background(), bundle, engine.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		stock := stockPoint(t, bundle, "visibility")
		random := rand.New(rand.NewPCG(seed, 7))
		for i, request := range views.Requests(requestsPerWorld) {
			now = request.Now
			text := written(t, hostile(random, tree(t, []byte(request.JSON()))))
			parsed, err := decodeVisibility([]byte(text))
			if err != nil {
				malformed++
				continue
			}
			d := decision.DecideVisibility(context.Background(), embedded, parsed, embedded.Visibility(context.Background(), parsed))
			of := viewOfStock(t, stock, text, now)
			if d.EvaluationError != "" {
				t.Fatalf("world %d, request %d at %s %.2000s\nengine: %s\nOPA %s", seed, i, now, text, d.EvaluationError, written(t, of))
			}
			if why := unequal(tree(t, d.AppendJSON(nil)), rounded(of), "engine"); why != "" {
				t.Fatalf("world %d, request %d at %s %.3000s\n%.2000s", seed, i, now, text, why)
			}
			decided++
		}
	}
	if decided < 100 || malformed == 0 {
		t.Errorf("got %d decisions and %d malformed requests", decided, malformed)
	}
	t.Logf("%d decided, %d malformed", decided, malformed)
}

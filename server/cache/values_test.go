package cache

import (
	"errors"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Values are kept with their revision, until they end; what fails is made again.
func TestValues(t *testing.T) {
	now := time.Unix(1000, 0)
	c := New(Options{Entries: 100, Now: func() time.Time { return now }}, metrics.New())
	p := newPolicies("a")
	made := 0
	var failure error
	keep := func(key string, ends time.Time) int {
		t.Helper()
		cached := c.Of(p).(decision.ValueCache)
		v, err := cached.Value(t.Context(), key, func() (decision.CachedValue, error) {
			made++
			return decision.CachedValue{Value: made, Bytes: 10, Expires: ends}, failure
		})
		if !errors.Is(err, failure) {
			t.Fatalf("got the error %v, want %v", err, failure)
		}
		return v.(int)
	}
	for i, step := range []struct {
		key    string
		change func()
		want   int
	}{
		{"k", func() {}, 1},
		{"k", func() {}, 1},
		{"l", func() {}, 2},
		{"k", func() { now = now.Add(9 * time.Second) }, 1},
		{"k", func() { now = now.Add(time.Second) }, 3}, // it ended
		{"k", func() {}, 4},                                // what ends now is not kept
		{"m", func() { p.revision.Store("b") }, 5},         // another revision
		{"l", func() { failure = errors.New("fails") }, 6}, // nor is what fails
		{"l", func() {}, 7},
	} {
		if step.change(); keep(step.key, time.Unix(1010, 0)) != step.want {
			t.Errorf("step %d: got the value %d, want %d", i, made, step.want)
		}
	}
}

// A value is not used before the instant at which it was made: a clock that is set back finds
// documents that had ended then.
func TestValuesAreOfTheirTime(t *testing.T) {
	now := time.Unix(1000, 0)
	c := New(Options{Entries: 100, Now: func() time.Time { return now }}, metrics.New())
	p := newPolicies("a")
	made := 0
	for _, step := range []struct{ seconds, want int64 }{{1000, 1}, {1001, 1}, {999, 2}, {1001, 2}} {
		now = time.Unix(step.seconds, 0)
		v, err := c.Of(p).(decision.ValueCache).Value(t.Context(), "k", func() (decision.CachedValue, error) {
			made++
			return decision.CachedValue{Value: made, Bytes: 10}, nil
		})
		if err != nil || int64(v.(int)) != step.want {
			t.Errorf("at %d: got the value %v, %v, want %d", step.seconds, v, err, step.want)
		}
	}
}

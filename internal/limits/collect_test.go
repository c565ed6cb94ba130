package limits

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestGrowthPercent(t *testing.T) {
	for _, row := range []struct{ growth, live, want uint64 }{
		{128 << 20, 0, 3200}, {128 << 20, 64 << 20, 200}, {128 << 20, 128 << 20, 100}, {128 << 20, 1 << 30, 100},
	} {
		if got := growthPercent(row.growth, row.live); got != row.want {
			t.Errorf("%d bytes of %d: got %d %%, want %d", row.growth, row.live, got, row.want)
		}
	}
}

// The percentage follows the heap: it falls to 100 when the heap is large, and rises again.
func TestCollectionsFollowTheHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	(&collections{growth: 32 << 20}).adjust()
	percent := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	reach := func(what string, ok func(uint64) bool) {
		t.Helper()
		for began := time.Now(); !ok(percent()); runtime.GC() {
			if time.Since(began) > time.Minute {
				t.Fatalf("%s: got %d %%", what, percent())
			}
		}
	}
	reach("a small heap", func(p uint64) bool { return p > 200 })
	large := make([]byte, 64<<20)
	reach("a large heap", func(p uint64) bool { return p == 100 })
	runtime.KeepAlive(large)
	reach("a small heap again", func(p uint64) bool { return p > 200 })
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// What a start leaves is collected although nothing is allocated afterwards.
func TestCollectLater(t *testing.T) {
	collected := make(chan struct{})
	garbage := new([1 << 10]byte)
	runtime.SetFinalizer(garbage, func(*[1 << 10]byte) { close(collected) })
	collectLater(func() {})
	select {
	case <-collected:
	case <-time.After(time.Minute):
		t.Error("nothing is collected")
	}
}

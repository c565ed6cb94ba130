package limits

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercentOfHeap(t *testing.T) {
	serving, starting := pace{128 << 20, 100, 512 << 20, 50, 0}, pace{0, 50, 64 << 20, 20, 96 << 20}
	for _, row := range []struct {
		pace
		live, want uint64
	}{
		{serving, 0, 3200}, {serving, 64 << 20, 200}, {serving, 128 << 20, 100}, {serving, 512 << 20, 100}, {serving, 800 << 20, 64}, {serving, 4 << 30, 50},
		{starting, 0, 2300}, {starting, 32 << 20, 200}, {starting, 64 << 20, 50}, {starting, 96 << 20, 50}, {starting, 256 << 20, 25}, {starting, 1 << 30, 20},
	} {
		if got := row.percentOf(row.live); got != row.want {
			t.Errorf("%+v, %d bytes: got %d %%, want %d", row.pace, row.live, got, row.want)
		}
	}
}

// The percentage follows the heap: it falls to 100 when the heap is large, and rises again.
func TestCollectionsFollowTheHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	new(collections).set(pace{least: 32 << 20, percent: 100, most: 1 << 30})
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

// A heap that may grow to some size has a limit of memory above it, and none higher than that of the program;
// the next pace has none of its own.
func TestCollectionsLimitMemory(t *testing.T) {
	before, percent := debug.SetMemoryLimit(1<<40), debug.SetGCPercent(100)
	t.Cleanup(func() {
		debug.SetMemoryLimit(before)
		debug.SetGCPercent(percent)
	})
	var c collections
	for _, row := range []struct {
		pace
		least, most int64
	}{{pace{percent: 50, heap: 256 << 20}, 256 << 20, 384 << 20}, {pace{percent: 50, heap: 2 << 40}, 1 << 40, 1 << 40}, {pace{percent: 100}, 1 << 40, 1 << 40}} {
		c.set(row.pace)
		if got := debug.SetMemoryLimit(-1); got < row.least || got > row.most {
			t.Errorf("%+v: got a limit of %d, want one from %d to %d", row.pace, got, row.least, row.most)
		}
	}
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

package limits

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// CollectAfter lets the heap grow by at least so many bytes between two garbage
// collections. By itself Go collects when the heap has doubled, which a small server does
// every few thousand requests: then a fifth of its CPU time is collection. A memory limit
// holds as before, and heaps that are larger are collected as before. Only the first call
// has an effect, and none has if the environment sets GOGC.
//
// The first call also collects once, shortly afterwards. Much of what a start needs is
// garbage then, and the heap would otherwise grow to twice its size with it.
func CollectAfter(growth uint64) {
	if os.Getenv("GOGC") == "" {
		watchOnce.Do(func() {
			isStarted.Store(true)
			collectLater(func() { (&collections{growth: growth}).adjust() })
		})
	}
}

// CollectSeldom makes Go collect when the heap is two and a half times as large. It is for a start that
// decodes files: that makes most of the garbage, and the peak of memory comes later.
func CollectSeldom() { collectAt(150) }

// CollectOften makes Go collect when the heap has grown by half. It is for the rest of a start,
// which keeps most of what it allocates.
func CollectOften() { collectAt(50) }

// collectAt sets the percentage until CollectAfter does, unless the environment sets it.
func collectAt(percent int) {
	if os.Getenv("GOGC") == "" && !isStarted.Load() {
		debug.SetGCPercent(percent)
	}
}

var isStarted atomic.Bool

// collectLater collects once, when what a start was made of is garbage, and calls then.
func collectLater(then func()) {
	time.AfterFunc(afterStart, func() {
		runtime.GC()
		then()
	})
}

// afterStart is how long after the first revision a server keeps what it was made of.
const afterStart = time.Second

var watchOnce sync.Once

// collections is an object that only its finalizer refers to, which therefore runs after
// each collection.
type collections struct{ growth, percent uint64 }

// adjust sets how much the heap may grow until the next collection.
func (c *collections) adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	// Setting the percentage stops the program shortly: small differences are left.
	if percent := growthPercent(c.growth, live[0].Value.Uint64()); percent*10 < c.percent*9 || percent*9 > c.percent*10 {
		c.percent = percent
		debug.SetGCPercent(int(percent))
	}
	runtime.SetFinalizer(c, (*collections).adjust)
}

// growthPercent is growth as percentage of a heap: at least 100, and at most what Go's
// smallest heap needs.
func growthPercent(growth, live uint64) uint64 {
	const smallest = 4 << 20
	return max(100, growth*100/max(live, smallest))
}

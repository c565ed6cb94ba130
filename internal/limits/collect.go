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
// holds as before, and larger heaps are collected as before: those of more than 512 MiB when they
// have grown by that, or by half. Only the first call has an effect, and none has if the
// environment sets GOGC.
//
// The first call also collects once, shortly afterwards. Much of what a start needs is
// garbage then, and the heap would otherwise grow to twice its size with it.
func CollectAfter(growth uint64) {
	if !isStarted.Swap(true) && os.Getenv("GOGC") == "" {
		collectLater(func() { process.set(pace{least: growth, percent: 100, most: 512 << 20, leastPercent: 50}) })
	}
}

// CollectToward lets the heap grow to what a start from documents of so many bytes comes to anyway: what
// is decoded leaves garbage first, and is kept later. Beyond that, and beyond 512 MiB, Go collects when the
// heap has grown by half: what a bundle is read to is kept. A large heap grows by 96 MiB at most, or by a
// fifth. That is until CollectAfter is called, unless the environment sets GOGC.
func CollectToward(bytes int) {
	if os.Getenv("GOGC") == "" && !isStarted.Load() {
		heap := min(20<<20+9*uint64(bytes)/2, 512<<20) //nolint:gosec // a size is positive
		process.set(pace{heap: heap, percent: 50, most: 96 << 20, leastPercent: 20})
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

// pace is how much a heap may grow until it is collected: a percentage, and in bytes at least and at
// most. What is at most is never less than leastPercent. Up to heap it may grow in any case.
type pace struct{ least, percent, most, leastPercent, heap uint64 }

// smallest is Go's smallest heap.
const smallest = 4 << 20

// percentOf is the percentage for a heap, for the smallest at most.
func (p pace) percentOf(live uint64) uint64 {
	live = max(live, smallest)
	return max(p.least*100/live, (max(p.heap, live)-live)*100/live, min(p.percent, max(p.leastPercent, p.most*100/live)))
}

// collections sets the percentage after each collection, by a pace.
type collections struct {
	mu      sync.Mutex
	pace    pace
	percent uint64
	watched bool
	memory  int64 // the limit that the program was started with; 0 until it is known
}

var process collections

// set sets the pace.
func (c *collections) set(p pace) {
	c.mu.Lock()
	c.pace = p
	watched := c.watched
	c.watched = true
	c.mu.Unlock()
	if c.adjust(); !watched {
		(&cycle{of: c}).end()
	}
}

// adjust sets how much the heap may grow until the next collection.
func (c *collections) adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.limit(live[0].Value.Uint64())
	// Setting the percentage stops the program shortly: small differences are left.
	if percent := c.pace.percentOf(live[0].Value.Uint64()); percent*10 < c.percent*9 || percent*9 > c.percent*10 {
		c.percent = percent
		debug.SetGCPercent(int(percent))
	}
}

// limit keeps a heap that may grow to some size from growing by the percentage of a smaller one, where the
// next adjustment is late. The caller holds mu.
func (c *collections) limit(live uint64) {
	if c.memory == 0 {
		c.memory = debug.SetMemoryLimit(-1)
	}
	limit := c.memory
	if c.pace.heap > 0 {
		const beside = 16 << 20 // stacks, and an eighth for what the runtime knows of the heap
		live = max(live, smallest)
		goal := live + live*c.pace.percentOf(live)/100
		limit = min(limit, int64(goal+goal/8+beside)) //nolint:gosec // memory is smaller
	}
	debug.SetMemoryLimit(limit)
}

// cycle is an object that only its finalizer refers to, which therefore runs after each collection.
type cycle struct{ of *collections }

func (n *cycle) end() {
	n.of.adjust()
	runtime.SetFinalizer(n, (*cycle).end)
}

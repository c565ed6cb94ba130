package overdue

import (
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// checkEvery is the number of steps between two looks at the memory: some
	// milliseconds.
	checkEvery = 4096
	// maxGrowth bounds by how much the live heap grows while an evaluation runs.
	maxGrowth = 256 << 20
	// minAge is how long an evaluation runs before growth is attributed to it. Short
	// ones do not allocate as much.
	minAge = 100 * time.Millisecond
)

// canceler is a topdown.Cancel that also ends an evaluation while which the heap
// grows beyond its bounds. Cancelled must be called by one goroutine only.
type canceler struct {
	done     atomic.Bool
	tooLarge bool // written by the evaluation, read after it

	charged int // bytes

	steps  uint32
	began  time.Time // of the first look, as is the heap
	before uint64
}

func (c *canceler) Cancel() { c.done.Store(true) }

func (c *canceler) Cancelled() bool {
	if c.steps++; c.steps%checkEvery == 0 && !c.done.Load() && c.isTooLarge() {
		c.tooLarge = true
		c.Cancel()
	}
	return c.done.Load()
}

// Charge counts the bytes of a result. It returns ErrMemory if they are more than the
// heap may grow by, and must be called by the goroutine that calls Cancelled.
func (c *canceler) Charge(bytes int) error {
	if c.charged += bytes; c.charged > maxGrowth {
		return ErrMemory
	}
	return nil
}

// isTooLarge reports whether the live heap grew by more than maxGrowth since the first
// look, or is close to the memory limit of the process. The heap that the collector
// marked is read, because garbage of other requests must not count.
func (c *canceler) isTooLarge() bool {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return false
	}
	live := sample[0].Value.Uint64()
	if c.began.IsZero() {
		c.began, c.before = time.Now(), live
		return false
	}
	if time.Since(c.began) < minAge {
		return false
	}
	limit := uint64(debug.SetMemoryLimit(-1)) // a negative limit reads it
	return live > c.before+maxGrowth || live > limit/10*9
}

package rego

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadClock returns a clock of the processor time of the calling thread, which any
// goroutine may read.
func threadClock() func() time.Duration {
	id := int32(^unix.Gettid()<<3 | 6) // CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED
	read := func() (time.Duration, error) {
		var t unix.Timespec
		err := unix.ClockGettime(id, &t)
		return time.Duration(t.Nano()), err
	}
	began, err := read()
	if err != nil {
		return wallClock()
	}
	return func() time.Duration {
		now, err := read()
		if err != nil {
			return 0 // the thread has ended
		}
		return now - began
	}
}

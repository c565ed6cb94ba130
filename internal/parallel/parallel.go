// Package parallel runs functions beside one another.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
)

// Each calls a function for all of n elements, so many together, on all CPUs. If it panics, Each does.
func Each(n, together int, f func(from, end int)) {
	var begun atomic.Int64
	work := func() {
		for from := int(begun.Add(1)-1) * together; from < n; from = int(begun.Add(1)-1) * together {
			f(from, min(from+together, n))
		}
	}
	Run(slices.Repeat([]func(){work}, min(runtime.GOMAXPROCS(0), (n+together-1)/together))...)
}

// Run runs functions beside one another, and returns when all have. If one panics, Run does, so that its
// caller can recover.
func Run(functions ...func()) {
	ended := make(chan any, len(functions))
	for _, f := range functions {
		go func() {
			defer func() {
				cause := recover()
				if cause != nil {
					cause = fmt.Sprintf("%v\n%s", cause, debug.Stack())
				}
				ended <- cause
			}()
			f()
		}()
	}
	for range functions {
		if cause := <-ended; cause != nil {
			defer panic(cause)
		}
	}
}

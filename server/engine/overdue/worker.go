package overdue

import "runtime"

// idle holds the goroutines that wait for work, as many as can be busy at once and as
// many again. They belong to the process, and no function that they ran is kept.
var idle = make(chan chan func(), 2*runtime.GOMAXPROCS(0))

// start runs f on a goroutine that waits for work, or on a new one.
func start(f func()) {
	select {
	case work := <-idle:
		work <- f
	default:
		work := make(chan func(), 1)
		work <- f
		go serve(work)
	}
}

// serve runs functions until enough other goroutines wait for work.
func serve(work chan func()) {
	for f := range work {
		f()
		select {
		case idle <- work:
		default:
			return
		}
	}
}

package overdue

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/topdown"
)

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

// call is one evaluation.
type call[T any] struct {
	evaluate func(topdown.Cancel) (T, error)
	runner   *Runner
	lane     *lane
	cancel   canceler
	state    atomic.Int32

	ended    chan struct{} // closed when what follows is written
	value    T
	err      error
	panicked *evaluationPanic
}

// run evaluates, and gives the place back.
func (c *call[T]) run() {
	defer func() {
		if cause := recover(); cause != nil {
			c.panicked = &evaluationPanic{cause: cause, stack: debug.Stack()}
		}
		if !c.state.CompareAndSwap(running, over) {
			c.lane.overdue.Add(-1)
			c.runner.count(-1)
			if c.panicked != nil && c.runner.observer != nil {
				c.runner.observer.Panicked()
			}
		}
		<-c.lane.places
		close(c.ended)
	}()
	c.value, c.err = c.evaluate(&c.cancel)
	if c.cancel.tooLarge {
		c.err = ErrMemory
	}
}

// result returns the result of an evaluation that ended.
func (c *call[T]) result() (T, error) {
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.value, c.err
}

// evaluationPanic is the value with which Run panics if the evaluation did.
type evaluationPanic struct {
	cause any
	stack []byte // of the evaluation
}

func (p *evaluationPanic) Error() string { return fmt.Sprintf("%v\n%s", p.cause, p.stack) }

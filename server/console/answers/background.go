package answers

import (
	"time"

	"github.com/writ-policy/writ/server/console"
)

// tryAgain is the least time for which a failure in the background is kept. Who waited for it is
// told of it, and a load or a file that was the cause may be another one afterwards.
const tryAgain = time.Minute

// background is something that is computed beside the decisions. err is set when done is closed.
type background struct {
	done chan struct{}
	err  error
	// again is when what failed may be tried again; set when done is closed.
	again time.Time
}

// start begins to compute, in a goroutine. What failed is kept for as long as it took, so that
// one that never succeeds leaves half of the time to others.
func (b *background) start(now func() time.Time, what string, compute func() error) {
	b.done = make(chan struct{})
	began := now()
	go func() {
		defer close(b.done)
		b.err = unlessPanic(what, compute)
		ended := now()
		b.again = ended.Add(max(ended.Sub(began), tryAgain))
	}()
}

func unlessPanic(what string, compute func() error) (err error) {
	defer recovered(&err, what)
	return compute()
}

func (b *background) isDone() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// isOver reports whether it failed, and may be tried again.
func (b *background) isOver(now time.Time) bool {
	return b.isDone() && b.err != nil && !now.Before(b.again)
}

// recovered ends a panic of what the console computes beside the decisions: it becomes an
// error, and the process goes on deciding. It is deferred.
func recovered(err *error, what string) {
	if recover() != nil {
		*err = console.Errorf(console.Internal, "%s failed", what)
	}
}

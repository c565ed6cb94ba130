package api

import "sync/atomic"

// limiter bounds how many requests do something at a time. The zero value is ready.
type limiter struct{ held atomic.Int64 }

// acquire takes a place and reports whether there was one.
func (l *limiter) acquire(most int) bool {
	if l.held.Add(1) > int64(most) {
		l.held.Add(-1)
		return false
	}
	return true
}

func (l *limiter) release() { l.held.Add(-1) }

// isFull reports whether acquire would fail at this instant.
func (l *limiter) isFull(most int) bool { return l.held.Load() >= int64(most) }

// lend runs f without the caller's place, which the requests that f causes may take.
// The caller has a place again afterwards, even beyond the limit: it must not wait for
// a place that its own requests hold.
func (l *limiter) lend(f func()) {
	l.release()
	defer l.held.Add(1)
	f()
}

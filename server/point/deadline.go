package point

import (
	"context"
	"sync"
	"time"
)

// deadline is context.WithDeadline without a timer until something asks for Done: a
// cached decision waits for nothing. Its owner calls end.
type deadline struct {
	context.Context // the parent
	at              time.Time

	mu     sync.Mutex // held to read and write the fields below
	timed  context.Context
	cancel context.CancelFunc
}

// withTimer returns the context that has the timer.
func (d *deadline) withTimer() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = context.WithDeadline(d.Context, d.at)
	}
	return d.timed
}

// isUsed reports whether something has asked for Done.
func (d *deadline) isUsed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.timed != nil
}

// end releases the timer. The context is canceled then.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = canceled, func() {}
	}
	d.cancel()
}

// canceled is the context of what asks after the end.
var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) {
	if at, ok := d.Context.Deadline(); ok && at.Before(d.at) {
		return at, true
	}
	return d.at, true
}

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.withTimer().Done() }

// Err implements context.Context.
func (d *deadline) Err() error {
	d.mu.Lock()
	hasTimer := d.timed != nil
	d.mu.Unlock()
	if !hasTimer && d.Context.Err() == nil && time.Now().Before(d.at) {
		return nil
	}
	return d.withTimer().Err()
}

// Value implements context.Context. Package context asks it for what it cancels contexts
// by, which it finds in its own.
func (d *deadline) Value(key any) any {
	d.mu.Lock()
	ctx := d.timed
	d.mu.Unlock()
	if ctx == nil || ctx == canceled {
		ctx = d.Context
	}
	return ctx.Value(key)
}

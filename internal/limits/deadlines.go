package limits

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// step is how often deadlines are looked at: one is at most so late.
const step = 100 * time.Millisecond

// near is when a deadline is the connection's own at once.
const near = 10 * step

// deadlines ends the reads and writes of connections in time. A server sets five deadlines for
// each request, which hardly ever pass, and a timer for each costs more than the rest of a
// cached answer; here a deadline is a number, until it has passed.
type deadlines struct {
	began time.Time
	now   atomic.Int64 // of the last look, as time since began

	mu       sync.Mutex // held to read and write the fields below
	open     map[*timed]struct{}
	isClosed bool // no connection comes any more
}

func newDeadlines() *deadlines {
	d := &deadlines{began: time.Now(), open: make(map[*timed]struct{})}
	go d.run()
	return d
}

// close ends run once the last connection is closed.
func (d *deadlines) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isClosed = true
}

// run looks at all connections.
func (d *deadlines) run() {
	ticks := time.NewTicker(step)
	defer ticks.Stop()
	for d.look(<-ticks.C) {
	}
}

// look reports whether another look is needed.
func (d *deadlines) look(at time.Time) bool {
	now := at.Sub(d.began)
	d.now.Store(int64(now))
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.open {
		c.read.look(now, at)
		c.write.look(now, at)
	}
	return !d.isClosed || len(d.open) > 0
}

// add returns the connection with deadlines that d looks at. It holds one of the places until it
// is closed.
func (d *deadlines) add(conn net.Conn, places *Budget) *timed {
	c := &timed{Conn: conn, deadlines: d, places: places}
	c.read.set, c.write.set = conn.SetReadDeadline, conn.SetWriteDeadline
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[c] = struct{}{}
	return c
}

// timed is a connection whose deadlines are looked at in steps.
type timed struct {
	net.Conn
	deadlines   *deadlines
	places      *Budget
	read, write deadline
}

// SetDeadline implements net.Conn.
func (c *timed) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *timed) SetReadDeadline(t time.Time) error { return c.read.put(t, c.deadlines) }

// SetWriteDeadline implements net.Conn.
func (c *timed) SetWriteDeadline(t time.Time) error { return c.write.put(t, c.deadlines) }

// Close implements net.Conn.
func (c *timed) Close() error {
	c.deadlines.mu.Lock()
	if _, isOpen := c.deadlines.open[c]; isOpen {
		delete(c.deadlines.open, c)
		c.places.Release(1)
	}
	c.deadlines.mu.Unlock()
	return c.Conn.Close()
}

// deadline is that of reads or of writes.
type deadline struct {
	set func(time.Time) error // of the connection itself

	mu    sync.Mutex    // held to read and write the fields below
	at    time.Duration // when the connection's own deadline must be set; zero is never
	isSet bool          // the connection has a deadline of its own
}

// put sets the deadline. One that is near, or in the past, is the connection's own.
func (d *deadline) put(t time.Time, of *deadlines) error {
	at := time.Duration(0)
	if !t.IsZero() {
		at = t.Sub(of.began)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !t.IsZero() && at < time.Duration(of.now.Load())+near {
		d.at, d.isSet = 0, true
		return d.set(t)
	}
	if d.at = at; d.isSet {
		d.isSet = false
		return d.set(time.Time{})
	}
	return nil
}

// look sets the connection's own deadline if it has passed.
func (d *deadline) look(now time.Duration, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at != 0 && d.at <= now {
		d.at, d.isSet = 0, true
		_ = d.set(at) // its error is that of a connection that is closed
	}
}

package kube

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// mirrors are the mirrors of all kinds that are served.
type mirrors struct {
	s *Source

	mu     sync.Mutex
	known  *discovered // nil before the first discovery
	err    error       // of the last discovery
	byKind map[resource]*mirror
	wake   chan struct{} // closed and replaced after each change
	signal chan struct{} // has an element after a change
}

// retryDiscovery is the interval of discovery while it fails.
const retryDiscovery = 2 * time.Second

// An API server is asked every probeEvery whether it answers, within probeTimeout: a connection
// of a watch may stay open for long after its server is gone.
const (
	probeEvery   = 2 * time.Second
	probeTimeout = 2 * time.Second
)

// Watch mirrors the objects and calls notify when they are complete, after they have
// changed and are quiet for the settle time, and when the API server cannot be read any
// more or again. It returns nil when ctx is done. Notify must not block.
func (s *Source) Watch(ctx context.Context, notify func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &mirrors{s: s, byKind: make(map[resource]*mirror), wake: make(chan struct{}), signal: make(chan struct{}, 1)}
	s.mu.Lock()
	if s.watch != nil {
		s.mu.Unlock()
		return errors.New("the cluster is watched already")
	}
	s.watch = w
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.watch = nil
		s.mu.Unlock()
	}()
	w.run(ctx, notify)
	return nil
}

func (w *mirrors) run(ctx context.Context, notify func()) {
	returned := make(chan struct{}, 1)
	go w.probe(ctx, returned)
	timer := time.NewTimer(w.discover(ctx))
	defer timer.Stop()
	var quiet, deadline <-chan time.Time
	settled := func() {
		quiet, deadline = nil, nil
		if w.isSettled() {
			notify()
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(w.discover(ctx))
		case <-returned:
			timer.Reset(w.discover(ctx))
		case <-quiet:
			settled()
		case <-deadline:
			settled()
		case <-w.signal:
			settle := w.s.o.Settle
			if settle == 0 {
				settled()
				break
			}
			quiet = time.After(settle)
			if deadline == nil {
				deadline = time.After(maxSettles * settle)
			}
		}
	}
}

// probe records an API server that does not answer, and sends to returned when it does again.
// It does not run with discovery, which waits for longer.
func (w *mirrors) probe(ctx context.Context, returned chan<- struct{}) {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	isLost := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := w.s.client.answers(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.mu.Lock()
			isChanged := w.update(ctx, nil, err)
			w.mu.Unlock()
			if isChanged {
				w.changed()
			}
		case isLost:
			select {
			case returned <- struct{}{}:
			default: // a discovery is requested already
			}
		}
		isLost = err != nil
	}
}

// changed wakes those who wait for a change.
func (w *mirrors) changed() {
	w.mu.Lock()
	close(w.wake)
	w.wake = make(chan struct{})
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default: // a notice is pending already
	}
}

// discover starts the mirrors of kinds that are served since, and ends those of kinds that
// are not served any more. It returns when to ask again.
func (w *mirrors) discover(ctx context.Context) time.Duration {
	within, cancel := context.WithTimeout(ctx, w.s.o.Timeout)
	defer cancel()
	d, err := w.s.discover(within)
	if ctx.Err() != nil {
		return retryDiscovery
	}
	w.mu.Lock()
	isChanged := w.update(ctx, d, err)
	w.mu.Unlock()
	if isChanged {
		w.changed()
	}
	if err != nil {
		return min(retryDiscovery, w.s.o.Rescan)
	}
	return w.s.o.Rescan
}

// update applies the result of a discovery and returns whether anything changed. w.mu is
// held.
func (w *mirrors) update(ctx context.Context, d *discovered, err error) (isChanged bool) {
	isChanged = (err == nil) != (w.err == nil) || w.known == nil
	w.err = err
	if err != nil {
		return isChanged
	}
	isChanged = isChanged || !isSameList(w.known.list, d.list)
	served := make(map[resource]bool, len(d.resources))
	for _, r := range d.resources {
		served[r] = true
		if w.byKind[r] == nil {
			w.byKind[r] = w.s.startMirror(ctx, r, w.changed)
			isChanged = true
		}
	}
	for r, m := range w.byKind {
		if !served[r] {
			m.stop()
			delete(w.byKind, r)
			isChanged = true
		}
	}
	w.known = d
	return isChanged
}

func isSameList(a, b diag.List) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Position != b[i].Position || a[i].Message != b[i].Message {
			return false
		}
	}
	return true
}

// state returns what was discovered and the objects of each kind. It returns an error if a
// request failed. Without one, isComplete is false while objects are still missing.
func (w *mirrors) state() (d *discovered, objects [][]source.File, isComplete bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.known == nil {
		return nil, nil, false, w.err
	}
	isComplete = true
	var errs []error
	for _, r := range w.known.resources {
		files, isSynced, err := w.byKind[r].state()
		errs = append(errs, err)
		isComplete = isComplete && isSynced
		objects = append(objects, files)
	}
	if err := join(errs); err != nil {
		return nil, nil, false, err
	}
	return w.known, objects, isComplete, nil
}

// isSettled reports whether a snapshot returns at once.
func (w *mirrors) isSettled() bool {
	_, _, isComplete, err := w.state()
	return isComplete || err != nil
}

// snapshot waits until the objects are complete.
func (w *mirrors) snapshot(ctx context.Context) (source.Snapshot, diag.List, error) {
	for {
		w.mu.Lock()
		wake := w.wake
		w.mu.Unlock()
		d, objects, isComplete, err := w.state()
		if err != nil {
			return source.Snapshot{}, nil, err
		}
		if isComplete {
			return w.s.collect(d, objects)
		}
		select {
		case <-ctx.Done():
			return source.Snapshot{}, nil, context.Cause(ctx)
		case <-wake:
		}
	}
}

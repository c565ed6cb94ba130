package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/source"
)

// Feed polls a source for new revisions of one bundle. Its methods are safe for
// concurrent use, except that Run must not run twice at a time.
type Feed struct {
	o        Options
	origin   origin
	location string
	poke     chan struct{}
	tag      string // of the last bundle that was delivered; used by Run alone
	forget   atomic.Bool

	mu     sync.Mutex // held to read and write status, never longer
	status Status
}

// Status is the state of a feed. Times are zero, and omitted in JSON, until their
// event has happened.
type Status struct {
	// Location is the source without query and credentials.
	Location string `json:"location"`
	// Signed reports whether bundles must be signed.
	Signed bool `json:"signed"`
	// Revision is that of the last delivered bundle, Key the ID of the key that
	// signed it, and Tag the name the source gives it.
	Revision string `json:"revision"`
	Key      string `json:"key,omitempty"`
	Tag      string `json:"tag,omitempty"`
	// LastAttempt is the time of the last poll, LastSuccess of the last poll that
	// succeeded, with or without a new bundle, and LastDelivered of the last bundle
	// that was delivered.
	LastAttempt   time.Time `json:"lastAttempt,omitzero"`
	LastSuccess   time.Time `json:"lastSuccess,omitzero"`
	LastDelivered time.Time `json:"lastDelivered,omitzero"`
	// LastError is the error of the last poll, empty after a success. Failures
	// counts the failed polls since the last success.
	LastError string `json:"lastError"`
	Failures  int    `json:"failures"`
}

// Open returns a feed that has not polled yet. It fails if the options are invalid.
func Open(o Options) (*Feed, error) {
	least, most, wait := o.Config.timing()
	if o.Every <= 0 && most > 0 {
		o.Every = (least + most) / 2
	}
	o.Wait = cmp.Or(o.Wait, wait)
	o = o.defaults()
	origin, location, err := o.origin()
	if err != nil {
		return nil, fmt.Errorf("open the bundle's source: %w", err)
	}
	if o.Every <= 0 {
		o.Every = origin.every()
	}
	if _, waits := origin.(*httpOrigin); waits && o.Wait > 0 {
		o.Timeout += o.Wait
	}
	f := &Feed{o: o, origin: origin, location: location, poke: make(chan struct{}, 1)}
	f.status = Status{Location: location, Signed: o.Keys != nil}
	return f, nil
}

// Status returns the current state.
func (f *Feed) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Poke makes Run poll at once, for example after a webhook call. It does not block.
func (f *Feed) Poke() {
	select {
	case f.poke <- struct{}{}:
	default:
	}
}

// Again makes Run poll at once and deliver the bundle even if it was delivered before.
func (f *Feed) Again() {
	f.forget.Store(true)
	f.Poke()
}

// Run polls until ctx is done and passes each new bundle to deliver. After a failure,
// of deliver too, it polls again with exponential backoff. It returns nil when ctx is
// done.
func (f *Feed) Run(ctx context.Context, deliver func(context.Context, *bundles.Bundle) error) error {
	for failures := 0; ; {
		began := f.o.Now()
		result, err := f.once(ctx, deliver)
		if ctx.Err() != nil {
			return nil
		}
		if failures++; err == nil {
			failures = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.poke:
		case <-f.o.After(f.pause(result, failures, f.o.Now().Sub(began))):
		}
	}
}

// pause returns how long to wait before the next poll. A long-polling server is polled
// at once, unless it returned early without a new bundle: that would be a busy loop.
func (f *Feed) pause(result pollResult, failures int, took time.Duration) time.Duration {
	const first = time.Second
	switch {
	case failures > 0:
		wait := min(first<<min(failures-1, 20), f.o.Every)
		return wait/2 + rand.N(wait/2+1)
	case result.longPolled && f.o.Wait > 0 && (result.changed || took > first):
		return 0
	}
	spread := f.o.Every / 5
	return f.o.Every - spread/2 + rand.N(spread+1)
}

// pollResult is the result of one poll.
type pollResult struct {
	changed    bool // there was a new bundle
	longPolled bool // the source holds its answers until there is one
}

// once polls the source and delivers a new bundle.
func (f *Feed) once(ctx context.Context, deliver func(context.Context, *bundles.Bundle) error) (pollResult, error) {
	f.update(func(s *Status) { s.LastAttempt = f.o.Now() })
	if f.forget.Swap(false) {
		f.tag = ""
	}
	ctx, span := progress.Start(ctx, progress.Deliver)
	result, err := f.attempt(ctx, deliver)
	if err == nil && !result.changed {
		span.Set(progress.Outcome, progress.Unchanged)
	}
	span.End(err)
	return result, err
}

func (f *Feed) attempt(ctx context.Context, deliver func(context.Context, *bundles.Bundle) error) (pollResult, error) {
	got, err := f.fetch(ctx)
	if err != nil {
		err = fmt.Errorf("bundle from %s: %w", f.location, err)
		if ctx.Err() == nil {
			f.failed(err)
			f.o.Failed(err)
		}
		return pollResult{}, err
	}
	result := pollResult{changed: got.bundle != nil, longPolled: got.held}
	if result.changed {
		if err := deliver(ctx, got.bundle); err != nil {
			if ctx.Err() == nil {
				f.failed(fmt.Errorf("bundle from %s: %w", f.location, err))
			}
			return result, err
		}
	} else {
		f.o.Current()
	}
	f.tag = got.tag
	f.succeeded(got)
	return result, nil
}

// fetched is the result of one fetch. Its bundle is nil if it has not changed.
type fetched struct {
	bundle *bundles.Bundle
	tag    string
	held   bool
}

// fetch downloads, reads and verifies the bundle.
func (f *Feed) fetch(ctx context.Context) (got fetched, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			f.o.Logger.Error("reading a bundle panicked", "panic", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic while reading: %v", cause)
		}
	}()
	if f.forget.Swap(false) {
		f.tag = ""
	}
	asking := progress.Fetch
	if f.tag != "" {
		asking = progress.Wait // the source may hold its answer until there is a new bundle
	}
	var body *transfer
	var a *arrival
	err = progress.Do(ctx, asking, func(context.Context) (err error) {
		body, a, err = f.open(ctx, f.tag) // not with the span's context: the body is read after the span has ended
		return err
	})
	if err != nil {
		return fetched{}, err
	}
	defer body.Close()
	if a.body == nil && a.folder == "" {
		return fetched{tag: a.tag, held: a.held}, nil
	}
	err = progress.Do(ctx, progress.Read, func(ctx context.Context) (err error) {
		body.under = progress.FromContext(ctx)
		got, err = f.read(a, body)
		return err
	})
	if err != nil {
		return fetched{}, body.reason(source.TrimPath(err))
	}
	return got, nil
}

// read reads and verifies a bundle.
func (f *Feed) read(a *arrival, body io.Reader) (got fetched, err error) {
	got = fetched{tag: a.tag, held: a.held}
	f.o.Verifying()
	switch {
	case a.folder != "":
		got.bundle, err = bundles.ReadSignedDir(a.folder, f.o.Keys)
	case a.body != nil:
		got.bundle, err = bundles.ReadSigned(body, f.o.Keys)
		if err == nil && a.verify != nil {
			err = a.verify()
		}
	}
	return got, err
}

// open sends the request to the origin and limits the transfer of its answer.
func (f *Feed) open(ctx context.Context, known string) (*transfer, *arrival, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.o.Timeout, errTooLong)
	a, err := f.origin.fetch(ctx, known)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errTooLong) {
			err = cause
		}
		cancel()
		return nil, nil, err
	}
	return newTransfer(ctx, cancel, a.body, f.o.Stall), a, nil
}

func (f *Feed) update(change func(*Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.status)
}

// failed records err in the status. Options.Failed or deliver logs it.
func (f *Feed) failed(err error) {
	f.update(func(s *Status) { s.LastError, s.Failures = err.Error(), s.Failures+1 })
}

func (f *Feed) succeeded(got fetched) {
	f.update(func(s *Status) {
		s.LastSuccess, s.LastError, s.Failures, s.Tag = f.o.Now(), "", 0, got.tag
		if got.bundle != nil {
			s.Revision, s.Key, s.LastDelivered = got.bundle.Manifest.Revision, got.bundle.SignedBy.ID, f.o.Now()
		}
	})
	if got.bundle != nil {
		f.o.Logger.Info("bundle delivered", "revision", got.bundle.Manifest.Revision, "signedBy", got.bundle.SignedBy.ID)
	}
}

// Fetch downloads the bundle once and returns its tarball unread; the caller closes it.
// It fails if the source is a folder.
func (f *Feed) Fetch(ctx context.Context) (io.ReadCloser, error) {
	body, a, err := f.open(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("bundle from %s: %w", f.location, err)
	}
	if a.body == nil {
		body.Close()
		return nil, fmt.Errorf("bundle from %s: a folder, not a tarball", f.location)
	}
	body.under = progress.FromContext(ctx)
	return body, nil
}

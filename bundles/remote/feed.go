package remote

import (
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
	"github.com/writ-policy/writ/translator/progress"
)

// Feed is a bundle that is asked for again and again. Its methods are safe for
// concurrent use; Run runs once at a time.
type Feed struct {
	o        Options
	origin   origin
	location string
	poke     chan struct{}
	tag      string // of the bundle that was taken last; Run's
	forget   atomic.Bool

	mu     sync.Mutex // held to read and write status, never longer
	status Status
}

// Status says how a feed goes. Times are zero, and left out of JSON, until there is
// something to say.
type Status struct {
	// Location is the source without what could be a secret.
	Location string `json:"location"`
	// Signed says that bundles have to be signed.
	Signed bool `json:"signed"`
	// Revision is the bundle that was taken last, Key the one it is signed by and
	// Tag what the source calls it.
	Revision string `json:"revision"`
	Key      string `json:"key,omitempty"`
	Tag      string `json:"tag,omitempty"`
	// LastAttempt is when the source was last asked, LastSuccess when it last had a
	// bundle that was taken, or none newer; LastDelivered when one was taken.
	LastAttempt   time.Time `json:"lastAttempt,omitzero"`
	LastSuccess   time.Time `json:"lastSuccess,omitzero"`
	LastDelivered time.Time `json:"lastDelivered,omitzero"`
	// LastError is why the last attempt failed, and Failures how many did since one
	// did not.
	LastError string `json:"lastError"`
	Failures  int    `json:"failures"`
}

// Open prepares to ask for bundles. Nothing is asked yet; the error is of the options.
func Open(o Options) (*Feed, error) {
	least, most, wait := o.Config.timing()
	if o.Every <= 0 && most > 0 {
		o.Every = (least + most) / 2
	}
	if o.Wait == 0 {
		o.Wait = wait
	}
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

// Status is how it goes.
func (f *Feed) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Poke makes Run ask at once, as a webhook wants. It never waits.
func (f *Feed) Poke() {
	select {
	case f.poke <- struct{}{}:
	default:
	}
}

// Again makes Run ask at once, and deliver what there is even if it was delivered
// before.
func (f *Feed) Again() {
	f.forget.Store(true)
	f.Poke()
}

// Run asks for bundles until ctx is done, and hands each new one to deliver. A bundle
// that deliver refuses is asked for again, as after every failure, with longer and
// longer pauses. It ends when ctx does, without an error.
func (f *Feed) Run(ctx context.Context, deliver func(context.Context, *bundles.Bundle) error) error {
	for failures := 0; ; {
		began := f.o.Now()
		came, err := f.once(ctx, deliver)
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
		case <-f.o.After(f.pause(came, failures, f.o.Now().Sub(began))):
		}
	}
}

// pause is how long to wait before the source is asked again. One that holds its
// answers is asked at once; had it nothing and yet held nothing back, it would be asked
// without end.
func (f *Feed) pause(came came, failures int, took time.Duration) time.Duration {
	const first = time.Second
	switch {
	case failures > 0:
		wait := min(first<<min(failures-1, 20), f.o.Every)
		return wait/2 + rand.N(wait/2+1)
	case came.held && f.o.Wait > 0 && (came.fresh || took > first):
		return 0
	}
	spread := f.o.Every / 5
	return f.o.Every - spread/2 + rand.N(spread+1)
}

// came is what one attempt brought.
type came struct{ fresh, held bool }

// once asks for the bundle and hands it on.
func (f *Feed) once(ctx context.Context, deliver func(context.Context, *bundles.Bundle) error) (came, error) {
	f.note(func(s *Status) { s.LastAttempt = f.o.Now() })
	if f.forget.Swap(false) {
		f.tag = ""
	}
	ctx, whole := progress.Start(ctx, progress.Deliver)
	came, err := f.attempt(ctx, deliver)
	if err == nil && !came.fresh {
		whole.Set(progress.Outcome, progress.Unchanged)
	}
	whole.End(err)
	return came, err
}

func (f *Feed) attempt(ctx context.Context, deliver func(context.Context, *bundles.Bundle) error) (came, error) {
	got, err := f.bring(ctx)
	if err != nil {
		err = fmt.Errorf("bundle from %s: %w", f.location, err)
		if ctx.Err() == nil {
			f.failed(err)
			f.o.Failed(err)
		}
		return came{}, err
	}
	came := came{fresh: got.bundle != nil, held: got.held}
	if came.fresh {
		if err := deliver(ctx, got.bundle); err != nil {
			if ctx.Err() == nil {
				f.failed(fmt.Errorf("bundle from %s: %w", f.location, err))
			}
			return came, err
		}
	} else {
		f.o.Current()
	}
	f.tag = got.tag
	f.succeeded(got)
	return came, nil
}

// brought is a bundle, nil where it is the one that was taken last.
type brought struct {
	bundle *bundles.Bundle
	tag    string
	held   bool
}

// bring fetches, reads and verifies.
func (f *Feed) bring(ctx context.Context) (got brought, err error) {
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
		asking = progress.Wait // it may be held until there is something new
	}
	var body *transfer
	var a *arrival
	err = progress.Do(ctx, asking, func(context.Context) (err error) {
		body, a, err = f.open(ctx, f.tag) // of ctx itself: the body is read when this phase is over
		return err
	})
	if err != nil {
		return brought{}, err
	}
	defer body.Close()
	if a.body == nil && a.folder == "" {
		return brought{tag: a.tag, held: a.held}, nil
	}
	err = progress.Do(ctx, progress.Read, func(ctx context.Context) (err error) {
		body.under = progress.FromContext(ctx)
		got, err = f.read(a, body)
		return err
	})
	if err != nil {
		return brought{}, body.reason(withoutPath(err))
	}
	return got, nil
}

// read reads and verifies what came.
func (f *Feed) read(a *arrival, body io.Reader) (got brought, err error) {
	got = brought{tag: a.tag, held: a.held}
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

// open asks the origin and watches over the transfer of what it answers.
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

func (f *Feed) note(change func(*Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.status)
}

// failed notes it. Whoever has refused a bundle, or is told of the failure, logs it.
func (f *Feed) failed(err error) {
	f.note(func(s *Status) { s.LastError, s.Failures = err.Error(), s.Failures+1 })
}

func (f *Feed) succeeded(got brought) {
	f.note(func(s *Status) {
		s.LastSuccess, s.LastError, s.Failures, s.Tag = f.o.Now(), "", 0, got.tag
		if got.bundle != nil {
			s.Revision, s.Key, s.LastDelivered = got.bundle.Manifest.Revision, got.bundle.SignedBy.ID, f.o.Now()
		}
	})
	if got.bundle != nil {
		f.o.Logger.Info("bundle taken", "revision", got.bundle.Manifest.Revision, "signedBy", got.bundle.SignedBy.ID)
	}
}

// Fetch asks for the bundle once, whatever it is, and is its tarball, unread. The
// caller closes it. A folder has none: it is refused.
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

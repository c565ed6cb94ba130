package proofs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
)

// every is the interval of looking for changed files, and for a time at which a verdict may be
// another.
const every = time.Second

// Run verifies what is served, when it is pending, when its files change and when a date is
// passed, until ctx is done.
func (p *Proofs) Run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-tick.C:
		}
		p.Update(ctx)
	}
}

// Update does once what Run does.
func (p *Proofs) Update(ctx context.Context) {
	files, now := p.stateOfFiles(), p.o.Now()
	compared := p.haveReferencesChanged(ctx, now)
	p.mu.Lock()
	changed := files != p.files || compared
	p.files = files
	again := !p.retryAt.IsZero() && !now.Before(p.retryAt) || changed && (p.o.Required || p.refused != nil)
	if p.report != nil && p.report.Until != nil && !now.Before(*p.report.Until) || changed {
		p.isStale, p.problem = true, ""
	}
	p.mu.Unlock()
	if again {
		p.o.Retry(ctx)
	}
	p.proveServed(ctx)
}

// shareOfReading bounds how much of its time the server reads the documents that assertions compare
// with: they may be many.
const shareOfReading = 50

// haveReferencesChanged reports whether documents have changed that assertions about what is served,
// or was refused, compare with. They are watched again when they are read for a proof.
func (p *Proofs) haveReferencesChanged(ctx context.Context, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.compareAt) {
		return false
	}
	began, hasChanged := time.Now(), false
	for _, r := range []*revision{p.served, p.rejected} {
		if r == nil || r.compared == nil {
			continue
		}
		compared := r.compared
		r.compared = nil
		p.mu.Unlock()
		isOther := compared(ctx)
		p.mu.Lock()
		hasChanged = hasChanged || isOther
		if !isOther && r.compared == nil { // no proof has read them meanwhile
			r.compared = compared
		}
	}
	p.compareAt = now.Add(shareOfReading * time.Since(began))
	return hasChanged
}

// proveServed verifies what is served unless its verdicts are known.
func (p *Proofs) proveServed(ctx context.Context) {
	p.proving.Lock()
	defer p.proving.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	r, before := p.served, p.report
	isDue := r != nil && p.isStale && p.problem == ""
	p.cancel = cancel
	p.mu.Unlock()
	if !isDue {
		return
	}
	report, err := p.prove(ctx, r, before, p.rest())
	if ctx.Err() != nil {
		return // of another revision, or at the end
	}
	p.mu.Lock()
	if p.served != r {
		p.mu.Unlock()
		return
	}
	p.report, p.isStale = report, false
	if err != nil {
		p.isStale, p.problem = true, err.Error()
	}
	counts := p.counts()
	p.mu.Unlock()
	p.o.Counted(counts)
	switch {
	case err != nil:
		p.o.Logger.Error("the assertions cannot be verified", "revision", r.policies.Loaded().Revision, "error", err)
	case !slices.Equal(failingIDs(before), failingIDs(report)):
		if report != nil && report.Fails() {
			p.o.Logger.Warn(failure(report), "revision", r.policies.Loaded().Revision)
		} else {
			p.o.Logger.Info("no assertion fails any more", "revision", r.policies.Loaded().Revision)
		}
	}
	p.o.Changed()
}

// longestRest bounds a rest, which cannot be interrupted.
const longestRest = 100 * time.Millisecond

// rest returns a function that is called between proofs and rests as long as the last took.
func (p *Proofs) rest() func() {
	began := time.Now()
	return func() {
		time.Sleep(min(time.Since(began), longestRest))
		began = time.Now()
	}
}

// stateOfFiles identifies what Files are now.
func (p *Proofs) stateOfFiles() string {
	var b strings.Builder
	for _, name := range p.o.Files {
		files, _, err := assertions.FilesOf(name)
		if err != nil {
			fmt.Fprintf(&b, "%s\x00%v\x00", name, err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				fmt.Fprintf(&b, "%s\x00%d\x00%d\x00", file, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}

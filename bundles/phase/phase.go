// Package phase says which step of a long piece of work is under way and how far
// it has come. Who does the work says so, by a context; who hears of it — metrics,
// traces, a person at a terminal — is not known here, and often nobody.
//
// # Design
//
// The work is spread over packages that know nothing of each other: a fetch is in a
// source, a compilation in the engine. A context reaches all of them, and one kind of
// listener serves all that want to know. The alternative, a hook in the options of
// each package and of each purpose, would have to be passed through every layer, and
// the times in metrics and traces would not be the same ones.
package phase

import (
	"context"
	"errors"
	"sync/atomic"
)

// Name is that of a phase. There are no others than those below: they are labels of
// metrics.
type Name string

// Whole pieces of work, which the other phases are steps of.
const (
	Reload   Name = "reload"   // documents, from looking at them to serving them
	Deliver  Name = "deliver"  // a built bundle, from asking for it to serving it
	Restore  Name = "restore"  // what was kept before a restart
	Rollback Name = "rollback" // to a kept revision
)

// Steps.
const (
	Wait      Name = "wait"      // for an answer that may be held back until there is something new
	Snapshot  Name = "snapshot"  // read documents
	Fetch     Name = "fetch"     // bring a commit or a bundle here
	Read      Name = "read"      // read a bundle and verify its signature
	Translate Name = "translate" // documents to tables to files
	Build     Name = "build"     // files to a bundle
	Check     Name = "check"     // that it compiles
	Activate  Name = "activate"  // make an engine of it
	Keep      Name = "keep"      // write it where a restart finds it
)

// Work of commands, which is neither.
const (
	Answer Name = "answer" // requests
	Test   Name = "test"   // cases
	Push   Name = "push"   // a bundle, elsewhere
)

// Steps are all names of steps, in the order in which they come.
var Steps = []Name{Wait, Snapshot, Fetch, Read, Translate, Build, Check, Activate, Keep}

// Key names what is said of a phase.
type Key string

// What is said of phases.
const (
	Source    Key = "source" // documents, bundle, state or rollback
	Revision  Key = "revision"
	Commit    Key = "commit"
	Sequence  Key = "sequence"
	Documents Key = "documents"
	Files     Key = "files"
	Outcome   Key = "outcome" // activated, unchanged or refused
	Errors    Key = "errors"  // diagnostics
	Warnings  Key = "warnings"
)

// Unchanged is the outcome of work that found nothing to do.
const Unchanged = "unchanged"

// Listener hears of phases. It is safe for concurrent use.
type Listener interface {
	// Begin hears that a phase begins. Those that begin in the context it gives back
	// are steps of this one.
	Begin(ctx context.Context, p *Phase) (context.Context, Ear)
}

// Ear hears the rest of one phase, from one goroutine at a time.
type Ear interface {
	// Set hears what there is to say of the phase: text, a number or a truth.
	Set(key Key, value any)
	// End hears how it ended. Nothing comes after it.
	End(err error)
}

// Phase is one that is under way. All methods of nil do nothing.
type Phase struct {
	Name Name
	done atomic.Int64
	unit atomic.Pointer[string]
	ears []Ear
}

type listenersKey struct{}

type phaseKey struct{}

// Listen is a context in which phases are heard by listeners, besides those that hear
// them in ctx. What is nil hears nothing.
func Listen(ctx context.Context, listeners ...Listener) context.Context {
	all, _ := ctx.Value(listenersKey{}).([]Listener)
	all = all[:len(all):len(all)]
	for _, l := range listeners {
		if l != nil {
			all = append(all, l)
		}
	}
	return context.WithValue(ctx, listenersKey{}, all)
}

// Begin begins a phase, as a step of the one that is under way in ctx. It is nil
// where nobody listens.
func Begin(ctx context.Context, name Name) (context.Context, *Phase) {
	listeners, _ := ctx.Value(listenersKey{}).([]Listener)
	if len(listeners) == 0 {
		return ctx, nil
	}
	p := &Phase{Name: name}
	for _, l := range listeners {
		var ear Ear
		ctx, ear = l.Begin(ctx, p)
		p.ears = append(p.ears, ear)
	}
	return context.WithValue(ctx, phaseKey{}, p), p
}

// Do is a phase around a function.
func Do(ctx context.Context, name Name, step func(context.Context) error) error {
	ctx, p := Begin(ctx, name)
	ended := false
	defer func() {
		if !ended { // it panics, and whoever ends that says why
			p.End(errPanic)
		}
	}()
	err := step(ctx)
	ended = true
	p.End(err)
	return err
}

// errPanic is how a step ended that did not come back.
var errPanic = errors.New("it panicked")

// From is the phase that is under way in ctx; nil where none is heard of.
func From(ctx context.Context) *Phase {
	p, _ := ctx.Value(phaseKey{}).(*Phase)
	return p
}

// Count says that n more things are done, and what they are, in the plural: bytes,
// files. It may be called from many goroutines.
func (p *Phase) Count(n int64, unit string) {
	if p == nil {
		return
	}
	p.done.Add(n)
	if last := p.unit.Load(); last == nil || *last != unit {
		kept := unit // the parameter itself would be allocated where nobody listens
		p.unit.Store(&kept)
	}
}

// Done is how many things are done so far, and what they are; empty before the first.
func (p *Phase) Done() (n int64, unit string) {
	if p == nil {
		return 0, ""
	}
	if u := p.unit.Load(); u != nil {
		unit = *u
	}
	return p.done.Load(), unit
}

// Set says something of the phase.
func (p *Phase) Set(key Key, value any) {
	if p == nil {
		return
	}
	for _, ear := range p.ears {
		ear.Set(key, value)
	}
}

// End ends the phase; err is why it came to nothing.
func (p *Phase) End(err error) {
	if p == nil {
		return
	}
	for _, ear := range p.ears {
		ear.End(err)
	}
}

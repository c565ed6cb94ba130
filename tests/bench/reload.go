package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// denyPolicies is how many deny policies there are beside the one that changes.
const denyPolicies = 200

// reloads prints what it takes from a saved file to the answer that it changes, by
// the way a server goes, without the time it waits for the directory to settle.
func reloads(out *results, w *world, rounds int) error {
	ctx := context.Background()
	remove, err := w.deny(denyPolicies)
	if err != nil {
		return err
	}
	defer remove()
	policy := filepath.Join(w.dir, "changing-deny.yaml")
	defer os.Remove(policy)
	directory := watch(ctx, source.Dir(w.dir, source.DirOptions{}))
	defer directory.stop()
	r := newReloader(directory)
	if err := r.Reload(ctx); err != nil { // it reads everything
		return err
	}
	runtime.GC() // as a server does a second after its start: else all rounds may fall into one collection
	series, goals := "", [...]string{fmt.Sprintf(goalBinding, w.n), fmt.Sprintf(goalDeny, w.n)}
	if w.perFile == 1 {
		series, goals = " of many files", [...]string{goalFiles, ""}
	}
	rows := []struct {
		name string
		save func(user string) error
		want func(decision.Decision) bool
	}{
		{"one binding changed", w.change, func(d decision.Decision) bool { return d.Allowed }},
		{"one deny policy changed", func(user string) error { return denyNamespace(policy, user) }, func(d decision.Decision) bool { return d.Denied }},
	}
	for i, row := range rows {
		var first, least spent
		for round := range rounds + 1 {
			user := fmt.Sprintf("changed-%d", round)
			one, err := spend(func() error {
				if err := directory.noticed(func() error { return row.save(user) }); err != nil {
					return err
				}
				if err := r.Reload(ctx); err != nil {
					return err
				}
				if d := r.Current().Access(ctx, changed(user)); !row.want(d) {
					return fmt.Errorf("%s: the change does not show: %s", row.name, d.Reason)
				}
				return nil
			})
			if err != nil {
				return err
			}
			// The first round compiles what is new.
			if round == 0 {
				first = one
			}
			if round == 1 || round > 1 && one.wall < least.wall {
				least = one
			}
		}
		out.point("Start and change", "s", row.name+series, w.n, least.wall.Seconds())
		out.reached(least.wall.Seconds(), goals[i])
		out.printf("  %-34s %10.3f s  %.3f s CPU, %d allocs; the first time %.3f s\n", row.name,
			least.wall.Seconds(), least.cpu.Seconds(), least.allocs, first.wall.Seconds())
	}
	return nil
}

// watchedDirectory is a directory with a watch, as a server has.
type watchedDirectory struct {
	*source.Directory
	notices chan struct{}
	stop    func()
}

// watch begins to watch a directory, without a settle time.
func watch(ctx context.Context, d *source.Directory) *watchedDirectory {
	ctx, stop := context.WithCancel(ctx)
	out := &watchedDirectory{d, make(chan struct{}, 1), stop}
	go func() {
		_ = d.Watch(ctx, func() { // a notice that is missing ends the measurement
			select {
			case out.notices <- struct{}{}:
			default:
			}
		})
	}()
	<-out.notices
	return out
}

// noticed changes the directory, and returns once the watch has noticed.
func (d *watchedDirectory) noticed(change func() error) error {
	if err := change(); err != nil {
		return err
	}
	select {
	case <-d.notices:
		return nil
	case <-time.After(time.Minute):
		return errors.New("the watch did not notice a change")
	}
}

// newReloader returns what reloads documents as a server does.
func newReloader(documents source.Source) *reload.Reloader {
	var last *engine.Engine
	return reload.New(reload.Options{
		Source:     documents,
		Translator: translator.New(translator.Options{}),
		Activate: func(ctx context.Context, b *bundles.Bundle) (_ decision.Policies, err error) {
			last, err = engine.Activate(ctx, b, engine.Options{Last: last})
			return last, err
		},
	})
}

// inFiles prints what a change costs in a directory with a document in each file.
func inFiles(r *results, w *world, rounds int) error {
	r.printf("\n%d roles and %d bindings, each in a file of its own\n", w.n, w.n)
	return reloads(r, w, rounds)
}

// denyNamespace saves a policy that denies everything in a user's namespace.
func denyNamespace(file, user string) error {
	return os.WriteFile(file, fmt.Appendf(nil, `apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: changing}
spec:
  rules:
    - {verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: {patterns: [of-%s]}}
`, user), 0o644)
}

// spent is what something took.
type spent struct {
	wall, cpu time.Duration
	allocs    uint64
}

// spend measures the process, so nothing else may run in it.
func spend(run func() error) (spent, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, began := cpuTime(), time.Now()
	err := run()
	s := spent{wall: time.Since(began), cpu: cpuTime() - cpu}
	runtime.ReadMemStats(&after)
	s.allocs = after.Mallocs - before.Mallocs
	return s, err
}

func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

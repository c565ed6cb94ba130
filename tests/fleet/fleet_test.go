// Package fleet simulates replicas that read bundles of one registry: revisions come, the
// registry is slow, down or rolled back, replicas are killed. The gate runs a few replicas
// with a registry in memory; make fleet runs a hundred with that of distribution.
package fleet

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/tests/process"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

var (
	count     = flag.Int("replicas", 3, "number of replicas")
	revisions = flag.Int("revisions", 6, "number of revisions")
	every     = flag.Duration("every", 0, "interval of revisions; zero: as soon as all replicas have the last one")
	poll      = flag.Duration("poll", 50*time.Millisecond, "interval in which replicas poll")
	program   = flag.String("registry", "", "the program of tests/registry; empty: a registry in memory")
)

// fleet is replicas with what they have activated.
type fleet struct {
	dir, upstream string
	gate          *gate
	replicas      []*replica
	built         []*bundles.Bundle // by sequence number, from 1

	mu        sync.Mutex // held to read and write the rest, and to kill replicas
	last      int        // the sequence number that was published last
	sequences map[string]int
	events    []event
	older     []string // activations of an older sequence number
}

// event is an activation by a replica.
type event struct {
	replica  string
	sequence int
	at       time.Time
	started  time.Time // when the replica was started
}

func (f *fleet) activated(r *replica, revision string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := event{r.name, f.sequences[revision], at, r.started}
	for _, before := range f.events {
		if before.replica == e.replica && before.sequence > e.sequence {
			f.older = append(f.older, fmt.Sprintf("%s: %d after %d", e.replica, e.sequence, before.sequence))
			break
		}
	}
	f.events = append(f.events, e)
}

// build returns the bundle of a sequence number: one user may get pods.
func (f *fleet) build(t *testing.T, sequence int) *bundles.Bundle {
	t.Helper()
	text := fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: User, name: u%d}]}
`, sequence)
	files := []source.File{source.NewFile("all.yaml", []byte(text))}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), source.Snapshot{Files: files})
	if result == nil {
		t.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{Sequence: int64(sequence)})
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sequences[b.Manifest.Revision] = sequence
	return b
}

// publish sets the tag to a bundle.
func (f *fleet) publish(t *testing.T, b *bundles.Bundle) {
	t.Helper()
	var packed bytes.Buffer
	if err := b.WriteTar(&packed); err != nil {
		t.Fatal(err)
	}
	o := remote.PushOptions{Location: "oci://" + f.upstream + "/policy:main", PlainHTTP: true}
	if _, err := remote.Push(t.Context(), b, packed.Bytes(), o); err != nil {
		t.Fatal(err)
	}
}

// has reports whether all replicas have activated a sequence number since they started.
func (f *fleet) has(sequence int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.replicas {
		if !slices.ContainsFunc(f.events, func(e event) bool { return e.replica == r.name && e.sequence == sequence && e.started.Equal(r.started) }) {
			return false
		}
	}
	return true
}

// restart kills some replicas, and starts them again.
func (f *fleet) restart(t *testing.T, n int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range rand.Perm(len(f.replicas))[:n] {
		next := *f.replicas[i]
		f.mu.Unlock()
		next.stop()
		f.mu.Lock()
		r := &replica{fleet: f, name: next.name}
		r.start(t)
		f.replicas[i] = r
	}
}

// faults happen in turn while replicas take a revision.
var faults = []string{"none", "a slow registry", "no registry", "replicas are killed", "the tag is rolled back"}

// endure lets a fault happen after a revision was published.
func (f *fleet) endure(t *testing.T, fault string, sequence int) {
	t.Helper()
	switch fault {
	case "a slow registry":
		f.gate.state.Store(slow)
	case "no registry":
		f.gate.state.Store(down)
		<-time.After(4 * *poll)
	case "replicas are killed":
		f.restart(t, max(1, *count/10))
	case "the tag is rolled back":
		wait(t, "all replicas have the revision", func() bool { return f.has(sequence) })
		f.publish(t, f.built[sequence-2])
		<-time.After(4 * *poll)
		f.publish(t, f.built[sequence-1])
	}
}

func TestFleet(t *testing.T) {
	f := &fleet{dir: t.TempDir(), upstream: process.Registry(t, *program), sequences: make(map[string]int)}
	f.gate = newGate(t, "http://"+f.upstream, *poll)
	for n := range *revisions {
		f.built = append(f.built, f.build(t, n+1))
	}
	f.publish(t, f.built[0])
	f.mu.Lock()
	for n := range *count {
		r := &replica{fleet: f, name: fmt.Sprintf("replica-%03d", n)}
		f.replicas = append(f.replicas, r)
		r.start(t)
	}
	f.last = 1
	f.mu.Unlock()
	t.Cleanup(func() {
		for _, r := range f.replicas {
			r.stop()
		}
	})
	wait(t, "all replicas have the first revision", func() bool { return f.has(1) })
	stop := make(chan struct{})
	asked := f.clients(t, stop)
	for sequence := 2; sequence <= *revisions; sequence++ {
		began := time.Now()
		f.mu.Lock()
		f.last = sequence
		f.mu.Unlock()
		f.publish(t, f.built[sequence-1])
		f.endure(t, faults[(sequence-2)%len(faults)], sequence)
		<-time.After(*every/2 - time.Since(began)) // the registry recovers in the middle
		f.gate.state.Store(healthy)
		<-time.After(*every - time.Since(began))
		if *every == 0 {
			wait(t, "all replicas have the revision", func() bool { return f.has(sequence) })
		}
	}
	wait(t, "all replicas have the last revision", func() bool { return f.has(*revisions) })
	close(stop)
	answers := asked()
	for _, text := range f.older {
		t.Errorf("an older sequence number: %s", text)
	}
	if answers == 0 {
		t.Error("no replica was asked")
	}
	t.Logf("%d replicas, %d revisions, polled every %s: %d answers, all of the revision that they name", *count, *revisions, *poll, answers)
	f.figures(t)
}

// figures prints for how long replicas disagreed: from the first activation of a revision
// to that of each other replica which was running then.
func (f *fleet) figures(t *testing.T) {
	t.Helper()
	var all []time.Duration
	by := make(map[string][]time.Duration)
	for sequence := 2; sequence <= *revisions; sequence++ {
		first := time.Time{}
		for _, e := range f.events {
			if e.sequence == sequence && (first.IsZero() || e.at.Before(first)) {
				first = e.at
			}
		}
		done := make(map[string]bool)
		for _, e := range f.events { // in order of time for a replica
			if e.sequence < sequence || done[e.replica] || e.started.After(first) {
				continue
			}
			done[e.replica] = true
			lag := max(0, e.at.Sub(first))
			fault := faults[(sequence-2)%len(faults)]
			all, by[fault] = append(all, lag), append(by[fault], lag)
		}
	}
	line := func(name string, lags []time.Duration) {
		slices.Sort(lags)
		at := func(p float64) time.Duration { return lags[int(p*float64(len(lags)-1))].Round(time.Millisecond) }
		t.Logf("%-24s %6d activations, replicas disagree p50 %8s, p99 %8s, worst %8s", name, len(lags), at(0.5), at(0.99), at(1))
	}
	if len(all) == 0 {
		t.Fatal("no revision was activated")
	}
	line("all", all)
	for _, fault := range faults {
		if len(by[fault]) > 0 {
			line(fault, by[fault])
		}
	}
}

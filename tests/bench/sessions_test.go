package main

import (
	"path/filepath"
	"testing"
)

// BenchmarkSessions has what sessions cost decisions:
// go test ./tests/bench -run - -bench Sessions -count 10
func BenchmarkSessions(b *testing.B) {
	const n = 1000
	w, err := newWorld(10*n, documentsPerFile)
	if err != nil {
		b.Fatal(err)
	}
	defer w.close()
	without, with, err := sessionEngines(b.Context(), w, n)
	if err != nil {
		b.Fatal(err)
	}
	for _, row := range sessionRows(w, n) {
		for i, ask := range row.asks(b.Context(), without, with) {
			b.Run(row.name+"/"+[...]string{"without", "with"}[i], func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					ask(i)
				}
			})
		}
	}
}

// BenchmarkSessionChange is a changed session of a cluster until the answer that it changes.
func BenchmarkSessionChange(b *testing.B) {
	w, err := newWorld(100_000, documentsPerFile)
	if err != nil {
		b.Fatal(err)
	}
	defer w.close()
	if err := w.addSessions(heldSessions); err != nil {
		b.Fatal(err)
	}
	objects, err := watchedOf(b.Context(), w, filepath.Base(w.sessionFile(7)))
	if err != nil {
		b.Fatal(err)
	}
	r := newReloader(objects)
	if err := r.Reload(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := objects.change([]byte(w.session(7, [...]string{"Approved", "Expired"}[i%2]))); err != nil {
			b.Fatal(err)
		}
		if err := r.Reload(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

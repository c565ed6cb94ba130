package main

import "testing"

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

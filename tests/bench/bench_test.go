package main

import (
	"fmt"
	"testing"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// BenchmarkAccess has the figures in process, in the form of benchstat:
// go test ./tests/bench -run - -bench . -count 10
func BenchmarkAccess(b *testing.B) {
	floor, err := allowTrue()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			floor()
		}
	})
	for _, n := range []int{100, 10_000} {
		w, err := newWorld(n, documentsPerFile)
		if err != nil {
			b.Fatal(err)
		}
		l := &loader{directory: source.Dir(w.dir, source.DirOptions{}), translator: translator.New(translator.Options{})}
		e, err := l.withDenyPolicies(b.Context(), w)
		w.close()
		if err != nil {
			b.Fatal(err)
		}
		requests := w.requests(4096)
		both(b, fmt.Sprintf("n=%d", n), e, func(b *testing.B, p decision.Policies, i int) { p.Access(b.Context(), &requests[i%len(requests)]) })
	}
}

func BenchmarkGateway(b *testing.B) {
	for _, routes := range []int{10, 1000} {
		e, err := activateText(gatewayDocuments(routes))
		if err != nil {
			b.Fatal(err)
		}
		requests, err := gatewayRequests(routes, 1024)
		if err != nil {
			b.Fatal(err)
		}
		both(b, fmt.Sprintf("routes=%d", routes), e, func(b *testing.B, p decision.Policies, i int) { p.Gateway(b.Context(), requests[i%len(requests)]) })
	}
}

// both runs a benchmark without a cache and with a full one.
func both(b *testing.B, name string, e *engine.Engine, ask func(b *testing.B, p decision.Policies, i int)) {
	b.Helper()
	cached := cache.New(cache.Options{Entries: cache.DefaultEntries}, metrics.New()).Of(e)
	for i := range 4096 { // fills the cache
		ask(b, cached, i)
	}
	for _, row := range []struct {
		name     string
		policies decision.Policies
	}{{"uncached", e}, {"cached", cached}} {
		b.Run(row.name+"/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ask(b, row.policies, i)
			}
		})
	}
}

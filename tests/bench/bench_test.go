package main

import (
	"fmt"
	"testing"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/metrics"
)

func BenchmarkGateway(b *testing.B) {
	for _, routes := range []int{10, 1000} {
		e, err := gatewayEngine(routes)
		if err != nil {
			b.Fatal(err)
		}
		requests, err := gatewayRequests(routes, 4096)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("uncached/routes=%d", routes), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e.Gateway(b.Context(), requests[i%len(requests)])
			}
		})
		b.Run(fmt.Sprintf("cached/routes=%d", routes), func(b *testing.B) {
			c := cache.New(cache.Options{Entries: cache.DefaultEntries}, metrics.New()).Of(e)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.Gateway(b.Context(), requests[i%len(requests)])
			}
		})
	}
}

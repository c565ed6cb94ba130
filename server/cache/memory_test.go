package cache

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// What is kept of a request must not keep the whole body that it was sent in: the bounds of the
// cache count the kept texts alone.
func TestKeepsNoBodies(t *testing.T) {
	const requests, body, most = 64, 1 << 20, 8 << 20
	for _, tt := range []struct {
		point string
		ask   func(p decision.Policies, text string)
	}{
		{decision.Visibility, func(p decision.Policies, text string) {
			p.Visibility(t.Context(), see(text, text))
		}},
		{decision.Gateway, func(p decision.Policies, text string) {
			p.Gateway(t.Context(), guard(text))
		}},
	} {
		t.Run(tt.point, func(t *testing.T) {
			c := New(Options{Entries: 400, Visibility: VisibilityOptions{Entries: 100}}, metrics.New())
			var p decision.Policies = c.Of(&guards{revision: "r1"})
			if tt.point == decision.Visibility {
				p = c.Of(newWorlds(&world{revision: "r1"}).current())
			}
			before := liveBytes()
			for i := range requests {
				tt.ask(p, strings.Repeat(strconv.Itoa(i%10), body)[:3+i])
			}
			if got := liveBytes() - before; got > most {
				t.Errorf("%d bodies of %d bytes left %d bytes in memory", requests, body, got)
			}
			runtime.KeepAlive(c)
		})
	}
}

func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

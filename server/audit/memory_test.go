package audit

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// An event that waits for the webhook must not keep the body of its request: names are parts of it.
func TestEventsKeepNoBodies(t *testing.T) {
	const requests, body, most = 64, 1 << 20, 8 << 20
	denied := &decision.Decision{Denied: true, Matched: []decision.Matched{{Kind: denyPolicy, Name: "d"}}}
	var waiting []event
	before := liveBytes()
	for range requests {
		text := strings.Repeat("a", body)[:3]
		r := &decision.Request{User: text, Groups: []string{text}, Verb: text, Resource: text}
		waiting = append(waiting, eventsOf(r, denied, time.Now)...)
	}
	if got := liveBytes() - before; got > most {
		t.Errorf("%d events left %d bytes in memory", len(waiting), got)
	}
	runtime.KeepAlive(waiting)
}

func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

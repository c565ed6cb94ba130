package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// sample is what a server occupies, in bytes.
type sample struct {
	at       time.Duration // since the start
	resident int
	// live is the smallest size of the heap since the sample before: what remains after a
	// collection of garbage.
	live       int
	goroutines int
}

// watch samples a server each second, and reports a sample each minute and at the end.
func (r *report) watch(ctx context.Context, s *server, began time.Time) {
	var now sample
	for minute := began; ctx.Err() == nil; pause(ctx, time.Second) {
		next := s.sample(began)
		if now.live > 0 && next.live > 0 {
			next.live = min(next.live, now.live)
		}
		if now = next; time.Since(minute) >= time.Minute {
			minute = minute.Add(time.Minute)
			r.samples = append(r.samples, now)
			now.live = 0
		}
	}
	r.samples = append(r.samples, now)
}

// settle waits until the server has closed the connections, for at most d, and samples it.
func (r *report) settle(s *server, began time.Time, d time.Duration) {
	const few = 100 // goroutines of a server without connections
	for end := time.Now().Add(d); ; time.Sleep(100 * time.Millisecond) {
		r.closed = s.sample(began)
		r.closed.live = 0 // what remains is not known before garbage is collected again
		if time.Now().After(end) || r.closed.goroutines < few {
			return
		}
	}
}

// sample reads what the server occupies now. Fields that cannot be read are 0.
func (s *server) sample(began time.Time) sample {
	out := sample{at: time.Since(began).Round(time.Second), resident: s.memory(residentNow)}
	client := http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + s.address + "/metrics")
	if err != nil {
		return out
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		var value float64
		switch _, _ = fmt.Sscan(text, &value); name {
		case "go_memstats_heap_alloc_bytes":
			out.live = int(value)
		case "go_goroutines":
			out.goroutines = int(value)
		}
	}
	return out
}

// Fields of /proc: the resident memory, and its peak.
const (
	residentNow  = "VmRSS:"
	residentPeak = "VmHWM:"
)

// memory returns a field of the process in bytes; 0 without /proc.
func (s *server) memory(field string) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), field)
	kilobytes := 0
	_, _ = fmt.Sscan(rest, &kilobytes)
	return kilobytes << 10
}

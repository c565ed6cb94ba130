// Command load attacks a server that reloads its documents, and verifies every answer
// against the documents of the revision that it names. Beside the clients that ask, it
// keeps slow connections, which send a byte a second, and idle ones, sends bodies and
// headers that are too large, and each second saves documents that are valid, invalid or
// half written.
//
// With -wrk, the command wrk asks at full speed too. It prints figures, and fails if an answer is wrong, if a request fails, or if the
// server activates nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// options are how much is done at a time, and for how long.
type options struct {
	writ, policies      string
	clients, slow, idle int
	duration, every     time.Duration
	wrk                 string // the command wrk, empty to leave it out
}

func main() {
	var o options
	flag.StringVar(&o.writ, "writ", "bin/writ", "the writ binary to serve with")
	flag.StringVar(&o.policies, "policies", "examples/policies", "documents beside those that change")
	flag.IntVar(&o.clients, "clients", 16, "clients that ask all the time")
	flag.IntVar(&o.slow, "slow", 500, "connections that send a byte a second")
	flag.IntVar(&o.idle, "idle", 10_000, "connections that send nothing after their first request")
	flag.DurationVar(&o.duration, "duration", 3*time.Minute, "how long it takes")
	flag.DurationVar(&o.every, "every", time.Second, "how often documents are saved")
	flag.StringVar(&o.wrk, "wrk", "", "the command wrk, which asks at full speed beside the clients; empty leaves it out")
	flag.Parse()
	r, err := run(context.Background(), o)
	if r != nil {
		fmt.Print(r.text())
	}
	if err == nil {
		err = r.failure()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run starts a server and attacks it. The report is nil if it did not begin.
func run(ctx context.Context, o options) (*report, error) {
	d, err := newDocuments(ctx, o.policies)
	if err != nil {
		return nil, err
	}
	defer d.remove()
	s, err := startServer(o.writ, d.folder)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	r := newReport(o)
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	began := time.Now()
	r.before = s.sample(began)
	work := &work{address: s.address, documents: d, report: r}
	work.keep(ctx, o.slow, work.sendSlowly)
	work.keep(ctx, o.idle, work.stayIdle)
	for range o.clients {
		work.running.Go(func() { work.ask(ctx) })
	}
	work.running.Go(func() { work.exceed(ctx) })
	work.running.Go(func() { r.watch(ctx, s, began) })
	var attacked error
	if o.wrk != "" {
		work.running.Go(func() { attacked = work.attack(ctx, o.wrk, o.duration) })
	}
	err = d.saveEach(ctx, o.every)
	work.running.Wait()
	r.peak = s.memory(residentPeak)
	r.settle(s, began, min(o.duration/5, 30*time.Second))
	if err = errors.Join(err, attacked); err == nil && s.hasExited() {
		err = fmt.Errorf("the server has ended")
	}
	return r, err
}

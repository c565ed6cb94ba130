package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/tests/bench/report"
)

type options struct {
	bin, workloads, sizes, only, results string
	startLimit                           time.Duration
}

func main() {
	var o options
	var floorAddress, world string
	flag.StringVar(&o.bin, "bin", "bin/authzbench", "the folder of the programs")
	flag.StringVar(&o.workloads, "workloads", "tests/authzbench/workloads", "the folder of the workloads")
	flag.StringVar(&o.sizes, "n", "100,1000,10000", "the numbers of bindings")
	flag.StringVar(&o.only, "only", "", "measure only systems whose name contains one of these, separated by commas")
	flag.StringVar(&o.results, "results", "", "the folder to write RESULTS.md and curves to")
	flag.DurationVar(&o.startLimit, "start-limit", 2*time.Minute, "how long a system may take to start with a world")
	flag.StringVar(&floorAddress, "floor", "", "serve the floor on this address, for the harness itself")
	flag.StringVar(&world, "world", "", "the facts of the floor")
	flag.Parse()
	err := error(nil)
	if floorAddress != "" {
		err = serveFloor(floorAddress, world)
	} else {
		err = run(&o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "authzbench:", err)
		os.Exit(1)
	}
}

// bench is everything that one run reads and finds.
type bench struct {
	options  *options
	shape    shape
	asked    []workload
	hostile  []hostile
	measured []about
	results  []result
	outcomes nested // of hostile inputs, by input and system
	began    time.Time
	load     string
}

func run(o *options) error {
	b := &bench{options: o, outcomes: make(nested), began: time.Now(), load: report.Load()}
	for name, into := range map[string]any{"world": &b.shape, "questions": &b.asked, "hostile": &b.hostile} {
		if err := readYAML(filepath.Join(o.workloads, name+".yaml"), into); err != nil {
			return err
		}
	}
	o.bin, _ = filepath.Abs(o.bin)
	for i, size := range strings.Split(o.sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			return err
		}
		if err := b.size(n, i == 0); err != nil {
			return err
		}
	}
	return b.report()
}

// size measures each system in the world of n bindings. Hostile inputs are sent in the first.
func (b *bench) size(n int, hostile bool) error {
	w := newWorld(b.shape, n)
	reference := newReference(w)
	questions := map[string][]question{"settle": w.questions(64)} // others than are measured
	for _, asked := range b.asked {
		questions[asked.Name] = w.questions(asked.Distinct)
	}
	for _, make := range systems(b.options.bin) {
		a := make()
		if !b.wanted(a.about().Name) {
			continue
		}
		b.seen(a.about())
		fmt.Fprintf(os.Stderr, "%s, %d bindings\n", a.about().Name, n)
		if err := b.session(&session{adapter: a, reference: reference}, questions, hostile); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) wanted(name string) bool {
	for part := range strings.SplitSeq(b.options.only, ",") {
		if strings.Contains(strings.ToLower(name), strings.ToLower(part)) {
			return true
		}
	}
	return false
}

// session starts the system and measures it.
func (b *bench) session(s *session, questions map[string][]question, hostile bool) error {
	dir, err := os.MkdirTemp("", "authzbench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	defer s.close()
	ctx, cancel := context.WithTimeout(context.Background(), b.options.startLimit)
	defer cancel()
	begin := time.Now()
	start := result{System: s.about().Name, Workload: "start", N: s.reference.N, Asked: 1}
	if err = s.start(ctx, s.reference.world, dir); err == nil {
		err = s.settle(ctx, questions["settle"])
	}
	start.P50 = time.Since(begin)
	if err != nil {
		start.Failure = err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			start.Failure = fmt.Sprintf("no right answer in %v", b.options.startLimit)
		}
		fmt.Fprintln(os.Stderr, "  ", err)
		start.Errors = 1
		b.results = append(b.results, start)
		return nil
	}
	for i := range b.asked {
		w, r := &b.asked[i], result{}
		if w.Kind == "change" {
			r = s.changes(w)
		} else {
			r = s.measure(w, questions[w.Name])
		}
		fmt.Fprintf(os.Stderr, "   %-16s %7d asked, p50 %v, p99 %v, CPU %v, wrong %d, stale %d, back %v %.300s\n", w.Name, r.Asked, r.P50, r.P99, r.CPU, r.Wrong, r.Stale, r.Back, r.Failure)
		b.results = append(b.results, r)
	}
	start.Memory = s.memory()
	if b.results = append(b.results, start); !hostile {
		return nil
	}
	q := s.reference.lastGiven()
	for i := range b.hostile {
		at := b.outcomes.at(b.hostile[i].Name)
		at[s.about().Name] = s.try(&b.hostile[i], q)
		fmt.Fprintf(os.Stderr, "   %-40s %s\n", b.hostile[i].Name, at[s.about().Name])
	}
	return nil
}

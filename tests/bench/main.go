// Command bench measures writ beside what users have today, and prints the figures as
// ratios of a floor that is measured in the same run, since a machine's speed drifts: an
// evaluation of `allow := true` in process, an empty gin handler over HTTP. It judges
// nothing. With -results it also writes RESULTS.md and the curves of the figures.
//
// CPU time is the server process's own, so the cost of the load does not show.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/bundles"
)

// options are the flags.
type options struct {
	sizes, alone          string
	writ, opa, kubernetes string
	rounds, requests      int
	files, events         int
	floor, least, results string
	pages                 string
	sessions              int
	proofs, reach         bool
}

func main() {
	var o options
	flag.StringVar(&o.sizes, "n", "1000,10000,100000", "numbers of roles and bindings, separated by commas; empty measures only those of -alone")
	flag.StringVar(&o.alone, "alone", "", "numbers of roles and bindings for which writ is measured alone")
	flag.StringVar(&o.writ, "writ", "bin/writ", "the writ binary to serve with")
	flag.StringVar(&o.opa, "opa", "", "the opa binary to compare with")
	flag.StringVar(&o.kubernetes, "kubernetes", "", "the server of tests/kubernetes/serve to compare with")
	flag.IntVar(&o.files, "files", 100_000, "files of the directory with a document in each")
	flag.IntVar(&o.events, "events", 0, "measure diff, who-can and the replay of so many events instead")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of each figure in process; the smallest is shown")
	flag.IntVar(&o.requests, "requests", 20000, "a server over HTTP gets this number times twice that of the rounds, in turns with the others")
	flag.StringVar(&o.results, "results", "", "the folder to write RESULTS.md and pictures into, or MILLION.md with -alone only")
	flag.StringVar(&o.pages, "page", "", "numbers of roles and bindings for which the web console is measured, and nothing else")
	flag.IntVar(&o.sessions, "sessions", 0, "number of roles and bindings beside which sessions are measured, and nothing else")
	flag.BoolVar(&o.proofs, "verify", false, "measure the proofs of assertions, and nothing else")
	flag.BoolVar(&o.reach, "reach", false, "measure paths to administrators and smaller documents, and nothing else")
	flag.StringVar(&o.least, "least", "", "serve the least that a cached answer does on this address instead of measuring")
	flag.StringVar(&o.floor, "floor", "", "serve the floors on this address instead of measuring")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if o.floor != "" || o.least != "" {
		return serve(o)
	}
	if o.sessions > 0 {
		r := newResults()
		err := inWorld(o.sessions, documentsPerFile, func(w *world) error { return sessions(r, w, o.rounds) })
		r.printGoals(false)
		return err
	}
	if _, err := os.Stat(o.writ); err != nil {
		return fmt.Errorf("no writ binary to serve with (make build): %w", err)
	}
	if o.pages != "" {
		sizes, err := parseSizes(o.pages)
		if err != nil {
			return err
		}
		return pages(sizes, o)
	}
	sizes, err := parseSizes(o.sizes)
	if err != nil {
		return err
	}
	alone, err := parseSizes(o.alone)
	if err != nil {
		return err
	}
	r := newResults()
	for _, one := range []struct {
		isAsked bool
		file    string
		measure func(*results, options) error
	}{{o.proofs, "VERIFY.md", proofs}, {o.reach, "REACH.md", paths}, {o.events > 0, "CHANGE.md", changes}} {
		if !one.isAsked {
			continue
		}
		if err := one.measure(r, o); err != nil || o.results == "" {
			return err
		}
		return r.write(o.results, one.file, o.command())
	}
	file := "MILLION.md"
	if len(sizes) > 0 {
		file = "RESULTS.md"
		if err := measureAll(r, sizes, o); err != nil {
			return err
		}
	}
	for _, n := range alone {
		if err := inWorld(n, documentsPerFile, func(w *world) error { return measureAlone(r, w, o) }); err != nil {
			return err
		}
	}
	r.printGoals(len(sizes) > 0)
	if o.results == "" {
		return nil
	}
	if len(sizes) == 0 {
		r.charts = nil // those of RESULTS.md have more points
	}
	return r.write(o.results, file, o.command())
}

// serve serves the floors or the least of a cached answer.
func serve(o options) error {
	if o.least != "" {
		return serveLeast(o.least)
	}
	return serveFloor(o.floor)
}

// measureAll measures everything but writ alone.
func measureAll(r *results, sizes []int, o options) error {
	for _, n := range sizes {
		if err := inWorld(n, documentsPerFile, func(w *world) error { return measure(r, w, o) }); err != nil {
			return err
		}
	}
	if err := inWorld(slices.Max(sizes), documentsPerFile, func(w *world) error { return sessions(r, w, o.rounds) }); err != nil {
		return err
	}
	if err := inWorld(o.files/2, 1, func(w *world) error { return inFiles(r, w, o.rounds) }); err != nil {
		return err
	}
	if err := gateway(r, o); err != nil {
		return err
	}
	return visibility(r, o)
}

// command is what was called, without the folder of the results.
func (o *options) command() string {
	arguments := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(s string) bool { return s == "-results" || s == o.results && s != "" })
	for i, s := range arguments {
		if s == "" {
			arguments[i] = "''"
		}
	}
	return "go run ./tests/bench " + strings.Join(arguments, " ")
}

// parseSizes reads numbers of bindings; none is an empty text.
func parseSizes(text string) (sizes []int, err error) {
	for size := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		n, err := strconv.Atoi(size)
		if err != nil || n < 10 {
			return nil, fmt.Errorf("%q: want numbers from 10, separated by commas", text)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func inWorld(n, perFile int, run func(w *world) error) error {
	w, err := newWorld(n, perFile)
	if err != nil {
		return err
	}
	defer w.close()
	return run(w)
}

func measure(r *results, w *world, o options) error {
	r.printf("\n%d roles and %d bindings\n", w.n, w.n)
	bundle, err := inProcess(r, w, o)
	if err != nil {
		return err
	}
	if err := hitRates(r, w); err != nil {
		return err
	}
	return compare(r, w, bundle, o)
}

// compare measures writ and its peers over HTTP. Deny policies are documents of writ alone.
func compare(r *results, w *world, bundle *bundles.Bundle, o options) error {
	remove, err := w.deny(denyPolicies)
	if err != nil {
		return err
	}
	defer remove()
	peers, err := reviewPeers(w, bundle, o)
	if err != nil {
		return err
	}
	r.printf("  over HTTP, 16 connections; writ with %d deny policies\n", denyPolicies)
	const gin = 1
	return overHTTP(r, w, peers, gin, o)
}

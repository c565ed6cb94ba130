// Command bench measures writ and prints the figures as ratios of a floor that
// is measured in the same run, since a machine's speed drifts: an evaluation of
// `allow := true` in process, an empty gin handler over HTTP. It judges nothing.
//
// CPU time is the server process's own, so the cost of the load does not show.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	sizes := flag.String("n", "1000,10000,100000", "numbers of roles and bindings, separated by commas")
	writ := flag.String("writ", "bin/writ", "the writ binary to serve with")
	rounds := flag.Int("rounds", 5, "rounds of each figure; the smallest is shown")
	requests := flag.Int("requests", 20000, "requests of one round over HTTP")
	floor := flag.String("floor", "", "serve the floor on this address instead of measuring")
	flag.Parse()
	if err := run(*sizes, *writ, *floor, *rounds, *requests); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(sizes, writ, floor string, rounds, requests int) error {
	if floor != "" {
		return serveFloor(floor)
	}
	for _, size := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 10 {
			return fmt.Errorf("-n %q: want numbers from 10", sizes)
		}
		w, err := newWorld(n)
		if err != nil {
			return err
		}
		err = measure(w, writ, rounds, requests)
		if w.close(); err != nil {
			return err
		}
	}
	return visibility(rounds)
}

func measure(w *world, writ string, rounds, requests int) error {
	fmt.Printf("\n%d roles and %d bindings\n", w.n, w.n)
	if err := inProcess(w, rounds); err != nil {
		return err
	}
	if err := hitRates(w); err != nil {
		return err
	}
	return overHTTP(w, writ, rounds, requests)
}

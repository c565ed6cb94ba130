package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// measureAlone measures writ with so many documents that the other figures would take
// hours: the build of a signed bundle, a server that starts from it, its decisions beside those of a
// server with a small bundle, and a changed binding.
func measureAlone(r *results, w *world, o options) error {
	const few = 10_000
	var base figures
	if err := inWorld(few, documentsPerFile, func(w *world) error {
		r.printf("\n%d roles and %d bindings, writ alone\n", w.n, w.n)
		var err error
		base, err = fromBundle(r, w, o)
		return err
	}); err != nil {
		return err
	}
	r.printf("\n%d roles and %d bindings, writ alone\n", w.n, w.n)
	many, err := fromBundle(r, w, o)
	if err != nil {
		return err
	}
	r.printf("  %-34s %10.2f x that of %d bindings\n", "uncached decision over HTTP", many.cpu/base.cpu, few)
	r.reached(many.cpu/base.cpu, goalAloneCost, w.n)
	return reloads(r, w, 3) // a collection of the heap may fall into one
}

// fromBundle builds a signed bundle and returns what decisions of a server with it cost.
func fromBundle(r *results, w *world, o options) (figures, error) {
	bundle := filepath.Join(w.scratch, "bundle.tar.gz")
	files, err := newSigningFiles(w.scratch)
	if err != nil {
		return figures{}, err
	}
	build := exec.Command(o.writ, "build", w.dir, "-o", bundle, "--signing-key", files.key, "--keys", files.keys)
	began := time.Now()
	if text, err := build.CombinedOutput(); err != nil { // it has many warnings
		return figures{}, fmt.Errorf("build the bundle: %w: %.2000s", err, text)
	}
	took := time.Since(began)
	usage, _ := build.ProcessState.SysUsage().(*syscall.Rusage)
	info, err := os.Stat(bundle)
	if err != nil {
		return figures{}, err
	}
	cpu := build.ProcessState.UserTime() + build.ProcessState.SystemTime()
	r.printf("  %-34s %10.2f s  %.2f s CPU, peak %d MiB, bundle %.1f MiB\n", "build from documents", took.Seconds(), cpu.Seconds(),
		usage.Maxrss>>10, float64(info.Size())/(1<<20))
	command := []string{o.writ, "serve", "--bundle", bundle, "--keys", files.keys, "--log-level", "error", "--cache-entries", "0", "--listen", addressWord}
	began = time.Now()
	c, err := startChild(command, "/readyz")
	if err != nil {
		return figures{}, err
	}
	took = time.Since(began)
	r.printf("  %-34s %10.2f s  %.2f s CPU, peak %.0f MiB\n", "start from a signed bundle", took.Seconds(), c.cpu().Seconds(), c.memory())
	r.point("Start and change", "s", "start from a signed bundle", w.n, took.Seconds())
	r.reached(took.Seconds(), goalAloneStart, w.n)
	c.stop()
	best, err := measureOverHTTP(r, w, []peer{{name: "writ, uncached", command: command, bodies: reviewBodies(w.requests(o.requests))}}, 0, o)
	if err != nil {
		return figures{}, err
	}
	r.reached(best[0].memory, goalAlone, w.n)
	return best[0], nil
}

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
// hours: the build of a bundle, a server that starts from it, and its decisions.
func measureAlone(r *results, w *world, o options) error {
	r.printf("\n%d roles and %d bindings, writ alone\n", w.n, w.n)
	bundle := filepath.Join(w.scratch, "bundle.tar.gz")
	build := exec.Command(o.writ, "build", w.dir, "-o", bundle)
	began := time.Now()
	if text, err := build.CombinedOutput(); err != nil { // it has many warnings
		return fmt.Errorf("build the bundle: %w: %.2000s", err, text)
	}
	took := time.Since(began)
	usage, _ := build.ProcessState.SysUsage().(*syscall.Rusage)
	info, err := os.Stat(bundle)
	if err != nil {
		return err
	}
	cpu := build.ProcessState.UserTime() + build.ProcessState.SystemTime()
	r.printf("  %-34s %10.2f s  %.2f s CPU, peak %d MiB, bundle %.1f MiB\n", "build from documents", took.Seconds(), cpu.Seconds(),
		usage.Maxrss>>10, float64(info.Size())/(1<<20))
	command := []string{o.writ, "serve", "--bundle", bundle, "--log-level", "error", "--cache-entries", "0", "--listen", addressWord}
	began = time.Now()
	c, err := startChild(command, "/readyz")
	if err != nil {
		return err
	}
	r.printf("  %-34s %10.2f s  %.2f s CPU, peak %.0f MiB\n", "start from a bundle", time.Since(began).Seconds(), c.cpu().Seconds(), c.memory())
	r.point("Start and change", "s", "start from a bundle", w.n, time.Since(began).Seconds())
	c.stop()
	return overHTTP(r, w, []peer{{name: "writ, uncached", command: command, bodies: reviewBodies(w.requests(o.requests))}}, 0, o)
}

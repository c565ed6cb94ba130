package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// results records what is printed, and the figures that are drawn over the number of
// bindings.
type results struct {
	text   strings.Builder
	load   string // of the machine before the first figure
	charts []*chart
	goals  []goal
}

// newResults returns empty results.
func newResults() *results {
	load, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(load), " ")
	return &results{load: one, goals: newGoals()}
}

// printf prints a line and records it.
func (r *results) printf(format string, arguments ...any) {
	fmt.Printf(format, arguments...)
	fmt.Fprintf(&r.text, format, arguments...)
}

// point records a figure of a series of a chart.
func (r *results) point(title, unit, series string, n int, value float64) {
	for _, c := range r.charts {
		if c.title == title {
			c.add(series, n, value)
			return
		}
	}
	c := &chart{title: title, unit: unit}
	c.add(series, n, value)
	r.charts = append(r.charts, c)
}

// write writes a file of figures and its pictures into a folder.
func (r *results) write(dir, file, command string) error {
	var pictures strings.Builder
	for _, c := range r.charts {
		name := c.file()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(c.svg()), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&pictures, "![%s](%s)\n", c.title, name)
	}
	text := fmt.Sprintf(`# Results

Written on %[2]s by

    %[1]s

on %[3]d CPUs (%[4]s), %[5]s of memory, %[6]s, %[7]s/%[8]s. The load average before was %[9]s.

%[10]s
CPU time is that of the server process. Ratios are of figures of this run, of each of which the
smallest of the rounds is shown. Servers run on the machine that sends the requests.
[PROFILES.md](PROFILES.md) has where the time and the memory go, and why goals are missed.

%[11]s%[12]s%[13]s
`, command, time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), procField("/proc/cpuinfo", "model name"),
		procField("/proc/meminfo", "MemTotal"), runtime.Version(), runtime.GOOS, runtime.GOARCH, r.load, pictures.String(), "```text\n", strings.TrimLeft(r.text.String(), "\n"), "```")
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)
}

// procField returns the first value of a name in a file of "name: value" lines.
func procField(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/writ-policy/writ/tests/bench/report"
)

// results records what is printed, and the figures that are drawn over the number of
// bindings.
type results struct {
	text   strings.Builder
	load   string // of the machine before the first figure
	charts []*report.Chart
	goals  []goal
}

// newResults returns empty results.
func newResults() *results {
	return &results{load: report.Load(), goals: newGoals()}
}

// printf prints a line and records it.
func (r *results) printf(format string, arguments ...any) {
	fmt.Printf(format, arguments...)
	fmt.Fprintf(&r.text, format, arguments...)
}

// point records a figure of a series of a chart.
func (r *results) point(title, unit, series string, n int, value float64) {
	for _, c := range r.charts {
		if c.Title == title {
			c.Add(series, n, value)
			return
		}
	}
	c := &report.Chart{Title: title, Unit: unit}
	c.Add(series, n, value)
	r.charts = append(r.charts, c)
}

// write writes a file of figures and its pictures into a folder.
func (r *results) write(dir, file, command string) error {
	var pictures strings.Builder
	for _, c := range r.charts {
		picture, err := c.Write(dir)
		if err != nil {
			return err
		}
		pictures.WriteString(picture)
	}
	text := fmt.Sprintf(`# Results

Written on %[2]s by

    %[1]s

on %[3]s. The load average before was %[4]s.

%[5]s
CPU time is that of the server process. Ratios are of figures of this run, of each of which the
smallest of the rounds is shown. Over HTTP the servers take turns of 5,000 requests, and a figure is
that of all turns together. Servers run on the machine that sends the requests.
[PROFILES.md](PROFILES.md) has where the time and the memory go, and why goals are missed.

%[6]s%[7]s%[8]s
`, command, time.Now().UTC().Format("2006-01-02"), report.Machine(), r.load, pictures.String(), "```text\n", strings.TrimLeft(r.text.String(), "\n"), "```")
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)
}

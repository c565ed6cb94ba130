package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/tests/bench/report"
)

// report prints what was found, as Markdown, and writes it with its curves if a folder is given.
func (b *bench) report() error {
	var text, pictures strings.Builder
	only := b.options.only
	if only != "" {
		only = " ONLY=" + only
	}
	fmt.Fprintf(&text, `# Results of authzbench

Written on %s by

    make authzbench BINDINGS=%s%s RESULTS=tests/authzbench

in %v on %s. The load average before was %s.

Each system gets the same facts, roles and bindings, and the same questions, one after the other on
one connection; both are in the folder workloads. Each answer is compared with a naive reading of
the facts: "wrong" counts those that differ. A system that is asked over HTTP is a process of its
own on this machine and has the floor over HTTP; a library has the floor in process. p50 and p99 are
what the asker waits, CPU is that of the process for each answer. A row that states a time in the
place of figures is of a system that took longer. [doc.go](doc.go) states how to add a system.

`, b.began.UTC().Format(time.DateOnly), b.options.sizes, only, time.Since(b.began).Round(time.Second), report.Machine(), b.load)
	b.writeSystems(&text)
	text.WriteString("PICTURES\n")
	b.writeTable(&text, &pictures, &workload{Name: "start", Kind: "start", Title: "From the facts to right answers"})
	for i := range b.asked {
		b.writeTable(&text, &pictures, &b.asked[i])
	}
	b.writeHostile(&text)
	all := strings.Replace(text.String(), "PICTURES", pictures.String(), 1)
	fmt.Print(all)
	if b.options.results == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(b.options.results, "RESULTS.md"), []byte(all), 0o644)
}

func (b *bench) writeSystems(text *strings.Builder) {
	text.WriteString("| system | version | asked | changed | configured |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range b.measured {
		fmt.Fprintf(text, "| %s | %s | %s | %s | %s |\n", s.Name, s.Version, s.Asked, s.Changed, s.Configured)
	}
	text.WriteString("\n")
}

// figure is a column of a table: a time, or a text in the place of it.
type figure struct {
	name string
	time func(r *result) time.Duration
	text func(r *result) string
	draw string // the title of its curves, if there are any
}

func (w *workload) figures() []figure {
	p50 := figure{name: "p50", time: func(r *result) time.Duration { return r.P50 }, draw: w.Title}
	p99 := figure{name: "p99", time: func(r *result) time.Duration { return r.P99 }}
	switch w.Kind {
	case "start":
		p50.name = "time"
		return []figure{p50, {name: "memory, peak", text: func(r *result) string { return r.Memory }}}
	case "change":
		if w.Fresh { // the curves of the changes before have those systems
			p50.draw = ""
		}
		return []figure{p50, p99, {name: "taken back, p50", time: func(r *result) time.Duration { return r.Back }}}
	}
	cpu := figure{name: "CPU", time: func(r *result) time.Duration { return r.CPU }}
	if w.Kind == "decide" {
		cpu.draw = "CPU, " + w.Title
	}
	return []figure{p50, p99, cpu}
}

// writeTable writes a table with a row for each system and size, and its curves.
func (b *bench) writeTable(text, pictures *strings.Builder, w *workload) {
	figures := w.figures()
	asked := "asked | wrong"
	fmt.Fprintf(text, "## %s\n\n| bindings | system |", w.Title)
	for _, f := range figures {
		fmt.Fprintf(text, " %s |", f.name)
	}
	if w.Kind == "change" {
		asked = "changes | wrong in all of them, asked each millisecond"
	}
	fmt.Fprintf(text, " %s |\n| ---: | --- |%s ---: | ---: |\n", asked, strings.Repeat(" ---: |", len(figures)))
	charts := mapped(figures, func(f figure) *report.Chart { return &report.Chart{Title: f.draw, Unit: "us"} })
	for i := range b.results {
		r := &b.results[i]
		if r.Workload != w.Name {
			continue
		}
		fmt.Fprintf(text, "| %d | %s |", r.N, r.System)
		if r.Asked == r.Errors {
			fmt.Fprintf(text, " %s |%s\n", strings.ReplaceAll(r.Failure, "|", " "), strings.Repeat(" |", len(figures)+1))
			continue
		}
		for j, f := range figures {
			if f.text != nil {
				fmt.Fprintf(text, " %s |", f.text(r))
				continue
			}
			charts[j].Add(r.System, r.N, float64(f.time(r))/float64(time.Microsecond))
			fmt.Fprintf(text, " %s |", rounded(f.time(r)))
		}
		fmt.Fprintf(text, " %d | %s |\n", r.Asked, r.wrong())
	}
	text.WriteString("\n")
	for _, c := range charts {
		if c.Title == "" || b.options.results == "" {
			continue
		}
		picture, err := c.Write(b.options.results)
		if err != nil {
			fmt.Fprintln(os.Stderr, "authzbench:", err)
		}
		pictures.WriteString(picture)
	}
}

// wrong states the answers that differ from the reference; of changes, those until it counted.
func (r *result) wrong() string {
	if n := r.Wrong + r.Stale; n > 0 {
		return fmt.Sprintf("**%d** %s", n, r.Failure)
	}
	return "0"
}

// rounded writes three digits of a time in the unit that fits.
func rounded(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.3g us", d.Seconds()*1e6)
}

func (b *bench) writeHostile(text *strings.Builder) {
	text.WriteString(`## Hostile inputs

Refused: an error, a status that is not 2xx, or a closed connection. Denied: an answer, which is
right, as none of these may be allowed. A user with two values is allowed as the last; a system that
does not refuse it takes one of them. A library has no protocol and is only given the values.

| input |`)
	for _, s := range b.measured {
		fmt.Fprintf(text, " %s |", s.Name)
	}
	text.WriteString("\n| --- |" + strings.Repeat(" --- |", len(b.measured)) + "\n")
	for i := range b.hostile {
		fmt.Fprintf(text, "| %s |", b.hostile[i].Name)
		for _, s := range b.measured {
			fmt.Fprintf(text, " %v |", b.outcomes.at(b.hostile[i].Name)[s.Name])
		}
		text.WriteString("\n")
	}
}

// seen records a system once.
func (b *bench) seen(a about) {
	if !slices.Contains(b.measured, a) {
		b.measured = append(b.measured, a)
	}
}

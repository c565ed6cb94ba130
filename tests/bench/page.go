package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/answers"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// The budgets of the web console.
const (
	viewBytes     = 60_000 // of a view with its assets, in an empty browser
	mostViewBytes = 200_000
	assetBytes    = 20_000
	viewElements  = 6_000
	firstView     = 100 * time.Millisecond
	largeView     = 300 * time.Millisecond
	consoleMiB    = 60.0
	watchedShare  = 1.05
	consoles      = 10
	// pairs is how many rounds with and without consoles are compared.
	pairs = 7
)

// page is the figures of the web console, with their budgets.
type page struct {
	child  *child
	missed int
}

// pages prints the figures of the web console in worlds of some sizes, and whether each is
// within its budget.
func pages(sizes []int, o options) error {
	p := &page{}
	for _, n := range sizes {
		if err := inWorld(n, documentsPerFile, func(w *world) error { return p.measure(w, o) }); err != nil {
			return err
		}
	}
	if p.missed > 0 {
		return fmt.Errorf("%d figures are over their budget", p.missed)
	}
	return nil
}

func (p *page) measure(w *world, o options) error {
	fmt.Printf("\n%d roles and %d bindings\n", w.n, w.n)
	if err := p.memory(w); err != nil {
		return err
	}
	var err error
	serve := []string{o.writ, "serve", "--policies", w.dir, "--log-level", "error", "--listen", addressWord, "--page-log", "1000"}
	if p.child, err = startChild(serve, "/readyz"); err != nil {
		return err
	}
	defer p.child.stop()
	if err := p.views(w); err != nil {
		return err
	}
	return p.watched(w, o)
}

// row prints a figure with its budget.
func row[T cmp.Ordered](p *page, name string, got, budget T, format string) {
	word := "met"
	if got > budget {
		word = "MISSED"
		p.missed++
	}
	fmt.Printf("  %-56s %12s   budget %10s   %s\n", name, fmt.Sprintf(format, got), fmt.Sprintf(format, budget), word)
}

// fetched is an answer as it was transferred, and its text.
type fetched struct {
	took  time.Duration
	bytes int
	text  string
}

// fetch asks for a path as a browser does.
func (p *page) fetch(path string) (f fetched, err error) {
	request, err := http.NewRequest(http.MethodGet, "http://"+p.child.address+path, nil)
	if err != nil {
		return f, err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	began := time.Now()
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return f, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return f, err
	}
	f.took, f.bytes, f.text = time.Since(began), len(body), string(body)
	if answer.StatusCode != http.StatusOK {
		return f, fmt.Errorf("%s: %s: %.200s", path, answer.Status, body)
	}
	if answer.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(strings.NewReader(f.text))
		if err != nil {
			return f, err
		}
		text, err := io.ReadAll(unpacked)
		if err != nil {
			return f, err
		}
		f.text = string(text)
	}
	return f, nil
}

var (
	assetLinks = regexp.MustCompile(`/page/assets/[^"]+`)
	elements   = regexp.MustCompile(`<[a-z]`)
)

// views measures the time, the size and the elements of views and names. The first time
// counts too: it collects what later ones find.
func (p *page) views(w *world) error {
	assets := 0
	for i, v := range []struct {
		name, path string
		budget     time.Duration
	}{
		{"Overview", "/page/", largeView},
		{"names", "/v1/names?field=user&prefix=user-77", largeView},
		{"Who can", "/page/who-can?resource=pods&namespace=ns-1", largeView},
		{"What can", "/page/who-can?of=what&subject=user:user-10", largeView},
		{"a late page of the matrix", fmt.Sprintf("/v1/matrix?resource=pods&after=%d", w.n/2), largeView},
		{"a search in the matrix", "/v1/matrix?resource=pods&search=-99", largeView},
		{"Documents", "/page/documents", largeView},
		{"a document", "/page/documents/binding-000000.yaml?line=300", largeView},
		{"Ask", "/page/ask?user=user-1&groups=group-1&verb=get&resource=pods&namespace=ns-1", largeView},
		{"Log", "/page/log", largeView},
		{"Changes", "/page/changes", largeView},
		{"Inheritance", "/page/inheritance", largeView},
	} {
		var took []time.Duration
		var last fetched
		for range 11 {
			f, err := p.fetch(v.path)
			if err != nil {
				return err
			}
			took, last = append(took, f.took), f
		}
		if i == 0 {
			for _, link := range slices.Compact(slices.Sorted(slices.Values(assetLinks.FindAllString(last.text, -1)))) {
				f, err := p.fetch(link)
				if err != nil {
					return err
				}
				assets += f.bytes
			}
			row(p, "assets, transferred", assets, assetBytes, "%d B")
		}
		row(p, v.name+", the first time", took[0], v.budget, "%v")
		slices.Sort(took)
		row(p, v.name+", median", took[len(took)/2], firstView, "%v")
		if strings.HasPrefix(v.path, "/page/") {
			budget := viewBytes
			if assets+last.bytes > budget && strings.Contains(v.path, "?") {
				budget = mostViewBytes // rows that the query asks for
			}
			row(p, v.name+", transferred with assets", assets+last.bytes, budget, "%d B")
			row(p, v.name+", elements", len(elements.FindAllString(last.text, -1)), viewElements, "%d")
		}
	}
	began := time.Now()
	f, err := p.fetch("/v1/matrix?resource=pods&namespace=ns-1&format=csv")
	if err != nil {
		return err
	}
	fmt.Printf("  %-56s %12v   %d rows, %d bytes\n", "CSV of all rows", time.Since(began), strings.Count(f.text, "\n")-1, f.bytes)
	return nil
}

// live is the live memory in MiB.
func live() float64 { return float64(heap()) / (1 << 20) }

// memory measures what the console keeps beside the revision and its texts: counters, names
// and a full log.
func (p *page) memory(w *world) error {
	ctx := context.Background()
	l := &loader{directory: source.Dir(w.dir, source.DirOptions{}), translator: translator.New(translator.Options{})}
	bundle, e, err := l.load(ctx)
	if err != nil {
		return err
	}
	before := live()
	x := answers.New(answers.Options{Current: func() decision.Policies { return e }, Log: 1000})
	x.Activate(bundle)
	counters := live()
	everything := console.Caller{SeesAll: true}
	if _, err := x.Now().Names(everything, "user", "user-1"); err != nil {
		return err
	}
	names := live()
	for _, r := range w.requests(1000) {
		observe(ctx, x, e, &r)
	}
	full := live()
	fmt.Printf("  counters %.1f MiB, names %.1f MiB, a log of 1000 decisions %.1f MiB\n", counters-before, names-counters, full-names)
	row(p, "memory of the console", full-before, consoleMiB, "%.1f MiB")
	runtime.KeepAlive(x)
	runtime.KeepAlive(l)
	runtime.KeepAlive(bundle) // which the console does not keep
	return nil
}

// observe lets the console observe a decision.
func observe(ctx context.Context, x *answers.Explorer, e *engine.Engine, r *decision.Request) {
	d := e.Access(ctx, r)
	outcome := d.Settle()
	x.Observe(decision.Observation{
		Point: decision.Access, Revision: e.Loaded().Revision, Endpoint: reviewPath, Outcome: outcome, Took: time.Microsecond, Matched: d.Matched,
		Input: r.Encode, Result: func() []byte { return d.AppendJSON(nil) },
	})
}

// watched compares the CPU time of cached decisions while consoles watch with that of
// decisions that no console watches, in turn.
func (p *page) watched(w *world, o options) error {
	bodies := reviewBodies(w.requests(repeated))
	run := func() (float64, error) {
		before := p.child.cpu()
		took, err := p.child.load(bodies, o.requests)
		return (p.child.cpu() - before).Seconds() / float64(len(took)) * 1e6, err
	}
	if _, err := run(); err != nil { // fills the cache
		return err
	}
	var ratios, alone, with []float64
	for range pairs {
		quiet, err := run()
		if err != nil {
			return err
		}
		stop, err := p.watch()
		if err != nil {
			return err
		}
		busy, err := run()
		stop()
		if err != nil {
			return err
		}
		alone, with, ratios = append(alone, quiet), append(with, busy), append(ratios, busy/quiet)
	}
	median := func(list []float64) float64 {
		slices.Sort(list)
		return list[len(list)/2]
	}
	fmt.Printf("  CPU of a cached decision: %.1f us, %.1f us while %d consoles watch; ratios of %d pairs %.3f to %.3f\n",
		median(alone), median(with), consoles, pairs, slices.Min(ratios), slices.Max(ratios))
	row(p, fmt.Sprintf("CPU of a decision while %d consoles watch, median", consoles), median(ratios), watchedShare, "%.3f x")
	return nil
}

// watch opens event streams as consoles do, which are read until stop is called.
func (p *page) watch() (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	for range consoles {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.child.address+"/v1/events?decisions=1", nil)
		if err != nil {
			cancel()
			return nil, err
		}
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			cancel()
			return nil, err
		}
		if answer.StatusCode != http.StatusOK {
			cancel()
			return nil, fmt.Errorf("events: %s", answer.Status)
		}
		go func() {
			defer answer.Body.Close()
			_, _ = bufio.NewReader(answer.Body).WriteTo(io.Discard) // until ctx is done
		}()
	}
	return cancel, nil
}

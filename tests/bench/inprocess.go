package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/engine"
	writmetrics "github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// inProcess prints what an evaluation, an activation and a change cost.
func inProcess(r *results, w *world, o options) (*bundles.Bundle, error) {
	if err := startServer(r, w, o); err != nil {
		return nil, err
	}
	ctx := context.Background()
	l := &loader{directory: source.Dir(w.dir, source.DirOptions{}), translator: translator.New(translator.Options{})}
	bundle, e, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	floor, err := allowTrue()
	if err != nil {
		return nil, err
	}
	requests := w.requests(4096)
	denying, err := l.withDenyPolicies(ctx, w)
	if err != nil {
		return nil, err
	}
	cached := cache.New(cache.Options{Entries: 8192, Bytes: 64 << 20}, writmetrics.New()).Of(e)
	rows := []struct {
		name string
		run  func(i int)
	}{
		{"floor: allow := true", func(int) { floor() }},
		{"uncached decision", func(i int) { e.Access(ctx, &requests[i%len(requests)]) }},
		{"uncached, 200 deny policies", func(i int) { denying.Access(ctx, &requests[i%len(requests)]) }},
		{"cached decision", func(i int) { cached.Access(ctx, &requests[i%len(requests)]) }},
	}
	best := make([]testing.BenchmarkResult, len(rows))
	for round := range o.rounds {
		for i, row := range rows {
			result := benchmark(row.run)
			if round == 0 || result.NsPerOp() < best[i].NsPerOp() {
				best[i] = result
			}
		}
	}
	for i, row := range rows {
		r.printf("  %-34s %10.1f us %6d allocs %7.2f x floor\n", row.name, float64(best[i].NsPerOp())/1e3,
			best[i].AllocsPerOp(), float64(best[i].NsPerOp())/float64(best[0].NsPerOp()))
		r.point("CPU of a decision in process", "us", row.name, w.n, float64(best[i].NsPerOp())/1e3)
	}
	r.reached(float64(best[2].NsPerOp())/float64(best[0].NsPerOp()), goalInProcess)
	if err := starts(ctx, r, w, bundle); err != nil {
		return nil, err
	}
	return bundle, reloads(r, w, o.rounds)
}

// startServer prints what a server needs from the start of its process until it is ready, which is what
// a user waits for, at the pace of collection that a server starts with. A start in this process would
// have Go's pace. The smallest time of the rounds is shown, with its CPU time and peak of memory.
func startServer(r *results, w *world, o options) error {
	files, err := readFiles(w.dir)
	if err != nil {
		return err
	}
	var parsing, decoding, start, cpu time.Duration
	var memory float64
	for round := range o.rounds {
		parsed, err := parseAlone(files)
		if err != nil {
			return err
		}
		decoded := decodeAlone(files)
		began := time.Now()
		c, err := startChild([]string{o.writ, "serve", "--policies", w.dir, "--log-level", "error", "--listen", addressWord}, "/readyz")
		if err != nil {
			return err
		}
		took := time.Since(began)
		if round == 0 || took < start {
			start, cpu, memory = took, c.cpu(), c.memory()
		}
		if round == 0 || parsed < parsing {
			parsing = parsed
		}
		if round == 0 || decoded < decoding {
			decoding = decoded
		}
		c.stop()
	}
	r.printf("  %-34s %10.2f s\n", "floor: the YAML parser alone", parsing.Seconds())
	r.printf("  %-34s %10.2f s\n", "floor: files decoded, nothing else", decoding.Seconds())
	r.printf("  %-34s %10.2f s  %.2f x floor  %.2f s CPU, peak %.0f MiB\n", "server ready from documents", start.Seconds(),
		start.Seconds()/parsing.Seconds(), cpu.Seconds(), memory)
	r.reached(start.Seconds(), goalStart, w.n)
	r.point("Start and change", "s", "start from documents", w.n, start.Seconds())
	return nil
}

// starts measures starts from the bundle.
func starts(ctx context.Context, r *results, w *world, bundle *bundles.Bundle) error {
	if err := activation(ctx, r, w.n, "start from a bundle", bundle, nil); err != nil {
		return err
	}
	signed, keys, err := sign(w, bundle)
	if err != nil {
		return err
	}
	return activation(ctx, r, w.n, "start from a signed bundle", signed, keys)
}

func benchmark(run func(i int)) testing.BenchmarkResult {
	return testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			run(i)
			i++
		}
	})
}

// allowTrue is the floor: the same harness around a policy that says yes.
func allowTrue() (func(), error) {
	ctx := context.Background()
	query, err := rego.New(
		rego.Query("data.floor.allow"),
		rego.Module("floor.rego", "package floor\n\nallow := true\n"),
		rego.GenerateJSON(func(term *ast.Term, _ *rego.EvalContext) (any, error) { return term.Value, nil }),
	).PrepareForEval(ctx)
	if err != nil {
		return nil, err
	}
	input := ast.NewObject()
	return func() {
		cancel := topdown.NewCancel()
		_, _ = query.Eval(ctx, rego.EvalParsedInput(input), rego.EvalMetrics(metrics.NoOp()),
			rego.EvalExternalCancel(cancel), rego.EvalTime(time.Time{}))
	}, nil
}

// activation reads and activates the built bundle, as a replica does. Nil keys verify no
// signature.
func activation(ctx context.Context, r *results, n int, name string, bundle *bundles.Bundle, keys *bundles.Keys) error {
	var tar bytes.Buffer
	if err := bundle.WriteTar(&tar); err != nil {
		return err
	}
	before := heap()
	began := time.Now()
	read, err := bundles.ReadSigned(bytes.NewReader(tar.Bytes()), keys)
	if err != nil {
		return err
	}
	e, err := engine.Activate(ctx, read, engine.Options{})
	if err != nil {
		return err
	}
	took := time.Since(began)
	after := heap()
	r.point("Start and change", "s", name, n, took.Seconds())
	if keys != nil {
		r.reached(took.Seconds(), goalBundle, n)
	}
	r.printf("  %-34s %10.2f s  heap %d MiB, bundle %.1f MiB\n", name+", cold",
		took.Seconds(), int64(after-before)>>20, float64(tar.Len())/(1<<20))
	runtime.KeepAlive(e)
	runtime.KeepAlive(read)
	return nil
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// loader keeps what a server keeps between two reloads.
type loader struct {
	directory  *source.Directory
	translator *translator.Translator
	last       *engine.Engine
}

func (l *loader) load(ctx context.Context) (*bundles.Bundle, *engine.Engine, error) {
	snapshot, list, err := l.directory.Snapshot(ctx)
	if err != nil || list.HasErrors() {
		return nil, nil, errors.Join(err, fmt.Errorf("%d diagnostics of the snapshot", len(list)))
	}
	result, list := l.translator.Translate(ctx, snapshot)
	if result == nil {
		return nil, nil, fmt.Errorf("the documents do not compile: %v", list[0])
	}
	bundle, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		return nil, nil, err
	}
	l.last, err = engine.Activate(ctx, bundle, engine.Options{Last: l.last})
	return bundle, l.last, err
}

// withDenyPolicies activates the same documents beside deny policies.
func (l *loader) withDenyPolicies(ctx context.Context, w *world) (*engine.Engine, error) {
	remove, err := w.deny(denyPolicies)
	if err != nil {
		return nil, err
	}
	defer remove()
	_, e, err := l.load(ctx)
	return e, err
}

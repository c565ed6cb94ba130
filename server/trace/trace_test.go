package trace

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/writ-policy/writ/translator/progress"
)

func recorded(t *testing.T) (*Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	tracer := newTracer(recorder)
	t.Cleanup(func() { _ = tracer.Close(context.Background()) })
	return tracer, recorder
}

// told is a span as text: its way from the root, its attributes, what went wrong.
func told(spans []sdktrace.ReadOnlySpan) []string {
	names := map[string]string{}
	var lines []string
	for _, span := range spans {
		names[span.SpanContext().SpanID().String()] = span.Name()
	}
	for _, span := range spans {
		line := span.Name()
		if parent := names[span.Parent().SpanID().String()]; parent != "" {
			line = parent + "/" + line
		}
		for _, a := range span.Attributes() {
			line += " " + string(a.Key) + "=" + a.Value.String()
		}
		if text := span.Status().Description; text != "" {
			line += " failed: " + text
		}
		lines = append(lines, line)
	}
	return lines
}

func TestOneTraceAPieceOfWork(t *testing.T) {
	tracer, recorder := recorded(t)
	ctx, whole := progress.Start(progress.WithObservers(t.Context(), tracer), progress.Reload)
	_ = progress.Do(ctx, progress.Snapshot, func(ctx context.Context) error {
		return progress.Do(ctx, progress.Fetch, func(ctx context.Context) error {
			progress.FromContext(ctx).Count(12, "bytes")
			return nil
		})
	})
	_ = progress.Do(ctx, progress.Check, func(context.Context) error { return errors.New("it does not compile") })
	whole.Set(progress.Outcome, "refused")
	whole.Set(progress.Sequence, int64(7))
	whole.Set(progress.Errors, 1)
	if got := recorder.Ended(); len(got) != 0 {
		t.Errorf("sent before the whole has ended: %q", told(got))
	}
	whole.End(errors.New("it does not compile"))
	want := []string{
		"snapshot/fetch writ.done=12 writ.unit=bytes",
		"reload/snapshot",
		"reload/check failed: it does not compile",
		"reload writ.outcome=refused writ.sequence=7 writ.errors=1 failed: it does not compile",
	}
	got := recorder.Ended()
	if lines := told(got); !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	for _, span := range got {
		if span.SpanContext().TraceID() != got[0].SpanContext().TraceID() {
			t.Errorf("%s is in another trace", span.Name())
		}
	}
}

// A poll that finds nothing new and a stop of the server are no traces.
func TestNothingToTellOf(t *testing.T) {
	tracer, recorder := recorded(t)
	for _, end := range []func(*progress.Span){
		func(p *progress.Span) { p.Set(progress.Outcome, progress.Unchanged); p.End(nil) },
		func(p *progress.Span) { p.End(context.Canceled) },
	} {
		ctx, whole := progress.Start(progress.WithObservers(t.Context(), tracer), progress.Deliver)
		_ = progress.Do(ctx, progress.Wait, func(context.Context) error { return nil })
		end(whole)
	}
	if got := recorder.Ended(); len(got) != 0 {
		t.Errorf("got %q, want nothing", told(got))
	}
	_, whole := progress.Start(progress.WithObservers(t.Context(), tracer), progress.Deliver)
	whole.End(nil)
	if got := told(recorder.Ended()); !slices.Equal(got, []string{"deliver"}) {
		t.Errorf("got %q, want the next one alone", got)
	}
}

func TestRequestsThatAreTraced(t *testing.T) {
	const trace, sender = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, row := range []struct {
		name, header string
		traced       bool
	}{
		{"by its sender", "00-" + trace + "-" + sender + "-01", true},
		{"and not sampled", "00-" + trace + "-" + sender + "-00", false},
		{"by nobody", "", false},
		{"and broken", "00-" + trace + "-01", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			tracer, recorder := recorded(t)
			r := httptest.NewRequest("POST", "/v1/decisions/access", nil)
			if row.header != "" {
				r.Header.Set("traceparent", row.header)
			}
			_, end := tracer.Request(r, "/v1/decisions/access")
			if (end != nil) != row.traced {
				t.Fatalf("traced: got %v, want %v", end != nil, row.traced)
			}
			if end == nil {
				return
			}
			end(200, "5f5f")
			want := []string{"POST /v1/decisions/access http.request.method=POST http.route=/v1/decisions/access http.response.status_code=200 writ.revision=5f5f"}
			got := recorder.Ended()
			if lines := told(got); !slices.Equal(lines, want) {
				t.Fatalf("got %q, want %q", lines, want)
			}
			if id := got[0].SpanContext().TraceID().String(); id != trace || got[0].Parent().SpanID().String() != sender {
				t.Errorf("got trace %s below %s", id, got[0].Parent().SpanID())
			}
		})
	}
}

func TestWhatTheEnvironmentAsksFor(t *testing.T) {
	for _, row := range []struct {
		name   string
		set    map[string]string
		traces bool
		err    string
	}{
		{"nothing", nil, false, ""},
		{"a collector", map[string]string{endpointName: "http://127.0.0.1:4318"}, true, ""},
		{"a collector of traces", map[string]string{tracesName: "https://collector/v1/traces"}, true, ""},
		{"the collector of this machine", map[string]string{exporterName: "otlp"}, true, ""},
		{"a collector, and to be off", map[string]string{endpointName: "http://127.0.0.1:4318", disabledName: "TRUE"}, false, ""},
		{"a collector for other things", map[string]string{endpointName: "http://127.0.0.1:4318", exporterName: "none"}, false, ""},
		{"another exporter", map[string]string{exporterName: "zipkin"}, false, `"zipkin"`},
		{"another protocol", map[string]string{endpointName: "http://127.0.0.1:4317", protocolName: "grpc"}, false, "only http/protobuf"},
		{"no URL", map[string]string{endpointName: "user:secret@collector:4318"}, false, "no URL such as"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, name := range []string{disabledName, exporterName, endpointName, tracesName, protocolName, ownProtocol} {
				t.Setenv(name, row.set[name])
			}
			tracer, err := Open(t.Context(), Options{})
			if (tracer != nil) != row.traces || (err != nil) != (row.err != "") {
				t.Fatalf("got a tracer: %v, error %v", tracer != nil, err)
			}
			if err != nil && (!strings.Contains(err.Error(), row.err) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("got %v, want %s", err, row.err)
			}
			if tracer != nil {
				_ = tracer.Close(t.Context())
			}
		})
	}
}

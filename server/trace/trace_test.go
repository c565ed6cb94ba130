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

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
)

func newRecordedTracer(t *testing.T) (*Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	tracer := newTracer(recorder)
	t.Cleanup(func() { _ = tracer.Close(context.Background()) })
	return tracer, recorder
}

// format returns a line for each span: its parent, name, attributes and error.
func format(spans []sdktrace.ReadOnlySpan) []string {
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

func TestOneTracePerOperation(t *testing.T) {
	tracer, recorder := newRecordedTracer(t)
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
		t.Errorf("before the operation ended: got %q", format(got))
	}
	whole.End(errors.New("it does not compile"))
	want := []string{
		"snapshot/fetch writ.done=12 writ.unit=bytes",
		"reload/snapshot",
		"reload/check failed: it does not compile",
		"reload writ.outcome=refused writ.sequence=7 writ.errors=1 failed: it does not compile",
	}
	got := recorder.Ended()
	if lines := format(got); !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	for _, span := range got {
		if span.SpanContext().TraceID() != got[0].SpanContext().TraceID() {
			t.Errorf("%s: got another trace", span.Name())
		}
	}
}

// An operation that found nothing new, or ended because the server stops, is not exported.
func TestIdleOperationsAreDropped(t *testing.T) {
	tracer, recorder := newRecordedTracer(t)
	for _, end := range []func(*progress.Span){
		func(s *progress.Span) { s.Set(progress.Outcome, progress.Unchanged); s.End(nil) },
		func(s *progress.Span) { s.End(context.Canceled) },
	} {
		ctx, whole := progress.Start(progress.WithObservers(t.Context(), tracer), progress.Deliver)
		_ = progress.Do(ctx, progress.Wait, func(context.Context) error { return nil })
		end(whole)
	}
	if got := recorder.Ended(); len(got) != 0 {
		t.Errorf("got %q, want no spans", format(got))
	}
	_, whole := progress.Start(progress.WithObservers(t.Context(), tracer), progress.Deliver)
	whole.End(nil)
	if got := format(recorder.Ended()); !slices.Equal(got, []string{"deliver"}) {
		t.Errorf("got %q, want only the next operation", got)
	}
}

func TestRequestsOfTraces(t *testing.T) {
	const trace, sender = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, row := range []struct {
		name, header string
		isTraced     bool
	}{
		{"sampled", "00-" + trace + "-" + sender + "-01", true},
		{"not sampled", "00-" + trace + "-" + sender + "-00", false},
		{"without header", "", false},
		{"invalid header", "00-" + trace + "-01", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			tracer, recorder := newRecordedTracer(t)
			r := httptest.NewRequest("POST", "/v1/decisions/access", nil)
			if row.header != "" {
				r.Header.Set("traceparent", row.header)
			}
			_, end := tracer.Request(r, "/v1/decisions/access")
			if (end != nil) != row.isTraced {
				t.Fatalf("got a span: %v, want %v", end != nil, row.isTraced)
			}
			if end == nil {
				return
			}
			end(200, "5f5f")
			want := []string{"POST /v1/decisions/access http.request.method=POST http.route=/v1/decisions/access http.response.status_code=200 writ.revision=5f5f"}
			got := recorder.Ended()
			if lines := format(got); !slices.Equal(lines, want) {
				t.Fatalf("got %q, want %q", lines, want)
			}
			if id := got[0].SpanContext().TraceID().String(); id != trace || got[0].Parent().SpanID().String() != sender {
				t.Errorf("got trace %s below %s", id, got[0].Parent().SpanID())
			}
		})
	}
}

// A call is traced as a request is.
func TestCallsOfTraces(t *testing.T) {
	const trace, sender = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	sampled := "00-" + trace + "-" + sender + "-01"
	for _, row := range []struct {
		name     string
		parents  []string
		isTraced bool
	}{
		{"sampled", []string{sampled}, true},
		{"not sampled", []string{"00-" + trace + "-" + sender + "-00"}, false},
		{"without metadata", nil, false},
		{"two parents", []string{sampled, sampled}, false},
		{"an invalid parent", []string{"00-" + trace + "-01"}, false},
	} {
		tracer, recorder := newRecordedTracer(t)
		ctx, end := tracer.Call(t.Context(), row.parents, "a.Service/Check")
		if (end != nil) != row.isTraced || (decision.SpanOf(ctx).TraceID == trace) != row.isTraced {
			t.Fatalf("%s: got a span: %v, %+v", row.name, end != nil, decision.SpanOf(ctx))
		}
		if end == nil {
			continue
		}
		end("5f5f")
		want := []string{"a.Service/Check rpc.system=grpc rpc.service=a.Service rpc.method=Check writ.revision=5f5f"}
		if lines := format(recorder.Ended()); !slices.Equal(lines, want) {
			t.Errorf("%s: got %q, want %q", row.name, lines, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	for _, row := range []struct {
		name      string
		set       map[string]string
		isEnabled bool
		err       string
	}{
		{"empty", nil, false, ""},
		{"endpoint", map[string]string{endpointName: "http://127.0.0.1:4318"}, true, ""},
		{"endpoint of traces", map[string]string{tracesEndpointName: "https://collector/v1/traces"}, true, ""},
		{"default endpoint", map[string]string{exporterName: "otlp"}, true, ""},
		{"endpoint, but disabled", map[string]string{endpointName: "http://127.0.0.1:4318", disabledName: "TRUE"}, false, ""},
		{"endpoint for other signals", map[string]string{endpointName: "http://127.0.0.1:4318", exporterName: "none"}, false, ""},
		{"unsupported exporter", map[string]string{exporterName: "zipkin"}, false, `"zipkin"`},
		{"unsupported protocol", map[string]string{endpointName: "http://127.0.0.1:4317", protocolName: "grpc"}, false, `must be "http/protobuf"`},
		{"invalid endpoint", map[string]string{endpointName: "user:secret@collector:4318"}, false, "must be a URL such as"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, name := range []string{disabledName, exporterName, endpointName, tracesEndpointName, protocolName, tracesProtocolName} {
				t.Setenv(name, row.set[name])
			}
			tracer, err := Open(t.Context(), Options{})
			if (tracer != nil) != row.isEnabled || (err != nil) != (row.err != "") {
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

package trace

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A request that gives up leaves the question to another server that it shares with others: the
// span of that question, which ends after its root, is exported and not kept.
func TestSpansThatEndAfterTheirRoot(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	filter := newIdleTraceFilter(recorder)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(filter))
	tracer := &Tracer{provider, provider.Tracer("test")}
	t.Cleanup(func() { _ = tracer.Close(context.Background()) })

	r := httptest.NewRequest("GET", "/v1/status", nil)
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	ctx, end := tracer.Request(r, "/v1/status")
	_, endOther := tracer.Request(r, "/v1/other") // of the same trace
	_, shared := tracer.tracer.Start(ctx, "shared")
	end(200, "")
	_, late := tracer.tracer.Start(ctx, "late")
	endOther(200, "")
	shared.End()
	late.End()

	if len(filter.open) != 0 {
		t.Errorf("spans of %d traces are kept", len(filter.open))
	}
	got := format(recorder.Ended())
	for _, name := range []string{"shared", "late"} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasSuffix(line, "/"+name) }) {
			t.Errorf("%s is not exported: %q", name, got)
		}
	}
}

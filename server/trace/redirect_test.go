package trace

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/writ-policy/writ/internal/progress"
)

// The headers of the environment are sent to the collector, and not to where it redirects.
func TestHeadersStayWithTheCollector(t *testing.T) {
	reached := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached <- r.Header.Get("Api-Key")
	}))
	defer other.Close()
	asked := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Api-Key")
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
	tracer, err := Open(t.Context(), Options{})
	if err != nil || tracer == nil {
		t.Fatalf("got %v, %v", tracer, err)
	}
	ctx := progress.WithObservers(t.Context(), tracer)
	_, span := progress.Start(ctx, progress.Reload)
	span.Set(progress.Outcome, "activated")
	span.End(nil)
	done := make(chan struct{})
	go func() { _ = tracer.Close(t.Context()); close(done) }()
	select {
	case got := <-asked:
		if got != "secret" {
			t.Errorf("the collector got the header %q", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing is exported")
	}
	<-done
	if len(reached) > 0 {
		t.Errorf("another server got the header %q", <-reached)
	}
}

package progress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is an Observer that records each call.
type recorder struct{ calls []string }

func (r *recorder) Start(ctx context.Context, s *Span) (context.Context, SpanObserver) {
	r.calls = append(r.calls, "start "+string(s.Name))
	return context.WithValue(ctx, r, s.Name), &spanRecorder{r, s}
}

type spanRecorder struct {
	*recorder
	span *Span
}

func (r *spanRecorder) Set(key Attribute, value any) {
	r.calls = append(r.calls, fmt.Sprintf("%s: %s=%v", r.span.Name, key, value))
}

func (r *spanRecorder) End(err error) {
	n, unit := r.span.Done()
	r.calls = append(r.calls, fmt.Sprintf("end %s: %d %s, %v", r.span.Name, n, unit, err))
}

// Every observer receives every span in order, and the context of a step is derived from
// the context that the observer returned for the parent.
func TestObserversReceiveSpans(t *testing.T) {
	first, second := &recorder{}, &recorder{}
	ctx := WithObservers(WithObservers(t.Context(), first, nil), second)
	ctx, operation := Start(ctx, Reload)
	err := Do(ctx, Fetch, func(ctx context.Context) error {
		if got := ctx.Value(first); got != Fetch {
			t.Errorf("context of the step: got %v", got)
		}
		FromContext(ctx).Count(3, "bytes")
		FromContext(ctx).Count(4, "bytes")
		return errors.New("cut")
	})
	operation.Set(Outcome, "refused")
	operation.End(err)
	want := []string{"start reload", "start fetch", "end fetch: 7 bytes, cut", "reload: outcome=refused", "end reload: 0 , cut"}
	for _, observer := range []*recorder{first, second} {
		if !slices.Equal(observer.calls, want) {
			t.Errorf("got %q, want %q", observer.calls, want)
		}
	}
}

// Without observers no span starts, and the calls allocate nothing.
func TestWithoutObservers(t *testing.T) {
	ctx, s := Start(WithObservers(t.Context(), nil), Reload)
	if s != nil || FromContext(ctx) != nil {
		t.Fatal("got a span without observers")
	}
	allocations := testing.AllocsPerRun(100, func() {
		ctx, s := Start(ctx, Fetch)
		s.Count(1, "bytes")
		s.Set(Outcome, Unchanged)
		s.End(nil)
		FromContext(ctx).Count(1, "bytes")
	})
	if allocations != 0 {
		t.Errorf("got %v allocations, want 0", allocations)
	}
}

func TestPanicEndsSpan(t *testing.T) {
	r := &recorder{}
	func() {
		defer func() { _ = recover() }()
		_ = Do(WithObservers(t.Context(), r), Check, func(context.Context) error { panic("a bug") })
	}()
	if want := []string{"start check", "end check: 0 , panic"}; !slices.Equal(r.calls, want) {
		t.Errorf("got %q, want %q", r.calls, want)
	}
}

func TestCountFromManyGoroutines(t *testing.T) {
	_, s := Start(WithObservers(t.Context(), &recorder{}), Translate)
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 100 {
				s.Count(1, "files")
			}
		})
	}
	work.Wait()
	if n, unit := s.Done(); n != 800 || unit != "files" {
		t.Errorf("got %d %s, want 800 files", n, unit)
	}
}

// Observers receive the requests of their context, without what may be secret.
func TestTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	port := server.Listener.Addr().(*net.TCPAddr).Port
	observer := &recorder{}
	send := func(ctx context.Context) {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/secret?secret", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "secret")
		if response, err := Transport(nil).RoundTrip(request); err == nil {
			response.Body.Close()
		}
	}
	send(t.Context())
	send(WithObservers(t.Context(), observer))
	server.Close()
	send(WithObservers(t.Context(), observer))
	text := strings.Join(observer.calls, "; ")
	begin := fmt.Sprintf("start request; request: method=GET; request: host=127.0.0.1; request: port=%d; ", port)
	want := begin + "request: status=418; end request: 0 , <nil>; " + begin + "end request: 0 , "
	if !strings.HasPrefix(text, want) || strings.HasSuffix(text, "<nil>") || strings.Contains(text, "secret") {
		t.Errorf("got %s, want %s and an error", text, want)
	}
}

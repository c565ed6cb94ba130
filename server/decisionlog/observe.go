package decisionlog

import (
	"net/http"

	"github.com/open-policy-agent/opa/v1/tracing"

	"github.com/writ-policy/writ/internal/progress"
)

// OPA's clients have one place for the transport of uploads: a service of the process, which
// gets the options of each client.
func init() { tracing.RegisterHTTPTracing(observing{}) }

// observing reports the requests of clients to the observers in their options.
type observing struct{}

// NewTransport implements tracing.HTTPTracingService.
func (observing) NewTransport(next http.RoundTripper, o tracing.Options) http.RoundTripper {
	t := observed{next: progress.Transport(next)}
	for _, option := range o {
		if observers, ok := option.([]progress.Observer); ok {
			t.observers = observers
		}
	}
	return t
}

// NewHandler implements tracing.HTTPTracingService. OPA's server is not used.
func (observing) NewHandler(next http.Handler, _ string, _ tracing.Options) http.Handler { return next }

// observed adds observers to the context of requests: OPA uploads in one of its own.
type observed struct {
	next      http.RoundTripper
	observers []progress.Observer
}

func (t observed) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.next.RoundTrip(r.WithContext(progress.WithObservers(r.Context(), t.observers...)))
}

package api

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

// The line of a request has the revision that answered and the trace of the caller, and
// nothing else of its headers.
func TestRequestLog(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	for _, tt := range []struct {
		name, traceparent, want string
	}{
		{"none", "", ""},
		{"sampled", "00-" + id + "-b7ad6b7169203331-01", id},
		{"not sampled", "00-" + id + "-b7ad6b7169203331-00", id},
		{"another form", "secret-" + id, ""},
		{"too long", "00-" + id + "-b7ad6b7169203331-01-secret", ""},
	} {
		var log bytes.Buffer
		_, o := endpoints(&fake{}, func(o *Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		r := httptest.NewRequest("POST", "/v1/decisions/access?token=secret", strings.NewReader(`{"user":"secret","verb":"get","resource":"pods"}`))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization-Secret", "secret")
		if tt.traceparent != "" {
			r.Header.Set("Traceparent", tt.traceparent)
		}
		w := httptest.NewRecorder()
		New(o).ServeHTTP(w, r)
		var line struct{ Msg, Route, Revision, Trace string }
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v in %s", tt.name, err, log.String())
		}
		if revision := w.Header().Get("Writ-Revision"); line.Msg != "request" || line.Route != "/v1/decisions/access" || revision == "" || line.Revision != revision || line.Trace != tt.want {
			t.Errorf("%s: got %s", tt.name, log.String())
		}
		if strings.Contains(log.String(), "secret") {
			t.Errorf("%s: the line has what the caller chose: %s", tt.name, log.String())
		}
	}
}

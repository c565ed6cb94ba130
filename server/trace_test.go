package server

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector of traces: what it is sent over HTTP, it keeps.
type receiver struct {
	mu    sync.Mutex
	spans []*spans.Span
	about string // what the sender says of itself
	wrong []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body := io.Reader(request.Body)
	if request.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	content, err := io.ReadAll(body)
	var export collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(content, &export)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || request.URL.Path != "/v1/traces" || request.Header.Get("X-Key") != "k3y" {
		r.wrong = append(r.wrong, request.URL.Path)
	}
	for _, resource := range export.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			r.about += a.Key + "=" + a.Value.GetStringValue() + " "
		}
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// text returns what the spans contain.
func (r *receiver) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.spans)
}

// requestsTo are the names of the spans that made requests to a server, "" for a root.
func (r *receiver) requestsTo(t *testing.T, server string) (parents []string) {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[string]string{}
	for _, span := range r.spans {
		names[string(span.SpanId)] = span.Name
	}
	for _, span := range r.spans {
		for _, a := range span.Attributes {
			if a.Key == "server.port" && strconv.FormatInt(a.Value.GetIntValue(), 10) == at.Port() && span.Kind == spans.Span_SPAN_KIND_CLIENT {
				parents = append(parents, names[string(span.ParentSpanId)])
			}
		}
	}
	return parents
}

// find is the only span of a name with an attribute; "" asks for no attribute.
func (r *receiver) find(t *testing.T, name, key, value string) *spans.Span {
	t.Helper()
	var found []*spans.Span
	for _, span := range r.spans {
		if span.Name == name && (key == "" || attribute(span, key) == value) {
			found = append(found, span)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d spans %s with %s=%s, want 1", len(found), name, key, value)
	}
	return found[0]
}

func attribute(span *spans.Span, key string) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// steps are the names of the spans below one, in the order in which they began.
func (r *receiver) steps(of *spans.Span) string {
	var below []*spans.Span
	for _, span := range r.spans {
		if string(span.ParentSpanId) == string(of.SpanId) && string(span.TraceId) == string(of.TraceId) {
			below = append(below, span)
		}
	}
	slices.SortStableFunc(below, func(a, b *spans.Span) int { return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano)) })
	var names []string
	for _, span := range below {
		names = append(names, span.Name)
	}
	return strings.Join(names, " ")
}

// A collector gets one trace for each revision that is brought into service, or is
// not, and the spans of requests that were traced before they came here.
func TestTracesReachACollector(t *testing.T) {
	received := &receiver{}
	web := httptest.NewServer(received)
	defer web.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", web.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=k3y")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	h := newHouse(t)
	h.config.Version = "v9.9.9"
	h.config.StateDir = h.dir + "/state"
	h.config.Audit.DecisionLog = h.dir + "/decisions.jsonl"
	h.config.Envoy.Listen = "127.0.0.1:0"
	proxies := make(chan net.Addr, 1)
	h.config.Envoy.Listening = func(a net.Addr) { proxies <- a }
	r := h.run()
	r.eventually("ready", r.isReady)
	connection, err := grpc.NewClient((<-proxies).String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := checkOnce(t, connection, "", "traceparent", "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"); err != nil {
		t.Fatal(err)
	}
	if !r.allowed("alice") { // by a request that is not traced
		t.Error("alice may not")
	}
	request, err := http.NewRequest("POST", r.url+"/v1/decisions/access", strings.NewReader(`{"user":"alice","verb":"get","resource":"pods","namespace":"hammer"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	answer, err := r.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	first := answer.Header.Get("Writ-Revision")
	// In one step: a file that is read half written would be refused too.
	broken := h.write("broken.yaml", "kind: Role\n")
	if err := os.Rename(broken, h.dir+"/policies/broken.yaml"); err != nil {
		t.Fatal(err)
	}
	r.eventually("degraded", func() bool { _, page := r.get("/metrics"); return strings.Contains(page, "\nwrit_degraded 1\n") })
	r.stop()
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}

	received.mu.Lock()
	defer received.mu.Unlock()
	if len(received.wrong) > 0 {
		t.Errorf("requests that are not exports: %q", received.wrong)
	}
	for _, want := range []string{"service.name=writ", "service.version=v9.9.9", "deployment.environment.name=test"} {
		if !strings.Contains(received.about, want) {
			t.Errorf("got %q, want %s in it", received.about, want)
		}
	}
	good := received.find(t, "reload", "writ.outcome", "activated")
	if got, want := received.steps(good), "snapshot translate build activate verify keep"; got != want {
		t.Errorf("steps of the first reload: got %q, want %q", got, want)
	}
	if got := attribute(good, "writ.revision"); got != first {
		t.Errorf("got revision %q, want %s", got, first)
	}
	bad := received.find(t, "reload", "writ.outcome", "refused")
	if got, want := received.steps(bad), "snapshot translate"; got != want {
		t.Errorf("steps of the second: got %q, want %q", got, want)
	}
	if !strings.Contains(bad.Status.GetMessage(), "broken.yaml") {
		t.Errorf("got %q for why", bad.Status.GetMessage())
	}
	asked := received.find(t, "POST /v1/decisions/access", "writ.revision", first)
	if hex.EncodeToString(asked.TraceId) != "0af7651916cd43dd8448eb211c80319c" || hex.EncodeToString(asked.ParentSpanId) != "b7ad6b7169203331" {
		t.Errorf("got trace %x below %x", asked.TraceId, asked.ParentSpanId)
	}
	called := received.find(t, "envoy.service.auth.v3.Authorization/Check", "writ.revision", first)
	if hex.EncodeToString(called.TraceId) != "1af7651916cd43dd8448eb211c80319c" || hex.EncodeToString(called.ParentSpanId) != "c7ad6b7169203331" {
		t.Errorf("got trace %x below %x of a check", called.TraceId, called.ParentSpanId)
	}
	if got := received.find(t, "POST /v1/decisions/access", "", ""); got != asked {
		t.Error("a request without traceparent has a span")
	}
	logged, err := os.ReadFile(h.config.Audit.DecisionLog)
	own := `"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"` + hex.EncodeToString(asked.SpanId) + `"`
	if err != nil || strings.Count(string(logged), "\n") != 2 || strings.Count(string(logged), own) != 1 || strings.Count(string(logged), "trace_id") != 1 {
		t.Errorf("got %s and %v, want %s in one of two events", logged, err, own)
	}
}

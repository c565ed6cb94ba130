package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/trace"
)

// asked is a review as API servers send it.
const asked = `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},` +
	`"spec":{"resourceAttributes":{"namespace":"hammer","verb":"get","group":"apps","version":"v1","resource":"deployments","name":"web"},` +
	`"user":"system:serviceaccount:hammer:builder","groups":["system:serviceaccounts","system:serviceaccounts:hammer","system:authenticated"],` +
	`"extra":{"authentication.kubernetes.io/credential-id":["JTI=5f0a7f7e-7f0c-4d7b-9c5e-0e2c3a1d8a11"],` +
	`"authentication.kubernetes.io/pod-name":["builder-7d9c"],"authentication.kubernetes.io/pod-uid":["4b1a7f7e-7f0c-4d7b-9c5e-0e2c3a1d8a11"]},` +
	`"uid":"8f0a7f7e-7f0c-4d7b-9c5e-0e2c3a1d8a11"},"status":{"allowed":false}}`

// floorReview is what the floor decodes: the object as Kubernetes' own types
// have it.
type floorReview struct {
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		ResourceAttributes *struct {
			Namespace   string `json:"namespace,omitempty"`
			Verb        string `json:"verb,omitempty"`
			Group       string `json:"group,omitempty"`
			Version     string `json:"version,omitempty"`
			Resource    string `json:"resource,omitempty"`
			Subresource string `json:"subresource,omitempty"`
			Name        string `json:"name,omitempty"`
		} `json:"resourceAttributes,omitempty"`
		NonResourceAttributes *struct {
			Path string `json:"path,omitempty"`
			Verb string `json:"verb,omitempty"`
		} `json:"nonResourceAttributes,omitempty"`
		User   string              `json:"user,omitempty"`
		Groups []string            `json:"groups,omitempty"`
		Extra  map[string][]string `json:"extra,omitempty"`
		UID    string              `json:"uid,omitempty"`
	} `json:"spec"`
	Status struct {
		Allowed bool `json:"allowed"`
	} `json:"status"`
}

// floor is the least a handler in gin can do: decode and give a fixed answer.
func floor() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	answer := []byte(`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
	engine.POST("/apis/authorization.k8s.io/v1/subjectaccessreviews", func(c *gin.Context) {
		body, err := io.ReadAll(c.Request.Body)
		if err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		var review floorReview
		if err := json.Unmarshal(body, &review); err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		c.Data(http.StatusOK, "application/json", answer)
	})
	return engine
}

type fixed struct{ decision.Unavailable }

var fixedRevision = strings.Repeat("5f", 32)

func (fixed) Loaded() *decision.Loaded { return loadedFixed }

var loadedFixed = &decision.Loaded{Revision: fixedRevision}

// Key returns one key for all requests.
func (fixed) Key(b []byte, _ decision.Question) ([]byte, bool) { return append(b, 'r'), true }

func (f fixed) Access(context.Context, *decision.Request) decision.Decision {
	return decision.Decision{
		Allowed: true, Reason: "allowed by RoleBinding hammer/builders (ClusterRole edit, rule 3)", Revision: f.Loaded().Revision,
		Matched: []decision.Matched{{Kind: "RoleBinding", Namespace: "hammer", Name: "builders", Rule: 3, Effect: "allow"}},
	}
}

func cached() http.Handler {
	m := metrics.New()
	return New(Options{Current: serving(cache.New(cache.Options{Entries: 1000}, m).Of(fixed{})), Metrics: m, Rule: openRule})
}

// withCollector is cached with a collector of traces, and requests without a trace.
func withCollector(b *testing.B) http.Handler {
	b.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	tracer, err := trace.Open(b.Context(), trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = tracer.Close(context.Background()) })
	m := metrics.New()
	return New(Options{Current: serving(cache.New(cache.Options{Entries: 1000}, m).Of(fixed{})), Metrics: m, Rule: openRule, Tracer: tracer})
}

// The webhook endpoint with a cached decision, beside its floor: in process, and over
// a connection of this machine, where the client's work is in both figures.
func BenchmarkSubjectAccessReview(b *testing.B) {
	for _, handler := range []struct {
		name string
		http.Handler
	}{{"floor", floor()}, {"cached", cached()}, {"cached-with-a-collector", withCollector(b)}} {
		b.Run("handler/"+handler.name, func(b *testing.B) { benchmarkHandler(b, handler) })
		b.Run("http/"+handler.name, func(b *testing.B) { benchmarkHTTP(b, handler) })
	}
}

const reviewPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

func benchmarkHandler(b *testing.B, h http.Handler) {
	b.ReportAllocs()
	before := cpu(b)
	body := strings.NewReader(asked)
	r := httptest.NewRequest(http.MethodPost, reviewPath+"?timeout=3s", io.NopCloser(body))
	r.Header.Set("Content-Type", "application/json")
	w := &discard{header: http.Header{}}
	for b.Loop() {
		body.Reset(asked)
		clear(w.header)
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			b.Fatal(w.status)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) WriteHeader(status int)         { d.status = status }
func (d *discard) Write(data []byte) (int, error) { return len(data), nil }

// benchmarkHTTP writes requests to a connection as bytes and reads as many as an
// answer has: a client that costs next to nothing.
func benchmarkHTTP(b *testing.B, h http.Handler) { benchmarkReview(b, h, asked) }

func benchmarkReview(b *testing.B, h http.Handler, review string) {
	server := httptest.NewServer(h)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	request, err := http.NewRequest(http.MethodPost, server.URL+reviewPath+"?timeout=3s", strings.NewReader(review))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	var wire bytes.Buffer
	if err := request.Write(&wire); err != nil {
		b.Fatal(err)
	}
	answer := make([]byte, 64<<10)
	ask := func() int {
		if _, err := conn.Write(wire.Bytes()); err != nil {
			b.Fatal(err)
		}
		for n := 0; ; {
			more, err := conn.Read(answer[n:])
			if err != nil {
				b.Fatal(err)
			}
			if n += more; bytes.HasSuffix(answer[:n], []byte("}")) || bytes.HasSuffix(answer[:n], []byte("}\n")) {
				return n
			}
		}
	}
	if n := ask(); !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200")) {
		b.Fatalf("got %s", answer[:n])
	}
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		ask()
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

// cpu is the processor time of this process. On a machine that others work on it
// says more than the clock.
func cpu(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

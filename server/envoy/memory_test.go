package envoy_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/envoy"
	"github.com/writ-policy/writ/server/metrics"
)

// patience is how long a test waits for what must happen. It is long, so that a busy
// machine does not fail a test.
const patience = time.Minute

// listen serves o on loopback and returns the address.
func listen(t *testing.T, o envoy.Options) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Rule.Loopback = true
	server := envoy.New(o)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(0) })
	return listener.Addr().String()
}

func clientOf(t *testing.T, address string) authv3.AuthorizationClient {
	t.Helper()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return authv3.NewAuthorizationClient(connection)
}

// connectionOf returns a client whose calls share a connection, and may be half sent.
func connectionOf(t *testing.T) *http.Transport {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// checkOf returns the call of a check whose message is read from body.
func checkOf(t *testing.T, address string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+authv3.Authorization_Check_FullMethodName, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("Te", "trailers")
	return r
}

// sendHalf begins calls on one connection, each with half of a message of size bytes,
// and sends on ended when one ends.
func sendHalf(t *testing.T, address string, calls, size int, ended chan<- struct{}) {
	t.Helper()
	transport := connectionOf(t)
	for range calls {
		body, send := io.Pipe()
		t.Cleanup(func() { _ = send.Close() })
		go func() {
			message := make([]byte, 5+size/2)
			binary.BigEndian.PutUint32(message[1:], uint32(size))
			_, _ = send.Write(message)
		}()
		r := checkOf(t, address, body)
		go func() {
			response, err := transport.RoundTrip(r)
			if err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			ended <- struct{}{}
		}()
	}
}

func hasMetric(m *metrics.Metrics, line string) bool {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return strings.Contains(w.Body.String(), line+"\n")
}

// waitForRefused waits until the metrics count refusals for the reason, n of them, or one
// or more if n is 0: a client may see the end of its call before the server has counted.
func waitForRefused(t *testing.T, m *metrics.Metrics, reason string, n int) {
	t.Helper()
	line := fmt.Sprintf("writ_requests_refused_total{reason=%q} %d", reason, n)
	for deadline := time.Now().Add(patience); hasMetric(m, line) != (n > 0); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the metrics do not count %d refusals for %s", n, reason)
		}
	}
}

func waitFor(t *testing.T, ended <-chan struct{}, calls int) {
	t.Helper()
	deadline := time.After(patience)
	for i := range calls {
		select {
		case <-ended:
		case <-deadline:
			t.Fatalf("%d of %d calls ended", i, calls)
		}
	}
}

// Clients that begin messages and do not end them hold a bounded number of places, and
// keep no one else from being answered.
func TestHalfMessagesMakeRoom(t *testing.T) {
	m := metrics.New()
	g := &guard{decision: decision.GatewayDecision{Allowed: true, Status: 200}}
	address := listen(t, envoy.Options{
		Current: g.current, Metrics: m, MaxMessage: 64 << 10, ReceiveBytes: 3 * 128 << 10, ReceiveTimeout: time.Hour,
	})
	ended := make(chan struct{}, 16)
	sendHalf(t, address, 12, 60<<10, ended)
	waitFor(t, ended, 9)
	client := clientOf(t, address)
	for range 20 {
		if got := check(t, client, &authv3.CheckRequest{}); got.GetStatus().GetCode() != int32(codes.OK) {
			t.Fatalf("a check got %v while others send slowly", got)
		}
	}
	waitForRefused(t, m, "replaced_message", 10)
}

// A message of a connection that holds one place arrives, although another connection begins
// more messages after it than there are places.
func TestAFloodLosesItsOwnPlaces(t *testing.T) {
	m := metrics.New()
	g := &guard{decision: decision.GatewayDecision{Allowed: true, Status: 200}}
	address := listen(t, envoy.Options{
		Current: g.current, Metrics: m, MaxMessage: 64 << 10, ReceiveBytes: 3 * 128 << 10, ReceiveTimeout: time.Hour,
	})
	content, err := proto.Marshal(pathCheck("/shop"))
	if err != nil {
		t.Fatal(err)
	}
	message := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(content)))
	message = append(message, content...)
	body, send := io.Pipe()
	transport := connectionOf(t)
	r := checkOf(t, address, body)
	result := make(chan string, 1)
	go func() {
		response, err := transport.RoundTrip(r)
		if err != nil {
			result <- err.Error()
			return
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		result <- response.Header.Get("Grpc-Status") + response.Trailer.Get("Grpc-Status")
	}()
	if _, err := send.Write(message[:len(message)/2]); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}, 12)
	sendHalf(t, address, 12, 60<<10, ended)
	waitFor(t, ended, 10) // the flood keeps two places of three
	if _, err := send.Write(message[len(message)/2:]); err != nil {
		t.Fatal(err)
	}
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-result:
		if got != "0" {
			t.Errorf("the message of the other connection: got status %s, want 0", got)
		}
	case <-time.After(patience):
		t.Error("the message of the other connection is not answered")
	}
}

func TestSlowMessagesEnd(t *testing.T) {
	m := metrics.New()
	g := &guard{decision: decision.GatewayDecision{Allowed: true, Status: 200}}
	address := listen(t, envoy.Options{Current: g.current, Metrics: m, ReceiveTimeout: 50 * time.Millisecond})
	ended := make(chan struct{}, 4)
	sendHalf(t, address, 4, 60<<10, ended)
	waitFor(t, ended, 4)
	waitForRefused(t, m, "slow_message", 4)
}

// What is larger than a proxy sends is not read.
func TestMessageBeyondTheHeadroomFails(t *testing.T) {
	g := &guard{decision: decision.GatewayDecision{Allowed: true}}
	client := clientOf(t, listen(t, envoy.Options{Current: g.current, Metrics: metrics.New(), MaxMessage: 1100}))
	_, err := client.Check(t.Context(), pathCheck(strings.Repeat("a", 1100+64<<10)))
	if status.Code(err) != codes.ResourceExhausted || g.asked != nil {
		t.Errorf("got %v, asked %v, want %v", err, g.asked, codes.ResourceExhausted)
	}
}

func pathCheck(path string) *authv3.CheckRequest {
	return &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{Path: path}},
	}}
}

// A message with many values is denied before it is decoded, and so is one for which
// the other requests leave too few.
func TestValuesAreCharged(t *testing.T) {
	list := make([]any, 2000)
	for i := range list {
		list[i] = map[string]any{}
	}
	metadata, err := structpb.NewStruct(map[string]any{"list": list})
	if err != nil {
		t.Fatal(err)
	}
	many := &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		MetadataContext: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"a": metadata}},
	}}
	for _, row := range []struct {
		name   string
		limit  int
		budget int64
		held   int64
		check  *authv3.CheckRequest
		want   codes.Code
		reason string
	}{
		{"within both", 5000, 10_000, 0, many, codes.OK, ""},
		{"more than one may have", 3000, 10_000, 0, many, codes.InvalidArgument, "many_values"},
		{"more than are left", 5000, 10_000, 8000, many, codes.ResourceExhausted, "values_in_use"},
		{"a long text", 100, 10_000, 0, pathCheck(strings.Repeat("a", 4<<10)), codes.OK, ""},
	} {
		m, budget := metrics.New(), limits.NewBudget(row.budget)
		budget.Acquire(row.held)
		g := &guard{decision: decision.GatewayDecision{Allowed: true, Status: 200}}
		client := clientOf(t, listen(t, envoy.Options{Current: g.current, Metrics: m, MaxValues: row.limit, Values: budget}))
		got := codes.Code(check(t, client, row.check).GetStatus().GetCode())
		if got != row.want || (g.asked != nil) != (row.want == codes.OK) {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
		if row.reason != "" {
			waitForRefused(t, m, row.reason, 1)
		}
		if budget.Held() != row.held {
			t.Errorf("%s: %d values are still charged, want %d", row.name, budget.Held(), row.held)
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	m := metrics.New()
	g := &guard{decision: decision.GatewayDecision{Allowed: true, Status: 200}}
	address := listen(t, envoy.Options{Current: g.current, Metrics: m, MaxConnections: 1})
	check(t, clientOf(t, address), &authv3.CheckRequest{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := clientOf(t, address).Check(ctx, &authv3.CheckRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v from a connection beyond the bound, want %v", err, codes.Unavailable)
	}
	waitForRefused(t, m, "many_connections", 0)
}

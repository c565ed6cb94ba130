package envoy_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/envoy"
	"github.com/writ-policy/writ/server/metrics"
)

// guard answers every request alike and remembers what it was asked.
type guard struct {
	decision.Unavailable
	decision decision.GatewayDecision
	refused  *decision.InvalidRequest
	panics   bool
	waits    chan struct{}
	asked    *decision.GatewayRequest
}

func (g *guard) current() decision.Policies { return g }

func (g *guard) Gateway(ctx context.Context, r *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	g.asked = r
	if g.waits != nil {
		<-g.waits
	}
	if g.panics {
		panic("a bug")
	}
	return g.decision, g.refused
}

// dial serves o on loopback and returns a client of it.
func dial(t *testing.T, o envoy.Options) authv3.AuthorizationClient {
	t.Helper()
	return authv3.NewAuthorizationClient(connect(t, o))
}

func connect(t *testing.T, o envoy.Options) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Metrics = metrics.New()
	if o.Rule.Authenticator == nil {
		o.Rule.Loopback = true
	}
	server := envoy.New(o)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(0) })
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func check(t *testing.T, client authv3.AuthorizationClient, request *authv3.CheckRequest) *authv3.CheckResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	response, err := client.Check(ctx, request)
	if err != nil {
		t.Fatalf("the call failed, which a proxy may take for a yes: %v", err)
	}
	return response
}

func TestAnswers(t *testing.T) {
	denial := decision.GatewayDecision{Denied: true, Status: 403, Revision: "r1", Response: &decision.GatewayResponse{
		Code: 403, Message: "not you", Headers: map[string]string{"x-why": "a\r\nset-cookie: b"}, Body: "no",
	}}
	for name, row := range map[string]struct {
		guard   guard
		code    codes.Code
		status  int
		headers map[string]string
		body    string
	}{
		"allowed": {
			guard:   guard{decision: decision.GatewayDecision{Allowed: true, Status: 200, Headers: map[string]string{"x-user": "alice"}}},
			code:    codes.OK,
			headers: map[string]string{"x-user": "alice"},
		},
		"denied": {
			guard: guard{decision: denial}, code: codes.PermissionDenied, status: 403, body: "no",
			headers: map[string]string{"x-ext-auth-reason": "not you", "x-why": "a  set-cookie: b", "writ-revision": "r1"},
		},
		"no identity": {
			guard: guard{decision: decision.GatewayDecision{Denied: true, Status: 401}},
			code:  codes.Unauthenticated, status: 401, headers: map[string]string{},
		},
		"a denial of no status": {
			guard: guard{decision: decision.GatewayDecision{}},
			code:  codes.PermissionDenied, status: 403, headers: map[string]string{},
		},
		"a denial that looks like an answer": {
			guard: guard{decision: decision.GatewayDecision{Denied: true, Status: 200}},
			code:  codes.PermissionDenied, status: 403, headers: map[string]string{},
		},
		"no path": {
			guard: guard{decision: decision.GatewayDecision{Status: 404}},
			code:  codes.NotFound, status: 404, headers: map[string]string{},
		},
		"a redirect is a denial": {
			guard: guard{decision: decision.GatewayDecision{Denied: true, Status: 302}},
			code:  codes.PermissionDenied, status: 302, headers: map[string]string{},
		},
		"allowed and denied": {
			guard: guard{decision: decision.GatewayDecision{Allowed: true, Denied: true, Status: 403}},
			code:  codes.PermissionDenied, status: 403, headers: map[string]string{},
		},
		"an evaluation error": {
			guard: guard{decision: decision.GatewayDecision{}.Failed("no revision loaded")},
			code:  codes.Internal, status: 500, headers: map[string]string{},
		},
		"no request": {
			guard: guard{refused: &decision.InvalidRequest{Code: "unknown_gateway"}},
			code:  codes.InvalidArgument, status: 403, headers: map[string]string{},
		},
		"a bug": {guard: guard{panics: true}, code: codes.Internal, status: 500, headers: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			response := check(t, dial(t, envoy.Options{Current: row.guard.current}), &authv3.CheckRequest{})
			if got := codes.Code(response.GetStatus().GetCode()); got != row.code {
				t.Errorf("code %v, want %v", got, row.code)
			}
			options := response.GetOkResponse().GetHeaders()
			if denied := response.GetDeniedResponse(); denied != nil {
				options = denied.GetHeaders()
				if got := int(denied.GetStatus().GetCode()); got != row.status || denied.GetBody() != row.body {
					t.Errorf("status %d, body %q, want %d, %q", got, denied.GetBody(), row.status, row.body)
				}
			} else if row.code != codes.OK {
				t.Error("a denial has no denied response")
			}
			if got := read(options); !reflect.DeepEqual(got, row.headers) {
				t.Errorf("headers %q, want %q", got, row.headers)
			}
		})
	}
}

func read(options []*corev3.HeaderValueOption) map[string]string {
	all := map[string]string{}
	for _, option := range options {
		all[option.GetHeader().GetKey()] = option.GetHeader().GetValue()
	}
	return all
}

// Conditions read what the proxy reports of a request.
func TestRequest(t *testing.T) {
	payload, err := structpb.NewStruct(map[string]any{"claims": map[string]any{"sub": "alice", "age": 3}})
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{decision: decision.GatewayDecision{Allowed: true}}
	check(t, dial(t, envoy.Options{Current: g.current}), &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Source: &authv3.AttributeContext_Peer{
			Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
				Address: "10.0.0.9", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 40000},
			}}},
			Labels: map[string]string{"app": "a"},
		},
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Host: "api.example.com", Method: "GET", Path: "/x?y=1", Scheme: "https",
			Headers: map[string]string{"X-Tenant": "a"}, Size: -1, RawBody: []byte{0xff},
		}},
		ContextExtensions: map[string]string{"gateway": "net/edge", "listener": "https", "route": "books/api", "kind": "GRPCRoute", "rule": "rule-1"},
		MetadataContext: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
			envoy.DefaultIdentity: payload,
		}},
	}})
	got, err := json.Marshal(g.asked.Attributes)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"auth":{"identity":{"age":3,"sub":"alice"}},"destination":{},` +
		`"gateway":{"listener":"https","name":"edge","namespace":"net"},` +
		`"metadata":{"filter_metadata":{"envoy.filters.http.jwt_authn":{"claims":{"age":3,"sub":"alice"}}}},` +
		`"request":{"headers":{"x-tenant":"a"},"host":"api.example.com","method":"GET","path":"/x?y=1","scheme":"https","size":-1},` +
		`"route":{"kind":"GRPCRoute","name":"api","namespace":"books","rule":"rule-1"},` +
		`"source":{"address":"10.0.0.9","labels":{"app":"a"},"port":40000}}`
	if string(got) != want {
		t.Errorf("request\n%s\nwant\n%s", got, want)
	}
}

// logged keeps the events of a decision log.
type logged chan decision.Event

func (l logged) Log(e decision.Event) { l <- e }

// lines are those of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) { l <- string(line); return len(line), nil }

// The decision log has the address of the proxy that asked, and the log of requests the id of
// the decision.
func TestDecisionsAreLogged(t *testing.T) {
	g, log, lines := &guard{decision: decision.GatewayDecision{Allowed: true}}, make(logged, 1), make(lines, 1)
	check(t, dial(t, envoy.Options{
		Current: g.current, Log: log, Logger: slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}), &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{Host: "api.example.com", Method: "GET", Path: "/"}},
	}})
	e := <-log
	if host, _, err := net.SplitHostPort(e.RequestedBy); err != nil || host != "127.0.0.1" {
		t.Errorf("requested by: got %q (%v), want an address of this machine", e.RequestedBy, err)
	}
	if e.Point != decision.Gateway || !strings.Contains(string(e.Input), "api.example.com") || !strings.Contains(string(e.Result), `"allowed":true`) {
		t.Errorf("got %+v", e)
	}
	line := <-lines
	for _, want := range []string{"msg=request", "route=envoy.service.auth.v3.Authorization/Check", "from=" + e.RequestedBy, "decision=" + e.ID + " outcome=allow"} {
		if e.ID == "" || !strings.Contains(line, want) {
			t.Errorf("got the line %q, want %s in it", line, want)
		}
	}
}

// A header that is not UTF-8 could be taken for another one if it were replaced.
func TestInvalidHeaderText(t *testing.T) {
	g := &guard{decision: decision.GatewayDecision{Allowed: true}}
	response := check(t, dial(t, envoy.Options{Current: g.current}), &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			HeaderMap: &corev3.HeaderMap{Headers: []*corev3.HeaderValue{{Key: "x-user", RawValue: []byte{0xff}}}},
		}},
	}})
	if got := codes.Code(response.GetStatus().GetCode()); got != codes.InvalidArgument || g.asked != nil {
		t.Errorf("code %v, asked %v; want a denial without a question", got, g.asked)
	}
}

func TestOverloadDenies(t *testing.T) {
	g := &guard{decision: decision.GatewayDecision{Allowed: true}, waits: make(chan struct{})}
	client := dial(t, envoy.Options{Current: g.current, MaxInFlight: 1})
	answers := make(chan codes.Code, 2)
	for range 2 {
		go func() {
			response, err := client.Check(context.Background(), &authv3.CheckRequest{})
			if err != nil {
				answers <- codes.Unknown
				return
			}
			answers <- codes.Code(response.GetStatus().GetCode())
		}()
	}
	if got := <-answers; got != codes.ResourceExhausted {
		t.Errorf("the one too many got %v, want %v", got, codes.ResourceExhausted)
	}
	close(g.waits)
	if got := <-answers; got != codes.OK {
		t.Errorf("the first got %v, want %v", got, codes.OK)
	}
}

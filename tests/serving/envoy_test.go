package serving

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/writ-policy/writ/server"
	"github.com/writ-policy/writ/server/envoy"
)

// guardedGateway is the example's gateway behind Envoy's listener of a running server.
func guardedGateway(t *testing.T, policies string) authv3.AuthorizationClient {
	t.Helper()
	addresses := make(chan net.Addr, 1)
	c := server.Defaults()
	c.Policies, c.Listen, c.Envoy.Listen, c.Timeouts.Drain, c.Settle = []string{policies}, "127.0.0.1:0", "127.0.0.1:0", 0, 10*time.Millisecond
	c.Envoy.Listening = func(a net.Addr) { addresses <- a }
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	connection, err := grpc.NewClient((<-addresses).String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return authv3.NewAuthorizationClient(connection)
}

// checkOf is a check as Envoy sends it for a request to the books.
func checkOf(t *testing.T, method, host, address string, identity map[string]any) *authv3.CheckRequest {
	t.Helper()
	attributes := &authv3.AttributeContext{
		Source: &authv3.AttributeContext_Peer{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
			SocketAddress: &corev3.SocketAddress{Address: address},
		}}},
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Host: host, Method: method, Path: "/7", Scheme: "http",
		}},
		ContextExtensions: map[string]string{"gateway": "net/edge", "listener": "http"},
	}
	if identity != nil {
		payload, err := structpb.NewStruct(map[string]any{"claims": identity})
		if err != nil {
			t.Fatal(err)
		}
		attributes.MetadataContext = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{envoy.DefaultIdentity: payload}}
	}
	return &authv3.CheckRequest{Attributes: attributes}
}

// A proxy asks over the wire, and gets what the effective policies say.
func TestEnvoyAsks(t *testing.T) {
	client := guardedGateway(t, "../../examples/policies")
	reader := map[string]any{"sub": "ann", "groups": []any{"readers"}}
	for name, row := range map[string]struct {
		method, host, address string
		identity              map[string]any
		code                  codes.Code
		status                int
		body                  string
		headers               map[string]string
	}{
		"allowed, with a header to add": {
			method: "GET", identity: reader, code: codes.OK, headers: map[string]string{"x-user": "ann"},
		},
		"without an identity": {
			method: "GET", code: codes.Unauthenticated, status: 401, headers: map[string]string{"x-ext-auth-reason": "who are you?"},
		},
		"denied, with the policy's own body": {
			method: "PUT", identity: reader, code: codes.PermissionDenied, status: 403, body: "ask a seller, ann",
			headers: map[string]string{"x-ext-auth-reason": "not yours to change"},
		},
		"denied by the gateway's override": {
			method: "GET", address: "203.0.113.9", identity: reader, code: codes.PermissionDenied, status: 403, body: "ask a seller, ann",
		},
		"no route": {method: "GET", host: "other.example.com", identity: reader, code: codes.NotFound, status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			host, address := row.host, row.address
			if host == "" {
				host = "books.example.com"
			}
			if address == "" {
				address = "198.51.100.1"
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			response, err := client.Check(ctx, checkOf(t, row.method, host, address, row.identity))
			if err != nil {
				t.Fatalf("the call failed: %v", err)
			}
			if got := codes.Code(response.GetStatus().GetCode()); got != row.code {
				t.Errorf("code %v, want %v", got, row.code)
			}
			denied := response.GetDeniedResponse()
			if got := int(denied.GetStatus().GetCode()); got != row.status || denied.GetBody() != row.body {
				t.Errorf("status %d, body %q, want %d, %q", got, denied.GetBody(), row.status, row.body)
			}
			got := map[string]string{}
			for _, option := range append(response.GetOkResponse().GetHeaders(), denied.GetHeaders()...) {
				got[option.GetHeader().GetKey()] = option.GetHeader().GetValue()
			}
			for name, value := range row.headers {
				if got[name] != value {
					t.Errorf("header %s is %q, want %q", name, got[name], value)
				}
			}
		})
	}
}

// What does not compile any more changes no answer; what does, the next one.
func TestEnvoyFollowsTheDocuments(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/policies")); err != nil {
		t.Fatal(err)
	}
	client := guardedGateway(t, dir)
	ask := func() codes.Code {
		response, err := client.Check(context.Background(), checkOf(t, "PUT", "books.example.com", "198.51.100.1", map[string]any{"sub": "ann", "groups": []any{"readers"}}))
		if err != nil {
			t.Fatal(err)
		}
		return codes.Code(response.GetStatus().GetCode())
	}
	edit := func(change func(string) string) {
		path := filepath.Join(dir, "gateway", "books.yaml")
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(change(string(content))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit(func(text string) string { return text[:len(text)/2] })
	if got := ask(); got != codes.PermissionDenied {
		t.Fatalf("with half a document: %v", got)
	}
	whole, err := os.ReadFile("../../examples/policies/gateway/books.yaml")
	if err != nil {
		t.Fatal(err)
	}
	edit(func(string) string { return replaceOnce(t, string(whole), "'sellers' in", "'readers' in") })
	waitFor(t, func() bool { return ask() == codes.OK })
}

// replaceOnce is text with old, which must be in it once, replaced.
func replaceOnce(t *testing.T, text, old, by string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q is not in the text once", old)
	}
	return strings.Replace(text, old, by, 1)
}

// patience is how long a test waits for what must happen. It is long, so that a busy
// machine does not fail a test.
const patience = 2 * time.Minute

// waitFor waits until the condition holds.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	late := time.After(patience)
	for !holds() {
		select {
		case <-again.C:
		case <-late:
			t.Fatal("it did not come to hold")
		}
	}
}

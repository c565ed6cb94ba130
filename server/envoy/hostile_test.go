package envoy_test

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/envoy"
)

// raw sends bytes as they are.
type raw struct{}

func (raw) Name() string                        { return "proto" }
func (raw) Marshal(value any) ([]byte, error)   { return value.([]byte), nil }
func (raw) Unmarshal(data []byte, to any) error { return proto.Unmarshal(data, to.(proto.Message)) }

// What cannot be read is denied: a proxy may take a call that fails for a yes, and
// clients choose bodies and headers.
func TestUnreadable(t *testing.T) {
	checkOf := func(path string) []byte {
		text, err := proto.Marshal(&authv3.CheckRequest{Attributes: &authv3.AttributeContext{
			Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{Path: path}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, row := range map[string]struct {
		message []byte
		want    codes.Code
	}{
		"in order":        {checkOf("/a"), codes.OK},
		"as large as can": {checkOf("/" + strings.Repeat("a", 1000)), codes.OK},
		"no UTF-8":        {bytes.Replace(checkOf("/a"), []byte("/a"), []byte("/\xff"), 1), codes.InvalidArgument},
		"no message":      {[]byte("\xff\xff\xff"), codes.InvalidArgument},
		"too large":       {checkOf("/" + strings.Repeat("a", 2000)), codes.InvalidArgument},
		"with a body and headers as large as can": {checkOf("/" + strings.Repeat("a", 1100+60<<10)), codes.InvalidArgument},
	} {
		g := &guard{decision: decision.GatewayDecision{Allowed: true, Status: 200}}
		connection := connect(t, envoy.Options{Current: g.current, MaxMessage: 1100})
		response := new(authv3.CheckResponse)
		err := connection.Invoke(context.Background(), authv3.Authorization_Check_FullMethodName, row.message, response, grpc.ForceCodec(raw{}))
		if got := codes.Code(response.GetStatus().GetCode()); err != nil || got != row.want {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, row.want)
		}
		if (g.asked != nil) != (row.want == codes.OK) {
			t.Errorf("%s: asked %v", name, g.asked)
		}
	}
}

// A map has no order: of two headers whose names differ in case, none may decide.
func TestHeaderInTwoCases(t *testing.T) {
	g := &guard{decision: decision.GatewayDecision{Allowed: true, Status: 200}}
	client := dial(t, envoy.Options{Current: g.current})
	for name, row := range map[string]struct {
		headers map[string]string
		want    codes.Code
	}{
		"two names":          {map[string]string{"x-tenant": "a", "X-Other": "b"}, codes.OK},
		"one in two cases":   {map[string]string{"x-tenant": "a", "X-Tenant": "b"}, codes.InvalidArgument},
		"an empty one, also": {map[string]string{"x-tenant": "", "X-Tenant": "b"}, codes.InvalidArgument},
	} {
		response := check(t, client, &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
			Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{Path: "/", Headers: row.headers}},
		}})
		if got := codes.Code(response.GetStatus().GetCode()); got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}

// The reason of a failed authentication is not an identity.
func TestFailedAuthentication(t *testing.T) {
	for name, row := range map[string]struct {
		metadata map[string]any
		want     any
	}{
		"a token":            {map[string]any{"payload": map[string]any{"sub": "ann"}}, map[string]any{"sub": "ann"}},
		"a status":           {map[string]any{"failed_status": map[string]any{"code": 2, "message": "Jwt is expired"}}, nil},
		"a status and token": {map[string]any{"f": map[string]any{"code": 2, "message": "x"}, "p": map[string]any{"sub": "ann"}}, nil},
		"a token of a code": {
			map[string]any{"p": map[string]any{"code": "x", "message": "x", "sub": "ann"}},
			map[string]any{"code": "x", "message": "x", "sub": "ann"},
		},
		"nothing": {map[string]any{}, nil},
	} {
		payload, err := structpb.NewStruct(row.metadata)
		if err != nil {
			t.Fatal(err)
		}
		g := &guard{}
		check(t, dial(t, envoy.Options{Current: g.current}), &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
			MetadataContext: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{envoy.DefaultIdentity: payload}},
		}})
		var got any
		if auth, ok := g.asked.Attributes["auth"].(map[string]any); ok {
			got = auth["identity"]
		}
		if !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}

// A decision with a header that changes framing or routing is denied, and a denial goes
// without it.
func TestReservedHeaders(t *testing.T) {
	g := &guard{decision: decision.GatewayDecision{Allowed: true, Status: 200, Headers: map[string]string{"Host": "other.example"}}}
	connection := dial(t, envoy.Options{Current: g.current})
	if response := check(t, connection, &authv3.CheckRequest{}); response.GetDeniedResponse().GetStatus().GetCode() != 500 {
		t.Errorf("got %v, want a denial", response)
	}
	g.decision = decision.GatewayDecision{Denied: true, Status: 403, Response: &decision.GatewayResponse{
		Code: 403, Headers: map[string]string{"Transfer-Encoding": "chunked", "x-why": "because"},
	}}
	for _, header := range check(t, connection, &authv3.CheckRequest{}).GetDeniedResponse().GetHeaders() {
		if header.GetHeader().GetKey() == "Transfer-Encoding" {
			t.Error("got transfer-encoding on a denial")
		}
	}
}

// A client must not send the header that a policy would set.
func TestWithheldHeaders(t *testing.T) {
	g := &guard{decision: decision.GatewayDecision{
		Allowed: true, Status: 200, Headers: map[string]string{"x-user": "ann"}, Withheld: []string{"Content-Length", "host", "te", "x-admin", ":path"},
	}}
	response := check(t, dial(t, envoy.Options{Current: g.current}), &authv3.CheckRequest{})
	if got := response.GetOkResponse().GetHeadersToRemove(); !reflect.DeepEqual(got, []string{"x-admin"}) {
		t.Errorf("got %q, want x-admin", got)
	}
}

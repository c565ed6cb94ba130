package envoy

import (
	"context"
	"errors"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// service is the protocol's, but that a message which cannot be read is denied. The
// generated one fails the call.
var service = grpc.ServiceDesc{
	ServiceName: authv3.Authorization_ServiceDesc.ServiceName,
	HandlerType: (*authv3.AuthorizationServer)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Check", Handler: handle}},
	Metadata:    authv3.Authorization_ServiceDesc.Metadata,
}

// message is a check, or why it cannot be read.
type message struct {
	check authv3.CheckRequest
	err   error
}

// codec is that of protocol buffers, but that reading a message never fails.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

func (c codec) Unmarshal(data mem.BufferSlice, to any) error {
	m, ok := to.(*message)
	if !ok {
		return c.CodecV2.Unmarshal(data, to)
	}
	m.err = c.CodecV2.Unmarshal(data, &m.check)
	return nil
}

var errTooLarge = errors.New("the message is too large")

func handle(server any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	c := server.(*checker)
	m := new(message)
	if err := read(m); err != nil {
		return nil, err // there is no message to answer
	}
	if m.err == nil && proto.Size(&m.check) > c.MaxMessage {
		m.err = errTooLarge
	}
	if m.err != nil {
		return c.refuse(ctx, m.err), nil
	}
	return c.Check(ctx, &m.check)
}

package envoy

import (
	"context"
	"errors"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/writ-policy/writ/server/metrics"
)

// service is the protocol's, except that Check is served as a stream of one message:
// the transport reads the message of a unary call before it calls the handler, and a
// stream's handler decides when to read. Clients cannot tell the two apart.
var service = grpc.ServiceDesc{
	ServiceName: authv3.Authorization_ServiceDesc.ServiceName,
	HandlerType: (*any)(nil),
	Streams:     []grpc.StreamDesc{{StreamName: "Check", Handler: handle, ServerStreams: true, ClientStreams: true}},
	Metadata:    authv3.Authorization_ServiceDesc.Metadata,
}

// method is SERVICE/METHOD of a check, in traces and logs.
var method = authv3.Authorization_Check_FullMethodName[1:]

// message is a check as it was received. It must be freed.
type message struct{ mem.Buffer }

// codec is that of protocol buffers, except that it leaves received messages as they
// are: a message is weighed before it is decoded, and one that cannot be decoded is
// denied, where an error of the codec would fail the call.
type codec struct{ encoding.CodecV2 }

func (c codec) Unmarshal(data mem.BufferSlice, to any) error {
	m, ok := to.(*message)
	if !ok {
		return c.CodecV2.Unmarshal(data, to)
	}
	m.Buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

var (
	errTooLarge      = errors.New("the message is too large")
	errTooManyValues = errors.New("the message has too many values")
)

func handle(server any, stream grpc.ServerStream) error {
	c, ctx := server.(*checker), stream.Context()
	var revision string // that answers, empty before
	if c.Tracer != nil {
		traced, end := c.Tracer.Call(ctx, parentsOf(ctx), method)
		if ctx = traced; end != nil {
			defer func() { end(revision) }()
		}
	}
	if err := c.admit(ctx); err != nil {
		return err // before the message is read
	}
	var m message
	if err := c.receive(stream, &m); err != nil {
		return err // without a message to answer
	}
	defer m.Free()
	return stream.SendMsg(c.answer(ctx, m.ReadOnlyData(), &revision))
}

// parentsOf are the values of traceparent in the metadata of a call.
func parentsOf(ctx context.Context) []string {
	return metadata.ValueFromIncomingContext(ctx, "traceparent")
}

// receive reads the message of a call in one of the places for it.
func (c *checker) receive(stream grpc.ServerStream, m *message) error {
	r := c.receptions.begin(stream.Context())
	err := stream.RecvMsg(m)
	held := c.receptions.finish(r)
	if err == nil && !held {
		m.Free()
		err = context.Cause(stream.Context())
	}
	return err
}

// answer decodes and answers a message, and sets the revision that does. The places for
// checks and the budget of values are taken before it is decoded.
func (c *checker) answer(ctx context.Context, data []byte, revision *string) *authv3.CheckResponse {
	c.Metrics.Began()
	defer c.Metrics.Ended()
	if !c.inFlight.Acquire(1) {
		c.Metrics.Shed()
		return overloaded()
	}
	defer c.inFlight.Release(1)
	if len(data) > c.MaxMessage {
		return c.refuse(ctx, errTooLarge)
	}
	values := countValues(data)
	if values > c.MaxValues {
		c.Metrics.Refused(metrics.ManyValues)
		return c.refuse(ctx, errTooManyValues)
	}
	if !c.Values.Acquire(int64(values)) {
		c.Metrics.Refused(metrics.ValuesInUse)
		return overloaded()
	}
	defer c.Values.Release(int64(values))
	check := new(authv3.CheckRequest)
	if err := proto.Unmarshal(data, check); err != nil {
		return c.refuse(ctx, err)
	}
	policies := c.Current()
	*revision = policies.Loaded().Revision
	return c.check(ctx, policies, check)
}

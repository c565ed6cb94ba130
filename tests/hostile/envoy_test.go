package hostile

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/envoy"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/oracle/gateway"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// FuzzEnvoy sends checks over gRPC, as a proxy does: edited as a message, and then as
// bytes.
func FuzzEnvoy(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, []byte(nil), []byte(nil))
		f.Add(seed, edits(seed*41), []byte(nil))
		f.Add(seed, edits(seed*43), edits(seed*47))
	}
	f.Fuzz(func(t *testing.T, seed uint64, edits, wire []byte) {
		d := random.New(seed, 23)
		s := gateSites[d.IntN(len(gateSites))]
		s.open(t)
		message := checkOf(d, s.drawGate(d))
		if !editMessage(message, edits) {
			return
		}
		sent, err := proto.Marshal(message)
		if err != nil {
			return // a text that is not UTF-8
		}
		sent = editWire(sent, wire)
		got := s.check(t, sent)
		if problem := s.judgeCheck(sent, got, len(edits)+len(wire) > 0); problem != "" {
			t.Fatalf("%s\n%s\n-- answer --\n%s", problem, protojson.Format(message), protojson.Format(got))
		}
	})
}

// judgeCheck returns what is wrong about an answer, empty if nothing is.
func (s *site) judgeCheck(sent []byte, got *authv3.CheckResponse, edited bool) string {
	if logged := s.takeErrors(); logged != "" {
		return "the server reports an error: " + logged
	}
	allowed := got.GetStatus().GetCode() == 0
	if allowed != (got.GetOkResponse() != nil) || !allowed && got.GetDeniedResponse() == nil {
		return "the status and the response contradict each other"
	}
	for _, option := range got.GetOkResponse().GetHeaders() {
		name := strings.ToLower(option.GetHeader().GetKey())
		if slices.Contains([]string{"host", "content-length", "transfer-encoding", "connection", "te", "upgrade"}, name) || strings.HasPrefix(name, ":") {
			return "the answer sets " + name
		}
		if strings.ContainsAny(option.GetHeader().GetValue(), "\r\n\x00") {
			return "a header's value ends the header"
		}
	}
	read := new(authv3.CheckRequest)
	may := false
	if proto.Unmarshal(sent, read) == nil {
		if input := readCheck(read); input != nil {
			may = s.lets(input)
		}
	}
	switch {
	case allowed && !may:
		return "allowed, and must not be"
	case may && !allowed && !edited:
		return "denied, and may not be"
	}
	return ""
}

// The drawn checks are answered as the oracle decides, and some are allowed.
func TestDrawnChecksAreAnswered(t *testing.T) {
	allowed := 0
	for seed := range uint64(200) {
		d := random.New(seed, 23)
		s := gateSites[d.IntN(len(gateSites))]
		s.open(t)
		message := checkOf(d, s.drawGate(d))
		sent, err := proto.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		got := s.check(t, sent)
		if problem := s.judgeCheck(sent, got, false); problem != "" {
			t.Errorf("%s\n%s\n-- answer --\n%s", problem, protojson.Format(message), protojson.Format(got))
		}
		if got.GetStatus().GetCode() == 0 {
			allowed++
		}
	}
	if allowed < 20 {
		t.Errorf("%d of 200 checks are allowed", allowed)
	}
}

// checkOf is the check of a request, without what a proxy cannot send.
func checkOf(d random.Source, r *gateway.Request) *authv3.CheckRequest {
	in := &fields{r.Input, true}
	request := in.in("request")
	http := &authv3.AttributeContext_HttpRequest{
		Host: request.text("host"), Method: request.text("method"), Path: request.text("path"), Scheme: request.text("scheme"),
	}
	for name, value := range request.textMap("headers") {
		if d.Once(2) {
			http.HeaderMap = &corev3.HeaderMap{Headers: append(http.GetHeaderMap().GetHeaders(), &corev3.HeaderValue{Key: name, RawValue: []byte(value)})}
			continue
		}
		if http.Headers == nil {
			http.Headers = map[string]string{}
		}
		http.Headers[name] = value
	}
	a := &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{Http: http}, ContextExtensions: map[string]string{}}
	for key, part := range map[string]string{"gateway": "listener", "route": "rule"} {
		if at := in.in(key); at.object != nil {
			a.ContextExtensions[key] = at.text("namespace") + "/" + at.text("name")
			if text := at.text(part); text != "" {
				a.ContextExtensions[part] = text
			}
		}
	}
	if source := in.in("source"); source.object != nil {
		a.Source = peerAt(source.text("address"), 0)
	}
	if destination := in.in("destination"); destination.object != nil {
		a.Destination = peerAt("", uint32(read[int](destination, "port")))
	}
	if identity, ok := in.in("auth").object["identity"].(map[string]any); ok {
		if payload, err := structpb.NewStruct(identity); err == nil {
			a.MetadataContext = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
				envoy.DefaultIdentity: {Fields: map[string]*structpb.Value{"payload": structpb.NewStructValue(payload)}},
			}}
		}
	}
	return &authv3.CheckRequest{Attributes: a}
}

func peerAt(address string, port uint32) *authv3.AttributeContext_Peer {
	return &authv3.AttributeContext_Peer{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
		SocketAddress: &corev3.SocketAddress{Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}},
	}}}
}

// editMessage edits a check by its JSON. It returns false if the result is not a check.
func editMessage(message *authv3.CheckRequest, edits []byte) bool {
	if len(edits) == 0 {
		return true
	}
	text, err := protojson.Marshal(message)
	if err != nil {
		return false
	}
	r := &request{body: text}
	for s := script(edits); len(s) > 0; {
		r.editTree(&s)
	}
	proto.Reset(message)
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(r.body, message) == nil
}

// editWire edits the bytes of a message.
func editWire(message, edits []byte) []byte {
	for s := script(edits); len(s) > 0; {
		at := 0
		if len(message) > 0 {
			at = (s.next()<<8 + s.next()) % len(message)
		}
		switch s.next() % 5 {
		case 0:
			message = message[:at]
		case 1:
			message = append(slices.Clone(message), message...) // the fields of both count
		case 2:
			message = slices.Insert(slices.Clone(message), at, byte(s.next()))
		case 3:
			message = append(slices.Clone(message), message[at:]...)
		case 4:
			if message = slices.Clone(message); len(message) > 0 {
				message[at] = byte(s.next())
			}
		}
		if len(message) > 1<<18 {
			return message[:1<<18]
		}
	}
	return message
}

// readCheck is the naive reading of a check; nil if it has none.
func readCheck(check *authv3.CheckRequest) map[string]any {
	a := check.GetAttributes()
	http := a.GetRequest().GetHttp()
	headers := map[string]any{}
	add := func(name, value string) bool {
		before, repeated := headers[strings.ToLower(name)].(string)
		if repeated {
			value = before + "," + value
		}
		headers[strings.ToLower(name)] = value
		return utf8.ValidString(value)
	}
	for name, value := range http.GetHeaders() {
		if _, repeated := headers[strings.ToLower(name)]; repeated || !add(name, value) {
			return nil // a map has no order, so neither value is the first
		}
	}
	for _, header := range http.GetHeaderMap().GetHeaders() {
		value := header.GetValue()
		if value == "" {
			value = string(header.GetRawValue())
		}
		if !add(header.GetKey(), value) {
			return nil
		}
	}
	request := map[string]any{"host": http.GetHost(), "method": http.GetMethod(), "path": http.GetPath(), "headers": headers}
	if http.GetScheme() != "" {
		request["scheme"] = http.GetScheme()
	}
	if http.GetQuery() != "" {
		request["query"] = http.GetQuery()
	}
	input := map[string]any{"request": request}
	for key, part := range map[string]string{"gateway": "listener", "route": "rule"} {
		text, section := a.GetContextExtensions()[key], a.GetContextExtensions()[part]
		if text+section == "" {
			continue
		}
		namespace, name, _ := strings.Cut(text, "/")
		object := map[string]any{"namespace": namespace, "name": name}
		if section != "" {
			object[part] = section
		}
		input[key] = object
	}
	input["source"] = map[string]any{"address": a.GetSource().GetAddress().GetSocketAddress().GetAddress()}
	if port := a.GetDestination().GetAddress().GetSocketAddress().GetPortValue(); port != 0 {
		input["destination"] = map[string]any{"port": int(port)}
	}
	if identity := identityIn(a.GetMetadataContext().GetFilterMetadata()[envoy.DefaultIdentity]); identity != nil {
		input["auth"] = map[string]any{"identity": identity}
	}
	return input
}

// identityIn is what the filter of the proxy left: the payload of the only provider, or
// those of all. A status, which is a code and a message, is not an identity.
func identityIn(left *structpb.Struct) any {
	all := left.AsMap()
	if len(all) == 0 {
		return nil
	}
	var only map[string]any
	for _, value := range all {
		object, _ := value.(map[string]any)
		_, code := object["code"].(float64)
		_, message := object["message"].(string)
		if len(object) == 2 && code && message {
			return nil
		}
		only = object
	}
	if len(all) == 1 && only != nil {
		return wholeNumbers(only)
	}
	return wholeNumbers(all)
}

// wholeNumbers turns numbers that are whole into ints, as the oracle has them.
func wholeNumbers(value any) any {
	switch value := value.(type) {
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int(value)
		}
	case map[string]any:
		for key, member := range value {
			value[key] = wholeNumbers(member)
		}
	case []any:
		for i, element := range value {
			value[i] = wholeNumbers(element)
		}
	}
	return value
}

// bytesCodec sends messages that are bytes already.
type bytesCodec struct{ encoding.CodecV2 }

func (c bytesCodec) Marshal(message any) (mem.BufferSlice, error) {
	if sent, ok := message.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(sent)}, nil
	}
	return nil, fmt.Errorf("a %T is not bytes", message)
}

// check sends a message. The call must not fail, whatever the message is.
func (s *site) check(t testing.TB, sent []byte) *authv3.CheckResponse {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	got := new(authv3.CheckResponse)
	codec := grpc.ForceCodecV2(bytesCodec{encoding.GetCodecV2("proto")})
	if err := s.proxy.Invoke(ctx, authv3.Authorization_Check_FullMethodName, sent, got, codec); err != nil {
		t.Fatalf("the call failed: %v\n%s", err, base64.StdEncoding.EncodeToString(sent))
	}
	return got
}

// listenForProxies serves checks until the process ends.
func (s *site) listenForProxies(t testing.TB, m *metrics.Metrics) {
	pipe := bufconn.Listen(1 << 16)
	server := envoy.New(envoy.Options{
		Current: func() decision.Policies { return s.policies }, Metrics: m, Rule: auth.Rule{Loopback: true}, Logger: s.logger(),
	})
	go func() { _ = server.Serve(pipe) }()
	var err error
	s.proxy, err = grpc.NewClient("passthrough:pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return pipe.Dial() }))
	if err != nil {
		t.Fatal(err)
	}
}

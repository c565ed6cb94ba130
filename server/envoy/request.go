package envoy

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/writ-policy/writ/server/decision"
)

// Keys of the context extensions that say where a request is. Gateway and route are
// NAMESPACE/NAME; kind is that of the route.
const (
	extensionGateway  = "gateway"
	extensionListener = "listener"
	extensionRoute    = "route"
	extensionKind     = "kind"
	extensionRule     = "rule"
)

// request returns the gateway request of a check. A header that is not UTF-8 is invalid,
// since a replacement would be another value. Attributes that the proxy does not send are left
// out.
func request(check *authv3.CheckRequest, identity string) (*decision.GatewayRequest, *decision.InvalidRequest) {
	attributes := check.GetAttributes()
	extensions := attributes.GetContextExtensions()
	http, invalid := httpRequest(attributes.GetRequest().GetHttp())
	if invalid != nil {
		return nil, invalid
	}
	r := map[string]any{
		"request":     http,
		"source":      peer(attributes.GetSource()),
		"destination": peer(attributes.GetDestination()),
	}
	if gateway := named(extensions[extensionGateway], extensionListener, extensions[extensionListener]); gateway != nil {
		r["gateway"] = gateway
	}
	if route := named(extensions[extensionRoute], extensionRule, extensions[extensionRule]); route != nil {
		if kind := extensions[extensionKind]; kind != "" {
			route["kind"] = kind
		}
		r["route"] = route
	}
	if sni := attributes.GetTlsSession().GetSni(); sni != "" {
		r["connection"] = map[string]any{"requested_server_name": sni}
	}
	metadata := attributes.GetMetadataContext().GetFilterMetadata()
	if len(metadata) > 0 {
		r["metadata"] = map[string]any{"filter_metadata": structs(metadata)}
	}
	if who := identityOf(metadata[identity]); who != nil {
		r["auth"] = map[string]any{"identity": who}
	}
	return &decision.GatewayRequest{Attributes: r}, nil
}

// named is an object with the namespace and name of "NAMESPACE/NAME".
func named(text, partKey, part string) map[string]any {
	if text == "" && part == "" {
		return nil
	}
	namespace, name, _ := strings.Cut(text, "/")
	object := map[string]any{"namespace": namespace, "name": name}
	if part != "" {
		object[partKey] = part
	}
	return object
}

func httpRequest(http *authv3.AttributeContext_HttpRequest) (map[string]any, *decision.InvalidRequest) {
	headers, invalid := headers(http)
	if invalid != nil {
		return nil, invalid
	}
	r := map[string]any{
		"host": http.GetHost(), "method": http.GetMethod(), "path": http.GetPath(),
		"headers": headers, "size": number(http.GetSize()),
	}
	body := http.GetBody()
	if raw := http.GetRawBody(); body == "" && utf8.Valid(raw) {
		body = string(raw)
	}
	addTexts(r, [2]string{"id", http.GetId()}, [2]string{"scheme", http.GetScheme()}, [2]string{"protocol", http.GetProtocol()},
		[2]string{"query", http.GetQuery()}, [2]string{"fragment", http.GetFragment()}, [2]string{"body", body})
	return r, nil
}

// addTexts adds pairs of keys and texts that are not empty.
func addTexts(r map[string]any, pairs ...[2]string) {
	for _, pair := range pairs {
		if pair[1] != "" {
			r[pair[0]] = pair[1]
		}
	}
}

var (
	errHeaderEncoding = &decision.InvalidRequest{Code: decision.CodeInvalidRequest, Message: "a header is not UTF-8"}
	errHeaderTwice    = &decision.InvalidRequest{Code: decision.CodeInvalidRequest, Message: "two headers have the same name in different cases"}
)

// headers returns the headers by lower-case name; Envoy joins repeated ones, or sends
// them one by one in the header map. The map of joined ones has no order: of two names
// that are the same in lower case, neither value is the one that counts.
func headers(http *authv3.AttributeContext_HttpRequest) (map[string]any, *decision.InvalidRequest) {
	all := make(map[string]any, len(http.GetHeaders()))
	for name, value := range http.GetHeaders() {
		name = strings.ToLower(name)
		if all[name] != nil {
			return nil, errHeaderTwice
		}
		all[name] = value
	}
	for _, header := range http.GetHeaderMap().GetHeaders() {
		name := strings.ToLower(header.GetKey())
		value := header.GetValue()
		if value == "" {
			value = string(header.GetRawValue())
		}
		if before, repeated := all[name].(string); repeated {
			value = before + "," + value
		}
		if !utf8.ValidString(value) {
			return nil, errHeaderEncoding
		}
		all[name] = value
	}
	return all, nil
}

func peer(p *authv3.AttributeContext_Peer) map[string]any {
	r := make(map[string]any)
	if address, ok := p.GetAddress().GetAddress().(*corev3.Address_SocketAddress); ok {
		r["address"] = address.SocketAddress.GetAddress()
		if port := address.SocketAddress.GetPortValue(); port != 0 {
			r["port"] = number(int64(port))
		}
	}
	addTexts(r, [2]string{"principal", p.GetPrincipal()}, [2]string{"service", p.GetService()}, [2]string{"certificate", p.GetCertificate()})
	if labels := p.GetLabels(); len(labels) > 0 {
		all := make(map[string]any, len(labels))
		for key, value := range labels {
			all[key] = value
		}
		r["labels"] = all
	}
	return r
}

func number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

func structs(metadata map[string]*structpb.Struct) map[string]any {
	all := make(map[string]any, len(metadata))
	for namespace, values := range metadata {
		all[namespace] = values.AsMap()
	}
	return all
}

// identityOf returns the authenticated identity: the one payload that the filter left, or
// all of them if there are several. The reason of a failed authentication, which the
// filter may leave in the same place, is not an identity.
func identityOf(payloads *structpb.Struct) any {
	fields := payloads.GetFields()
	for _, payload := range fields {
		if isFailure(payload.GetStructValue()) {
			return nil
		}
	}
	if len(fields) == 1 {
		for _, payload := range fields {
			if inner := payload.GetStructValue(); inner != nil {
				return inner.AsMap()
			}
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return payloads.AsMap()
}

// isFailure reports whether a payload is the status of an authentication that
// failed: a code and a message, and nothing that a token says.
func isFailure(payload *structpb.Struct) bool {
	fields := payload.GetFields()
	_, code := fields["code"].GetKind().(*structpb.Value_NumberValue)
	_, message := fields["message"].GetKind().(*structpb.Value_StringValue)
	return len(fields) == 2 && code && message
}

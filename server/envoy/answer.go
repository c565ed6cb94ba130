package envoy

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/writ-policy/writ/server/decision"
)

// Headers of an answer: why a request was denied, and which revision decided.
const (
	reasonHeader   = "x-ext-auth-reason"
	revisionHeader = "writ-revision"
)

// response is a decision in Envoy's protocol. Headers are checked here once more,
// whatever decided.
func response(decided *decision.GatewayDecision) *authv3.CheckResponse {
	checked := decided.Sendable()
	d := &checked
	if !d.Allowed || d.Denied {
		return denied(d)
	}
	metadata, err := structpb.NewStruct(plain(d.Metadata))
	if err != nil {
		failed := d.Failed("the metadata cannot be represented")
		failed.Revision = d.Revision
		return denied(&failed)
	}
	return &authv3.CheckResponse{
		Status: &statuspb.Status{Code: int32(codes.OK)},
		HttpResponse: &authv3.CheckResponse_OkResponse{
			OkResponse: &authv3.OkHttpResponse{Headers: options(d.Headers), HeadersToRemove: removed(d.Withheld)},
		},
		DynamicMetadata: metadata,
	}
}

// removed are the headers to take out of the request: none that frames or routes it.
func removed(withheld []string) []string {
	return slices.DeleteFunc(slices.Clone(withheld), func(name string) bool {
		return !decision.CanSetHeader(name)
	})
}

func denied(d *decision.GatewayDecision) *authv3.CheckResponse {
	headers, body := map[string]string{}, ""
	if d.Response != nil {
		if d.Response.Message != "" {
			headers[reasonHeader] = d.Response.Message
		}
		maps.Copy(headers, d.Response.Headers)
		body = d.Response.Body
	}
	if d.Revision != "" {
		headers[revisionHeader] = d.Revision
	}
	status := d.Status
	if status < http.StatusMultipleChoices {
		status = http.StatusForbidden // a denial must not look like a success
	}
	return denial(code(status), status, headers, body)
}

func denial(code codes.Code, status int, headers map[string]string, body string) *authv3.CheckResponse {
	return &authv3.CheckResponse{
		Status: &statuspb.Status{Code: int32(code)},
		HttpResponse: &authv3.CheckResponse_DeniedResponse{
			DeniedResponse: &authv3.DeniedHttpResponse{
				Status:  &typev3.HttpStatus{Code: typev3.StatusCode(status)},
				Headers: options(headers),
				Body:    body,
			},
		},
	}
}

// overloaded denies a check because too many are in flight.
func overloaded() *authv3.CheckResponse {
	return denial(codes.ResourceExhausted, http.StatusServiceUnavailable, nil, "")
}

// invalid denies an invalid check, such as one of a gateway that no document declares.
func invalid() *authv3.CheckResponse {
	return denial(codes.InvalidArgument, http.StatusForbidden, nil, "")
}

// code is never OK, which Envoy takes for an allowance regardless of the rest.
func code(status int) codes.Code {
	switch status {
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusInternalServerError:
		return codes.Internal
	}
	return codes.PermissionDenied
}

// options are headers that replace what the request or the answer has under their
// names, sorted. Line ends, which would end a header, become spaces.
func options(headers map[string]string) []*corev3.HeaderValueOption {
	var list []*corev3.HeaderValueOption
	for name, value := range headers {
		list = append(list, &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: name, Value: decision.HeaderValue(value)},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		})
	}
	slices.SortFunc(list, func(a, b *corev3.HeaderValueOption) int {
		return strings.Compare(a.GetHeader().GetKey(), b.GetHeader().GetKey())
	})
	return list
}

// plain turns numbers into what a protobuf value can hold.
func plain(values map[string]any) map[string]any {
	all := make(map[string]any, len(values))
	for key, value := range values {
		all[key] = plainValue(value)
	}
	return all
}

func plainValue(value any) any {
	switch value := value.(type) {
	case interface{ Float64() (float64, error) }:
		number, err := value.Float64()
		if err != nil {
			return nil
		}
		return number
	case map[string]any:
		return plain(value)
	case []any:
		list := make([]any, len(value))
		for i, element := range value {
			list[i] = plainValue(element)
		}
		return list
	}
	return value
}

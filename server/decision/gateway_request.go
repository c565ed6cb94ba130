package decision

import (
	"encoding/json"
	"slices"
	"strings"
)

// The types of known members. A value of another type makes a request invalid.
var (
	gatewayTexts = []gatewayMembers{
		{"gateway", []string{"namespace", "name", "listener"}},
		{"route", []string{"kind", "namespace", "name", "rule"}},
		{"request", []string{"id", "protocol", "scheme", "host", "method", "path", "url_path", "query", "body"}},
		{"source", []string{"address", "principal", "service", "certificate"}},
		{"destination", []string{"address"}},
	}
	gatewayNumbers = []gatewayMembers{{"request", []string{"size"}}, {"source", []string{"port"}}, {"destination", []string{"port"}}}
)

// gatewayMembers are members of an attribute that is an object.
type gatewayMembers struct {
	object string
	names  []string
}

// Object returns an attribute that is an object, nil if it is absent.
func (r *GatewayRequest) Object(name string) map[string]any {
	o, _ := r.Attributes[name].(map[string]any)
	return o
}

// Text returns a member of an attribute, or "" if it is not a string.
func (r *GatewayRequest) Text(object, name string) string {
	text, _ := r.Object(object)[name].(string)
	return text
}

// IsPlain reports whether the request is certainly valid: Rego would not reject it.
func (r *GatewayRequest) IsPlain() bool {
	for name, value := range r.Attributes {
		if _, isObject := value.(map[string]any); !slices.Contains(gatewayKeys, name) || value != nil && !isObject {
			return false
		}
	}
	if !hasOnly[string](r, gatewayTexts) || !hasOnly[json.Number](r, gatewayNumbers) {
		return false
	}
	for _, name := range [...]string{"gateway", "route"} {
		if len(r.Object(name)) > 0 && (r.Text(name, "namespace") == "" || r.Text(name, "name") == "") {
			return false
		}
	}
	if kind := r.Text("route", "kind"); kind != "" && kind != "HTTPRoute" && kind != "GRPCRoute" {
		return false
	}
	if _, isObject := r.Object("auth")["metadata"].(map[string]any); !isObject && r.Object("auth")["metadata"] != nil {
		return false
	}
	return r.Text("request", "host") != "" && r.Text("request", "method") != "" && r.Text("request", "path") != "" &&
		isTextMap(r.Object("request")["headers"]) && isTextMap(r.Object("source")["labels"])
}

// hasOnly reports whether the named members are absent, null or of a type.
func hasOnly[T any](r *GatewayRequest, members []gatewayMembers) bool {
	for _, m := range members {
		o := r.Object(m.object)
		for _, name := range m.names {
			if value := o[name]; value != nil {
				if _, ok := value.(T); !ok {
					return false
				}
			}
		}
	}
	return true
}

func isTextMap(value any) bool {
	if value == nil {
		return true
	}
	o, ok := value.(map[string]any)
	for _, member := range o {
		if _, isText := member.(string); !isText {
			return false
		}
	}
	return ok
}

// URLPath returns the path without its query.
func (r *GatewayRequest) URLPath() string {
	if path, ok := r.Object("request")["url_path"].(string); ok {
		return path
	}
	path, _, _ := strings.Cut(r.Text("request", "path"), "?")
	return path
}

// Query returns the query, which may be part of the path.
func (r *GatewayRequest) Query() string {
	if query, ok := r.Object("request")["query"].(string); ok {
		return query
	}
	_, query, _ := strings.Cut(r.Text("request", "path"), "?")
	return query
}

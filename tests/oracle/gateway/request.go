package gateway

import (
	"encoding/json"
	"maps"
	"strings"
)

// Request is a request at the gateway point, as JSON has it but for whole numbers,
// which are ints.
type Request struct{ Input map[string]any }

// JSON is the request as an endpoint takes it.
func (r *Request) JSON() string {
	text, err := json.Marshal(r.Input)
	if err != nil {
		panic(err) // only what JSON has comes here
	}
	return string(text)
}

// text is an attribute below request.
func (r *Request) text(key string) string { return text(in(r.Input, "request", key)) }

func (r *Request) host() string {
	host, _, _ := strings.Cut(strings.ToLower(r.text("host")), ":")
	return host
}

func (r *Request) urlPath() string {
	if path, there := keysOf(r.Input["request"])["url_path"]; there {
		return text(path)
	}
	path, _, _ := strings.Cut(r.text("path"), "?")
	return path
}

func (r *Request) query() string {
	if query, there := keysOf(r.Input["request"])["query"]; there {
		return text(query)
	}
	_, query, _ := strings.Cut(r.text("path"), "?")
	return query
}

func (r *Request) headers() map[string]string {
	headers := map[string]string{}
	for name, value := range keysOf(in(r.Input, "request", "headers")) {
		headers[strings.ToLower(name)] = text(value)
	}
	return headers
}

// seen is what conditions and values see of a request.
func (r *Request) seen(identity any, authorization map[string]any) map[string]any {
	seen := maps.Clone(r.Input)
	request := maps.Clone(keysOf(r.Input["request"]))
	headers := map[string]any{}
	for name, value := range r.headers() {
		headers[name] = value
	}
	request["headers"], request["url_path"], request["query"] = headers, r.urlPath(), r.query()
	seen["request"] = request
	auth := maps.Clone(keysOf(r.Input["auth"]))
	if auth == nil {
		auth = map[string]any{}
	}
	auth["identity"], auth["authorization"] = identity, authorization
	seen["auth"] = auth
	http := map[string]any{}
	for _, key := range []string{"method", "path", "host", "scheme", "headers"} {
		if value, there := request[key]; there {
			http[key] = value
		}
	}
	context := map[string]any{"request": map[string]any{"http": http}}
	if source, there := r.Input["source"]; there {
		context["source"] = source
	}
	seen["context"] = context
	return seen
}

package gateway

import (
	"maps"
	"net/url"
	"regexp"
	"strings"

	"github.com/writ-policy/writ/server/decision"
)

// request is a valid request in its canonical form, as writ.gateway.request defines it.
type request struct {
	*decision.GatewayRequest
	host, path string
	headers    map[string]any // by name in lower case
	parameters map[string]string
}

func newRequest(r *decision.GatewayRequest) *request {
	return &request{GatewayRequest: r, host: hostOf(r.Text("request", "host")), path: r.URLPath(), headers: headersOf(r)}
}

var portOfIPv6 = regexp.MustCompile(`\]:[0-9]*$`)

// hostOf returns a host in lower case and without its port. In an IPv6 address without
// brackets, colons do not separate a port.
func hostOf(host string) string {
	host = strings.ToLower(host)
	if strings.Count(host, ":") != 1 && !portOfIPv6.MatchString(host) {
		return host
	}
	at := strings.LastIndexByte(host, ':')
	if strings.Trim(host[at+1:], "0123456789") != "" {
		return host
	}
	return host[:at]
}

// headersOf returns the headers by name in lower case. Of names that differ only in case,
// the first in byte order counts.
func headersOf(r *decision.GatewayRequest) map[string]any {
	given, _ := r.Object("request")["headers"].(map[string]any)
	headers := make(map[string]any, len(given))
	spellings := make(map[string]string, len(given))
	for name, value := range given {
		lower := strings.ToLower(name)
		if before, found := spellings[lower]; !found || name < before {
			spellings[lower], headers[lower] = name, value
		}
	}
	return headers
}

func (r *request) header(name string) (string, bool) {
	value, found := r.headers[name].(string)
	return value, found
}

// parameter returns a parameter of the query. The first value of a repeated one counts.
func (r *request) parameter(name string) (string, bool) {
	if r.parameters == nil {
		r.parameters = make(map[string]string)
		for text := range strings.SplitSeq(r.Query(), "&") {
			if text == "" {
				continue
			}
			key, value, _ := strings.Cut(text, "=")
			if _, found := r.parameters[decoded(key)]; !found {
				r.parameters[decoded(key)] = decoded(value)
			}
		}
	}
	value, found := r.parameters[name]
	return value, found
}

// decoded decodes a part of a query; a malformed part is as it is written.
func decoded(text string) string {
	if out, err := url.QueryUnescape(text); err == nil {
		return out
	}
	return text
}

// mostLabels is the largest number of labels that a hostname of a document can have.
const mostLabels = 127

// hostnames returns the hostnames that match a host, the most specific first.
func hostnames(host string) []string {
	out := []string{host}
	if strings.HasPrefix(host, ".") {
		return append(out, "")
	}
	first := strings.Count(host, ".") - mostLabels // of the labels, the first that a wildcard may keep
	for i := range len(host) {
		if host[i] != '.' {
			continue
		}
		if first--; first < 0 {
			out = append(out, "*"+host[i:])
		}
	}
	return append(out, "")
}

// attributes returns what conditions, predicates and Rego read before the first rule. The
// caller may add members to auth and to the objects below it.
func (r *request) attributes(time string) (all, auth map[string]any) {
	all = make(map[string]any, len(r.Attributes)+1)
	for key, value := range r.Attributes {
		if value != nil {
			all[key] = value
		}
	}
	about := r.Object("request")
	sent := make(map[string]any, len(about)+4)
	for key, value := range about {
		if value != nil {
			sent[key] = value
		}
	}
	maps.Copy(sent, map[string]any{"url_path": r.path, "query": r.Query(), "headers": r.headers, "time": time})
	auth = map[string]any{"metadata": map[string]any{}, "authorization": map[string]any{}, "response": map[string]any{}}
	for _, name := range [...]string{"identity", "metadata"} {
		if value := r.Object("auth")[name]; value != nil {
			auth[name] = value
		}
	}
	source := r.Object("source")
	if source == nil {
		source = map[string]any{}
	}
	all["request"], all["auth"] = sent, auth
	all["context"] = map[string]any{
		"request": map[string]any{"http": map[string]any{
			"method": sent["method"], "path": sent["path"], "host": sent["host"], "scheme": r.Text("request", "scheme"), "headers": r.headers,
		}},
		"source": source,
	}
	return all, auth
}

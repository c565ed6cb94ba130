package decision

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
)

// The types of known members. A value of another type makes a request invalid.
var (
	gatewayTexts = map[string][]string{
		"gateway":     {"namespace", "name", "listener"},
		"route":       {"kind", "namespace", "name", "rule"},
		"request":     {"id", "protocol", "scheme", "host", "method", "path", "url_path", "query", "body"},
		"source":      {"address", "principal", "service", "certificate"},
		"destination": {"address"},
	}
	gatewayNumbers = map[string][]string{"request": {"size"}, "source": {"port"}, "destination": {"port"}}
)

// all returns the attributes, as they are.
func (r *GatewayRequest) all() Attribute {
	if r.Attributes == nil && !r.sent.IsAbsent() {
		return Attribute{sent: r.sent}
	}
	return Attribute{made: r.Attributes, isPresent: true}
}

// Attribute returns an attribute of the request.
func (r *GatewayRequest) Attribute(name string) Attribute { return r.all().Member(name) }

// Load makes Attributes of the body that the request was sent in, which must still be valid.
func (r *GatewayRequest) Load() {
	if r.Attributes == nil && !r.sent.IsAbsent() {
		r.Attributes = r.sent.Any().(map[string]any)
	}
}

// Object returns an attribute that is an object, nil if it is absent. It loads the request.
func (r *GatewayRequest) Object(name string) map[string]any {
	r.Load()
	o, _ := r.Attributes[name].(map[string]any)
	return o
}

// Text returns a member of an attribute, or "" if it is not a string.
func (r *GatewayRequest) Text(object, name string) string {
	text, _ := r.Attribute(object).Member(name).Text()
	return text
}

// IsPlain reports whether the request is certainly valid: Rego would not reject it.
func (r *GatewayRequest) IsPlain() bool {
	all := r.all()
	for name, value := range all.Members() {
		if !slices.Contains(gatewayKeys, name) || !value.IsNull() && !isPlainObject(name, value) {
			return false
		}
	}
	request := all.Member("request")
	for _, name := range [...]string{"host", "method", "path"} {
		if text, _ := request.Member(name).Text(); text == "" {
			return false
		}
	}
	return true
}

// isPlainObject reports whether the members of an attribute of the request are of their types.
func isPlainObject(object string, value Attribute) bool {
	if !value.IsObject() {
		return false
	}
	named, size, texts, numbers := 0, 0, gatewayTexts[object], gatewayNumbers[object]
	for name, member := range value.Members() {
		size++
		text, isText := member.Text()
		switch {
		case member.IsNull():
		case slices.Contains(texts, name):
			if !isText || object == "route" && name == "kind" && text != "" && text != "HTTPRoute" && text != "GRPCRoute" {
				return false
			}
			if (name == "namespace" || name == "name") && text != "" {
				named++
			}
		case slices.Contains(numbers, name):
			if !member.isNumber() {
				return false
			}
		case object == "auth" && name == "metadata":
			if !member.IsObject() {
				return false
			}
		case object == "request" && name == "headers", object == "source" && name == "labels":
			if !isTextMap(member) {
				return false
			}
		}
	}
	return size == 0 || named == 2 || object != "gateway" && object != "route"
}

func isTextMap(value Attribute) bool {
	for _, member := range value.Members() {
		if _, isText := member.Text(); !isText {
			return false
		}
	}
	return value.IsObject()
}

// URLPath returns the path without its query.
func (r *GatewayRequest) URLPath() string { return r.part("url_path", 0) }

// Query returns the query, which may be part of the path.
func (r *GatewayRequest) Query() string { return r.part("query", 1) }

// part returns a member of the request, or else the part of its path before or after the "?".
func (r *GatewayRequest) part(name string, at int) string {
	request := r.Attribute("request")
	if text, ok := request.Member(name).Text(); ok {
		return text
	}
	whole, _ := request.Member("path").Text()
	path, query, _ := strings.Cut(whole, "?")
	return [...]string{path, query}[at]
}

// Attribute is a value of a gateway request: a part of the body that it was sent in, or what
// Attributes has. Its zero value is absent.
type Attribute struct {
	sent      Value
	made      any
	isPresent bool // of made, which may be null
}

// IsAbsent reports whether the request does not have the attribute.
func (a Attribute) IsAbsent() bool { return a.sent.IsAbsent() && !a.isPresent }

// IsNull reports whether the attribute is null or absent.
func (a Attribute) IsNull() bool { return a.sent.IsNull() && a.made == nil }

// IsFalse reports whether the attribute is false.
func (a Attribute) IsFalse() bool { return a.made == false || a.sent.IsBool() && !a.sent.IsTrue() }

// IsObject reports whether the attribute is an object.
func (a Attribute) IsObject() bool {
	_, isMade := a.made.(map[string]any)
	return isMade || a.sent.IsObject()
}

func (a Attribute) isNumber() bool {
	_, isMade := a.made.(json.Number)
	return isMade || a.sent.IsNumber()
}

// Text returns the string that the attribute is, and false if it is not a string.
func (a Attribute) Text() (string, bool) {
	if text, isMade := a.made.(string); isMade {
		return text, true
	}
	return a.sent.Text()
}

// Member returns a member of an object.
func (a Attribute) Member(name string) Attribute {
	if object, isMade := a.made.(map[string]any); isMade {
		value, found := object[name]
		return Attribute{made: value, isPresent: found}
	}
	return Attribute{sent: a.sent.Member(name)}
}

// Members iterates over the members of an object, in any order.
func (a Attribute) Members() iter.Seq2[string, Attribute] {
	return func(yield func(string, Attribute) bool) {
		object, _ := a.made.(map[string]any)
		for name, value := range object {
			if !yield(name, Attribute{made: value, isPresent: true}) {
				return
			}
		}
		for name, value := range a.sent.Members() {
			if !yield(name, Attribute{sent: value}) {
				return
			}
		}
	}
}

// AppendJSON appends the attribute in the form of AppendValue.
func (a Attribute) AppendJSON(b []byte) []byte {
	if text, isText := a.sent.Text(); isText {
		return jsontext.AppendString(b, text)
	}
	if a.sent.IsAbsent() {
		return AppendValue(b, a.made)
	}
	return AppendValue(b, a.sent.Any())
}

package decision

import (
	"encoding/json"
	"iter"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
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
func (r *GatewayRequest) IsPlain() bool { return new(GatewayMembers).Read(r) }

// URLPath returns the path without its query.
func (r *GatewayRequest) URLPath() string {
	request := r.Attribute("request")
	return partOfPath(request.Member("url_path"), request.Member("path"), 0)
}

// Query returns the query, which may be part of the path.
func (r *GatewayRequest) Query() string {
	request := r.Attribute("request")
	return partOfPath(request.Member("query"), request.Member("path"), 1)
}

// partOfPath returns a part of the path, which a request may have by itself, or else what is
// before or after the "?" of the whole path.
func partOfPath(part, whole Attribute, at int) string {
	if text, ok := part.Text(); ok {
		return text
	}
	text, _ := whole.Text()
	path, query, _ := strings.Cut(text, "?")
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

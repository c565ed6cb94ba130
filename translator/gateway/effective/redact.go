package effective

import (
	"maps"
	"regexp"
	"strings"
)

// redacted stands for text of a document that may be a secret.
const redacted = "(redacted)"

var (
	// literals are the string literals of a CEL expression.
	literals = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	// userInfo is the part of a URL before its host.
	userInfo = regexp.MustCompile(`(://)[^/?#@\s]*@`)
	// queryValue is the value of a query parameter, unless it is taken from the request.
	queryValue = regexp.MustCompile(`([?&][^=&#\s]*=)[^{&#\s][^&#\s]*`)
	// secretHeader is the name of a header that carries credentials.
	secretHeader = regexp.MustCompile(`(?i)authorization|cookie|secret|password|token|api-?key|credential`)
)

// redact returns the value of a rule without text that may be a secret: what is sent to
// other services beside references to secrets, headers that carry credentials, and user
// information in URLs. Who may read effective policies need not know the secrets of the
// services that they use. It does not change the value.
func redact(key string, value any) any {
	if name, ok := strings.CutPrefix(key, "rules.response.success.headers."); ok {
		item, _ := value.(map[string]any)
		if header, ok := item["key"].(string); ok {
			name = header
		}
		if secretHeader.MatchString(name) {
			return redactMember(item, "plain", redactText)
		}
	}
	return redactRule(value)
}

// redactRule redacts the HTTP calls in a value, and URLs everywhere.
func redactRule(value any) any {
	switch v := value.(type) {
	case string:
		return userInfo.ReplaceAllString(v, "${1}"+redacted+"@")
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = redactRule(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if call, ok := member.(map[string]any); ok && name == "http" {
				out[name] = redactCall(call)
				continue
			}
			out[name] = redactRule(member)
		}
		return out
	}
	return value
}

// redactCall redacts the values of headers and parameters of an HTTP call, and its body.
func redactCall(call map[string]any) any {
	out := redactRule(call)
	for _, name := range []string{"headers", "bodyParameters"} {
		out = redactMember(out, name, func(values any) any { return redactEach(values, redactText) })
	}
	out = redactMember(out, "body", redactText)
	out = redactMember(out, "url", func(url any) any {
		text, _ := url.(string)
		return queryValue.ReplaceAllString(text, "${1}"+redacted)
	})
	out = redactMember(out, "urlExpression", redactExpression)
	return redactMember(out, "oauth2", func(grant any) any {
		return redactMember(grant, "extraParams", func(values any) any {
			return redactEach(values, func(any) any { return redacted })
		})
	})
}

// redactText redacts a value that is written out, and the literals of an expression.
func redactText(value any) any {
	v, ok := value.(map[string]any)
	if !ok {
		return redacted
	}
	out := redactMember(v, "value", func(any) any { return redacted })
	return redactMember(out, "expression", redactExpression)
}

func redactExpression(value any) any {
	text, _ := value.(string)
	return literals.ReplaceAllString(text, `"`+redacted+`"`)
}

// redactMember returns an object with one member replaced, if it has it.
func redactMember(object any, name string, replace func(any) any) any {
	v, ok := object.(map[string]any)
	if _, has := v[name]; !ok || !has {
		return object
	}
	out := make(map[string]any, len(v))
	maps.Copy(out, v)
	out[name] = replace(v[name])
	return out
}

// redactEach returns an object with each member replaced.
func redactEach(object any, replace func(any) any) any {
	v, ok := object.(map[string]any)
	if !ok {
		return object
	}
	out := make(map[string]any, len(v))
	for key, member := range v {
		out[key] = replace(member)
	}
	return out
}

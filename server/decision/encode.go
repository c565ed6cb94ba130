package decision

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/tables"
)

// Encode returns r as the canonical request: one line of JSON, keys in a fixed order,
// with all known values. A stock opa takes it as input, and Decode parses it into a
// request equal to r.
func (r *Request) Encode() []byte {
	b := make([]byte, 0, 512)
	b = appendMember(b, "{", "user", r.User)
	b = AppendStrings(append(b, `,"groups":`...), r.Groups)
	b = append(b, `,"extra":{`...)
	for i, key := range SortedKeys(r.Extra) {
		b = AppendStrings(appendKey(b, i, key), r.Extra[key])
	}
	b = append(b, '}')
	for _, member := range [...]struct{ key, value string }{
		{"verb", r.Verb}, {"apiGroup", r.APIGroup}, {"resource", r.Resource}, {"subresource", r.Subresource},
		{"namespace", r.Namespace}, {"name", r.Name}, {"path", r.Path},
	} {
		b = appendMember(b, ",", member.key, member.value)
	}
	scope := r.Scope()
	for i := range tables.ScopeAttributes {
		b = appendMember(b, ",", tables.ScopeAttributes[i].Key, *scope.At(i))
	}
	if r.Fields != nil {
		b = AppendStrings(append(b, `,"fields":`...), r.Fields)
	}
	if r.Labels != nil {
		b = appendTextMap(append(b, `,"labels":`...), r.Labels)
	}
	if r.NamespaceLabels != nil {
		b = appendTextMap(append(b, `,"namespaceLabels":`...), r.NamespaceLabels)
	}
	if r.Pod != nil {
		b = AppendValue(append(b, `,"pod":`...), r.Pod)
	}
	b = appendMember(b, ",", "podError", r.PodError)
	b = append(b, `,"attributes":`...)
	if r.Attributes == nil {
		return append(b, "{}}"...)
	}
	return append(AppendValue(b, r.Attributes), '}')
}

// SortedKeys returns the keys of a map in order: nil, without an allocation, for an empty one.
func SortedKeys[V any](entries map[string]V) []string {
	if len(entries) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(entries))
}

// AppendJSON appends the decision in the JSON form of its point. Lists are never null.
func (d *Decision) AppendJSON(b []byte) []byte {
	b = strconv.AppendBool(append(b, `{"allowed":`...), d.Allowed)
	b = strconv.AppendBool(append(b, `,"denied":`...), d.Denied)
	b = appendMember(b, ",", "reason", d.Reason)
	b = AppendStrings(append(b, `,"warnings":`...), d.Warnings)
	b = append(b, `,"matched":[`...)
	for i := range d.Matched {
		if i > 0 {
			b = append(b, ',')
		}
		b = d.Matched[i].appendJSON(b)
	}
	b = append(b, ']')
	if p := d.PodSecurity; p != nil {
		b = appendMember(b, `,"podSecurity":{`, "policy", p.Policy)
		b = appendMember(b, ",", "action", p.Action)
		b = strconv.AppendInt(append(b, `,"score":`...), int64(p.Score), 10)
		b = append(AppendStrings(append(b, `,"factors":`...), p.Factors), '}')
	}
	if len(d.ImpliedGroups) > 0 {
		b = AppendStrings(append(b, `,"impliedGroups":`...), d.ImpliedGroups)
	}
	if d.Deferred {
		b = append(b, `,"deferred":true`...)
	}
	return append(b, '}')
}

// MarshalJSON is AppendJSON for encoding/json.
func (d Decision) MarshalJSON() ([]byte, error) { return d.AppendJSON(nil), nil }

func (m *Matched) appendJSON(b []byte) []byte {
	b = appendMember(b, "{", "kind", m.Kind)
	b = appendMember(b, ",", "namespace", m.Namespace)
	b = appendMember(b, ",", "name", m.Name)
	b = strconv.AppendInt(append(b, `,"rule":`...), int64(m.Rule), 10)
	b = appendMember(b, ",", "source", m.Source)
	b = appendMember(b, ",", "effect", m.Effect)
	b = appendMember(b, ",", "apiVersion", m.APIVersion)
	if m.Role != nil {
		b = appendMember(b, `,"role":{`, "kind", m.Role.Kind)
		b = appendMember(b, ",", "namespace", m.Role.Namespace)
		b = append(appendMember(b, ",", "name", m.Role.Name), '}')
	}
	if m.Binding.Source != "" {
		b = append(appendMember(b, `,"binding":{`, "source", m.Binding.Source), '}')
	}
	if m.Until != "" {
		b = appendMember(b, ",", "until", m.Until)
	}
	for i, via := range m.Via {
		before := ",{"
		if i == 0 {
			before = `,"via":[{`
		}
		b = appendMember(b, before, "kind", via.Kind)
		b = appendMember(b, ",", "namespace", via.Namespace)
		b = appendMember(b, ",", "name", via.Name)
		if via.Until != "" {
			b = appendMember(b, ",", "until", via.Until)
		}
		b = append(b, '}')
	}
	if len(m.Via) > 0 {
		b = append(b, ']')
	}
	if m.Selector != "" {
		b = appendMember(b, ",", "selector", m.Selector)
	}
	if m.Deferred {
		b = append(b, `,"deferred":true`...)
	}
	return append(b, '}')
}

func appendMember(b []byte, before, key, value string) []byte {
	b = append(append(append(b, before...), '"'), key...)
	return jsontext.AppendString(append(b, `":`...), value)
}

func appendKey(b []byte, index int, key string) []byte {
	if index > 0 {
		b = append(b, ',')
	}
	return append(jsontext.AppendString(b, key), ':')
}

// AppendStrings appends list as a JSON array, [] for nil.
func AppendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, text := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsontext.AppendString(b, text)
	}
	return append(b, ']')
}

func appendTextMap(b []byte, entries map[string]string) []byte {
	b = append(b, '{')
	for i, key := range SortedKeys(entries) {
		b = jsontext.AppendString(appendKey(b, i, key), entries[key])
	}
	return append(b, '}')
}

// AppendValue appends a JSON value in the form that Value.Any returns. Values of other
// types, which no endpoint produces, are encoded by encoding/json.
func AppendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return append(b, v...)
	case string:
		return jsontext.AppendString(b, v)
	case []string:
		return AppendStrings(b, v)
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendValue(b, element)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, key := range SortedKeys(v) {
			b = AppendValue(appendKey(b, i, key), v[key])
		}
		return append(b, '}')
	}
	text, err := json.Marshal(value)
	if err != nil {
		return jsontext.AppendString(b, fmt.Sprint(value))
	}
	return append(b, text...)
}

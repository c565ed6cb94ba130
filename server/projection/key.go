package projection

import (
	"encoding/binary"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// The marks of values that a key does not contain. A value that it contains begins with
// its length plus firstLength.
const (
	absent      = 0
	unnamed     = 1
	firstLength = 2
)

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))+firstLength), text...)
}

// appendNamed appends a value that rules name.
func appendNamed(b []byte, text string, isNamed bool) []byte {
	switch {
	case text == "":
		return append(b, absent)
	case !isNamed:
		return append(b, unnamed)
	}
	return appendText(b, text)
}

// appendTexts appends a list with its length; nil differs from an empty one.
func appendTexts(b []byte, list []string) []byte {
	if list == nil {
		return append(b, absent)
	}
	return appendList(append(b, unnamed), list)
}

// appendList appends a list with its length.
func appendList(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, text := range list {
		b = appendText(b, text)
	}
	return b
}

func appendTextMap(b []byte, entries map[string]string) []byte {
	if entries == nil {
		return append(b, absent)
	}
	b = binary.AppendUvarint(b, uint64(len(entries))+firstLength)
	for _, key := range decision.SortedKeys(entries) {
		b = appendText(appendText(b, key), entries[key])
	}
	return b
}

// appendObject appends a JSON object; nil differs from an empty one.
func appendObject(b []byte, object map[string]any) []byte {
	if object == nil {
		return append(b, absent)
	}
	return appendJSON(append(b, unnamed), object)
}

// appendJSON appends a JSON value. Encoded JSON has no line feed, so one ends it.
func appendJSON(b []byte, value any) []byte {
	return append(decision.AppendValue(b, value), '\n')
}

// appendWhole appends all of a request.
func appendWhole(b []byte, r *decision.Request) []byte {
	mark := byte('w')
	if r.IsAlone() {
		mark = 'a'
	}
	b = append(b, mark)
	for _, text := range [...]string{
		r.User, r.Verb, r.APIGroup, r.Resource, r.Subresource, r.Namespace, r.Name,
		r.Path, r.PodError,
	} {
		b = appendText(b, text)
	}
	scope := r.Scope()
	for i := range tables.ScopeAttributes {
		b = appendText(b, *scope.At(i))
	}
	b = appendList(b, r.Groups)
	b = appendTexts(b, r.Fields)
	b = appendTextMap(b, r.Labels)
	b = appendTextMap(b, r.NamespaceLabels)
	b = binary.AppendUvarint(b, uint64(len(r.Extra)))
	for _, key := range decision.SortedKeys(r.Extra) {
		b = appendList(appendText(b, key), r.Extra[key])
	}
	b = appendObject(b, r.Pod)
	if len(r.Attributes) == 0 {
		return append(b, absent)
	}
	return appendObject(b, r.Attributes)
}

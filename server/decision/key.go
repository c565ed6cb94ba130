package decision

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Key returns the request at a revision as a key: equal for equal requests, and different
// for any two that differ in a value. Each part is preceded by its length, so that a
// value cannot be mistaken for the end of another. Keys are not JSON and must not be
// stored: their form may change.
func (r *Request) Key(revision string) string {
	var room [1024]byte
	b := keyText(room[:0], revision)
	for _, text := range [...]string{
		r.User, r.Verb, r.APIGroup, r.Resource, r.Subresource, r.Namespace, r.Name,
		r.Path, r.Cluster, r.Tenant, r.Session, r.Escalation, r.PodError,
	} {
		b = keyText(b, text)
	}
	b = keyTexts(b, r.Groups, false)
	b = keyTexts(b, r.Fields, true)
	b = keyTextMap(b, r.Labels)
	b = keyTextMap(b, r.NamespaceLabels)
	b = binary.AppendUvarint(b, uint64(len(r.Extra)))
	for _, key := range sortedKeys(r.Extra) {
		b = keyTexts(keyText(b, key), r.Extra[key], false)
	}
	b = keyObject(b, r.Pod, true)
	return string(keyObject(b, r.Attributes, false))
}

// AuthorizationKey returns the parts of the request that its authorization depends on as
// a key. The revision is not part of it.
func (r *VisibilityRequest) AuthorizationKey() string {
	var room [512]byte
	b := room[:0]
	account := r.ServiceAccount
	if account.Namespace == "" || account.Name == "" {
		account = ServiceAccount{} // ignored unless both parts are set
	}
	for _, text := range [...]string{r.User, account.Namespace, account.Name, cmp.Or(r.Action, ActionView), r.Type, r.Cluster.Name} {
		b = keyText(b, text)
	}
	b = keyTexts(b, r.GroupSet(), false)
	b = binary.AppendUvarint(b, uint64(len(r.Cluster.Labels)))
	return string(keyMembers(b, r.Cluster.Labels))
}

// GroupSet returns the groups of the request without empty names, sorted and without
// duplicates.
func (r *VisibilityRequest) GroupSet() []string {
	groups := slices.DeleteFunc(slices.Clone(r.Groups), func(group string) bool { return group == "" })
	slices.Sort(groups)
	return slices.Compact(groups)
}

func keyText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// keyCount appends a count. If differ is set, an unknown value differs from an empty
// one: it is written as zero, and the count of a known value is one higher.
func keyCount(b []byte, count int, known, differ bool) []byte {
	if differ && known {
		count++
	}
	return binary.AppendUvarint(b, uint64(count))
}

// keyTexts appends a list of strings with their lengths.
func keyTexts(b []byte, list []string, differ bool) []byte {
	b = keyCount(b, len(list), list != nil, differ)
	for _, text := range list {
		b = keyText(b, text)
	}
	return b
}

func keyTextMap(b []byte, entries map[string]string) []byte {
	return keyMembers(keyCount(b, len(entries), entries != nil, true), entries)
}

func keyMembers(b []byte, entries map[string]string) []byte {
	for _, key := range sortedKeys(entries) {
		b = keyText(keyText(b, key), entries[key])
	}
	return b
}

func keyObject(b []byte, object map[string]any, differ bool) []byte {
	b = keyCount(b, len(object), object != nil, differ)
	for _, key := range sortedKeys(object) {
		b = keyText(b, key)
		// Encoded JSON contains no line feed, so one ends the value.
		b = append(appendAny(b, object[key]), '\n')
	}
	return b
}

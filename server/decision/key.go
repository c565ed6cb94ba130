package decision

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// AppendKey appends the parts of the request that its authorization depends on as a key. The
// revision is not part of it.
func (r *VisibilityRequest) AppendKey(b []byte) []byte {
	account := r.ServiceAccount
	if account.Namespace == "" || account.Name == "" {
		account = ServiceAccount{} // ignored unless both parts are set
	}
	for _, text := range [...]string{r.User, account.Namespace, account.Name, cmp.Or(r.Action, ActionView), r.Type, r.Cluster.Name} {
		b = keyText(b, text)
	}
	var room [16]string
	b = keyTexts(b, setOf(append(room[:0], r.Groups...)))
	b = binary.AppendUvarint(b, uint64(len(r.Cluster.Labels)))
	return keyMembers(b, r.Cluster.Labels)
}

// HaveOneKey reports whether documents do not tell two requests apart.
func HaveOneKey(p Policies, q, other Question) bool {
	key, ok := p.Key(nil, q)
	second, isToo := p.Key(nil, other)
	return ok && isToo && bytes.Equal(key, second)
}

// GroupSet returns the groups of the request without empty names, sorted and without
// duplicates.
func (r *VisibilityRequest) GroupSet() []string { return setOf(slices.Clone(r.Groups)) }

// setOf changes a list of groups to their set, as GroupSet does.
func setOf(groups []string) []string {
	groups = slices.DeleteFunc(groups, func(group string) bool { return group == "" })
	slices.Sort(groups)
	return slices.Compact(groups)
}

// keyText appends a string with its length.
func keyText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// keyTexts appends a list of strings with their lengths.
func keyTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, text := range list {
		b = keyText(b, text)
	}
	return b
}

// keyMembers appends the entries of a map, sorted, without their number.
func keyMembers(b []byte, entries map[string]string) []byte {
	for _, key := range SortedKeys(entries) {
		b = keyText(keyText(b, key), entries[key])
	}
	return b
}

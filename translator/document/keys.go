package document

import "fmt"

func duplicateKey(key, first *node) syntaxError {
	return syntaxError{
		line: key.line, column: key.column,
		message: fmt.Sprintf("duplicate key %s, first on line %d", quote(key.value), first.line),
		hint:    "keep one of them",
	}
}

// keySet finds a key that a mapping already has. Small mappings are searched,
// so that they cost no map.
type keySet struct {
	seen map[string]*node
}

func newKeySet(size int) *keySet {
	if size <= 16 {
		return &keySet{}
	}
	return &keySet{seen: make(map[string]*node, size)}
}

// add returns the earlier key of that name, or nil and remembers it.
func (k *keySet) add(fields []field, key *node) *node {
	if k.seen == nil && len(fields) > 16 {
		k.seen = make(map[string]*node, 2*len(fields))
		for _, f := range fields {
			k.seen[f.key.value] = f.key
		}
	}
	if k.seen == nil {
		for _, f := range fields {
			if f.key.value == key.value {
				return f.key
			}
		}
		return nil
	}
	if first := k.seen[key.value]; first != nil {
		return first
	}
	k.seen[key.value] = key
	return nil
}

package syntax

import "fmt"

func duplicateKey(key, first *Node) syntaxError {
	return syntaxError{
		Line: key.Line, Column: key.Column,
		Message: fmt.Sprintf("duplicate key %s, first on line %d", Quote(key.Value), first.Line),
		Hint:    "keep one of them",
	}
}

// keySet finds repeated keys of a mapping. For a small mapping it searches the fields
// instead of allocating a map.
type keySet struct {
	seen map[string]*Node
}

func newKeySet(size int) *keySet {
	if size <= 16 {
		return &keySet{}
	}
	return &keySet{seen: make(map[string]*Node, size)}
}

// add returns the earlier key of that name, or nil and remembers it.
func (k *keySet) add(fields []Field, key *Node) *Node {
	if k.seen == nil && len(fields) > 16 {
		k.seen = make(map[string]*Node, 2*len(fields))
		for _, f := range fields {
			k.seen[f.Key.Value] = f.Key
		}
	}
	if k.seen == nil {
		for _, f := range fields {
			if f.Key.Value == key.Value {
				return f.Key
			}
		}
		return nil
	}
	if first := k.seen[key.Value]; first != nil {
		return first
	}
	k.seen[key.Value] = key
	return nil
}

package syntax

import "fmt"

func duplicateKey(key, first *Node) syntaxError {
	hint := "keep one of them"
	if key.Value == "apiVersion" || key.Value == "kind" {
		hint += `, or write "---" between two documents`
	}
	return syntaxError{
		Line: key.Line, Column: key.Column,
		Message: fmt.Sprintf("duplicate key %s, first on line %d", Quote(key.Value), first.Line),
		Hint:    hint,
	}
}

// keySet finds repeated keys of a mapping. For a small mapping it searches the fields
// instead of allocating a map. The zero value has no keys.
type keySet struct {
	seen map[string]*Node
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

// merge adds the entries of m, a mapping or a list of mappings, that out lacks.
func (c *converter) merge(m, out *Node, keys *keySet) *syntaxError {
	from := m.Items
	if m.Type == Mapping {
		from = []*Node{m}
	} else if m.Type != List {
		c.found.add(out, syntaxError{Line: m.Line, Column: m.Column, Message: "the value of a merge key must be a mapping, not " + m.Type.String()})
	}
	for _, source := range from {
		if source.Type != Mapping {
			c.found.add(out, syntaxError{Line: source.Line, Column: source.Column, Message: "the values of a merge key must be mappings, not " + source.Type.String()})
		}
		if c.aliased += len(source.Fields); c.aliased > maxAliasNodes {
			return &syntaxError{Line: source.Line, Column: source.Column, Message: fmt.Sprintf("aliases stand for more than %d values", maxAliasNodes)}
		}
		for _, f := range source.Fields {
			if keys.add(out.Fields, f.Key) == nil {
				out.Fields = append(out.Fields, f)
			}
		}
	}
	return nil
}

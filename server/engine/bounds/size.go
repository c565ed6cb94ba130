package bounds

import "github.com/open-policy-agent/opa/v1/ast"

// IsWithin reports whether a value, each part counted as often as it occurs, takes at
// most the given bytes. It stops at the bound.
func IsWithin(value ast.Value, bytes int) bool {
	return size(&ast.Term{Value: value}, bytes) <= float64(bytes)
}

// size is about the bytes of a value as text. It stops when it is above the bound.
func size(t *ast.Term, bound int) float64 {
	m := measure{left: bound}
	m.term(t)
	return float64(bound - m.left)
}

// measure counts down what is left of a bound.
type measure struct{ left int }

// term returns true when nothing is left, which stops the functions that it is called by.
func (m *measure) term(t *ast.Term) bool {
	const punctuation = 4
	m.left -= punctuation
	switch v := t.Value.(type) {
	case ast.String:
		m.left -= len(v)
	case ast.Number:
		m.left -= len(v)
	case *ast.Array:
		v.Until(m.term)
	case ast.Set:
		v.Until(m.term)
	case ast.Object:
		v.Until(func(key, value *ast.Term) bool { return m.term(key) || m.term(value) })
	}
	return m.left < 0
}

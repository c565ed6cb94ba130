// Package elements makes lists from lists: what packages slices and maps of the standard
// library have for one list, without the two that need a function of each element. It has room for
// many short lists too.
package elements

// Map returns f of each element, in order, and nil for an empty list.
func Map[T, U any](list []T, f func(T) U) []U {
	if len(list) == 0 {
		return nil
	}
	out := make([]U, len(list))
	for i, element := range list {
		out[i] = f(element)
	}
	return out
}

// NotNil returns a list, and an empty one for nil: JSON has [] for it and not null.
func NotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Filter returns the elements that fit, in order, and nil if none does. The list stays as it
// was; slices.DeleteFunc changes its list.
func Filter[T any](list []T, fits func(T) bool) []T {
	var out []T
	for _, element := range list {
		if fits(element) {
			out = append(out, element)
		}
	}
	return out
}

// Together is how many elements a Room has in one piece of memory: with Go's own word before them, they
// fill it.
const Together = 63

// Room is where short lists are made together, because a garbage collection pays for each piece of memory.
// A piece stays as long as one of its lists is used: lists must be made and forgotten together. The zero
// value is empty. It is not safe for concurrent use.
type Room[T any] struct{ free []T }

// Make returns a list of n zero elements, which is not nil and whose capacity is n.
func (r *Room[T]) Make(n int) []T {
	if n == 0 || n > Together/4 {
		return make([]T, n)
	}
	if len(r.free) < n {
		r.free = make([]T, Together)
	}
	list := r.free[:n:n]
	r.free = r.free[n:]
	return list
}

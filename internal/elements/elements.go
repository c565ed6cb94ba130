// Package elements makes lists from lists: what packages slices and maps of the standard
// library have for one list, without the two that need a function of each element.
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

package tables

import "iter"

// Holding is a subject that a binding grants its role.
type Holding struct {
	Subject   string // "user:" or "group:" and the name
	Namespace string // where the binding is in force; empty: everywhere
	Binding   *Binding
}

// Holdings returns each subject of each binding, in no particular order; none without access
// tables. The bindings must not be changed.
func (l List) Holdings() iter.Seq[Holding] {
	return func(yield func(Holding) bool) {
		access := Of[*Access](l)
		if access == nil {
			return
		}
		all := func(namespace string, subjects *Map[[]string]) bool {
			for subject, keys := range subjects.All() {
				for _, key := range *keys {
					b := access.Bindings.At(key)
					if !yield(Holding{subject, namespace, &b}) {
						return false
					}
				}
			}
			return true
		}
		if !all("", &access.Subjects.Cluster) {
			return
		}
		for namespace, subjects := range access.Subjects.Namespaces.All() {
			if !all(namespace, subjects) {
				return
			}
		}
	}
}

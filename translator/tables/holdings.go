package tables

import "iter"

// Holding is a subject that a binding grants its role.
type Holding struct {
	Subject   string // "user:" or "group:" and the name
	Namespace string // where the binding is in force; empty: everywhere
	Binding   *Binding
}

// Holdings returns those of the access tables of the list; none without them.
func (l List) Holdings() iter.Seq[Holding] { return Of[*Access](l).Holdings() }

// Holdings returns each subject of each binding, in no particular order; none for nil. The
// bindings must not be changed.
func (a *Access) Holdings() iter.Seq[Holding] {
	return func(yield func(Holding) bool) {
		if a == nil {
			return
		}
		all := func(namespace string, subjects *Map[[]string]) bool {
			for subject, keys := range subjects.All() {
				for _, key := range *keys {
					b := a.Bindings.At(key)
					if !yield(Holding{subject, namespace, &b}) {
						return false
					}
				}
			}
			return true
		}
		if !all("", &a.Subjects.Cluster) {
			return
		}
		for namespace, subjects := range a.Subjects.Namespaces.All() {
			if !all(namespace, subjects) {
				return
			}
		}
	}
}

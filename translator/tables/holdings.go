package tables

import (
	"iter"
	"strings"
)

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

// The beginnings of subjects, and of the users that are service accounts.
const (
	UserPrefix    = "user:"
	GroupPrefix   = "group:"
	AccountPrefix = "system:serviceaccount:"
)

// Subject is a user or a group that a binding names. Its text is "user:NAME" or "group:NAME"; a
// service account is the user "system:serviceaccount:NS:NAME".
type Subject struct {
	IsGroup bool
	Name    string
}

// ParseSubject reads the text of a subject. A text without either beginning is a user's name.
func ParseSubject(text string) Subject {
	if group, ok := strings.CutPrefix(text, GroupPrefix); ok {
		return Subject{true, group}
	}
	return Subject{false, strings.TrimPrefix(text, UserPrefix)}
}

// User returns the text of a user as a subject.
func User(name string) string { return UserPrefix + name }

// Group returns the text of a group as a subject.
func Group(name string) string { return GroupPrefix + name }

// Account returns the user name of a service account.
func Account(namespace, name string) string { return AccountPrefix + namespace + ":" + name }

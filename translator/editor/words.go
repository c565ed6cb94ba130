package editor

import (
	"maps"
	"slices"
	"sync"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// words are what documents name, for assertions.
type words struct{ principals, namespaces, resources []string }

// wordsOf returns a function that collects the words of tables when they are needed first.
func wordsOf(list tables.List) func() *words {
	return sync.OnceValue(func() *words {
		w := statement.NewWorld(tables.Revision{Tables: list})
		namespaces, resources := make(map[string]bool), make(map[string]bool)
		for _, s := range slices.AppendSeq(slices.Clone(w.Deny), w.All("")) {
			named := s.Words()
			for _, namespace := range append(named["namespace"], s.Namespace) {
				namespaces[namespace] = true
			}
			for _, resource := range named["resource"] {
				resources[resource] = true
			}
		}
		delete(namespaces, "")
		delete(resources, "*")
		return &words{slices.Sorted(maps.Keys(w.Named())), slices.Sorted(maps.Keys(namespaces)), slices.Sorted(maps.Keys(resources))}
	})
}

// at returns the words of a place in a document of assertions.
func (w *words) at(path []string) []string {
	for _, key := range slices.Backward(path) {
		switch key {
		case item, "not":
		case "holds", "only", "all", "implies", "apart":
			return w.principals
		case "namespace", "namespaces":
			return w.namespaces
		case "resource", "resources":
			return w.resources
		default:
			return nil
		}
	}
	return nil
}

package visibility

import (
	"maps"
	"slices"
	"time"
)

// Types are the custom types that the principal of a request can discover, with
// the names of their aggregations that it may see, sorted.
func (w *World) Types(r Request) map[string][]string {
	types := map[string][]string{}
	r.Action, r.Cluster = "view", Cluster{}
	for _, s := range w.Sources {
		r.Type = s.Type
		if s.Type == "" {
			continue
		}
		v := w.judge(r)
		if v.denied {
			continue
		}
		names := map[string]any{}
		for _, a := range s.Aggregations {
			names[a.Name] = nil
		}
		types[s.Type] = slices.Sorted(maps.Keys(chosen(v.entry, names)))
	}
	return types
}

// Instants are when some policy begins or has just ended, sorted.
func (w *World) Instants() []time.Time {
	var all []time.Time
	for _, p := range w.Policies {
		if t, ok := viewInstant(p.NotBefore); ok {
			all = append(all, t)
		}
		if t, ok := viewInstant(p.NotAfter); ok {
			all = append(all, t.Add(1))
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

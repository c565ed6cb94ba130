package gateway

import (
	"maps"
	"slices"
)

// Reduce takes away from a world and a request what can be spared: whatever goes
// without differs saying no. It returns the documents that are left.
func (w *World) Reduce(r *Request, differs func(files map[string]string) bool) map[string]string {
	const layout = 9
	for spared := true; spared; {
		spared = false
		for _, without := range w.spare(r) {
			undo := without()
			if undo == nil {
				continue
			}
			w.forget()
			if differs(w.Again(layout)) {
				spared = true
				continue
			}
			undo()
			w.forget()
		}
	}
	files := w.Again(layout)
	differs(files)
	return files
}

// spare are ways to make a world or a request smaller; each returns its undoing, nil
// if nothing can be taken away.
func (w *World) spare(r *Request) []func() (undo func()) {
	ways := without(&w.World.DenyPolicies)
	ways = append(ways, without(&w.World.OriginBindings)...)
	ways = append(ways, without(&w.World.OriginRoles)...)
	ways = append(ways, without(&w.World.KubernetesBindings)...)
	ways = append(ways, without(&w.World.KubernetesRoles)...)
	ways = append(ways, without(&w.Policies)...)
	ways = append(ways, without(&w.Routes)...)
	ways = append(ways, without(&w.Gateways)...)
	for _, p := range w.Policies {
		ways = append(ways, without(&p.Unset)...)
		for _, block := range []**Block{&p.Defaults, &p.Overrides} {
			ways = append(ways, func() func() {
				old := *block
				if old == nil {
					return nil
				}
				*block = nil
				return func() { *block = old }
			})
		}
		for _, block := range []*Block{p.Bare, p.Defaults, p.Overrides} {
			if block != nil {
				ways = append(ways, withoutKeys(block.Rules)...)
			}
		}
	}
	for _, route := range w.Routes {
		ways = append(ways, without(&route.Rules)...)
		ways = append(ways, without(&route.Parents)...)
	}
	for _, gateway := range w.Gateways {
		ways = append(ways, without(&gateway.Listeners)...)
	}
	ways = append(ways, withoutKeys(r.Input, "request")...)
	ways = append(ways, withoutKeys(keysOf(r.Input["request"]), "host", "method", "path")...)
	ways = append(ways, withoutKeys(keysOf(r.Input["auth"]))...)
	return append(ways, withoutKeys(keysOf(in(r.Input, "auth", "identity")))...)
}

// without are the ways to take one entry out of a list.
func without[T any](list *[]T) []func() func() {
	var ways []func() func()
	for i := range slices.Backward(*list) {
		ways = append(ways, func() func() {
			old := *list
			if i >= len(old) {
				return nil
			}
			*list = slices.Delete(slices.Clone(old), i, i+1)
			return func() { *list = old }
		})
	}
	return ways
}

func withoutKeys(values map[string]any, needed ...string) []func() func() {
	var ways []func() func()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(needed, key) {
			continue
		}
		ways = append(ways, func() func() {
			old, there := values[key]
			if !there {
				return nil
			}
			delete(values, key)
			return func() { values[key] = old }
		})
	}
	return ways
}

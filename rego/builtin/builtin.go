// Package builtin classifies OPA's built-in functions: which ones Rego in a bundle may
// call, which of them the engine bounds, and why. It knows neither documents nor bundles.
//
// # Design
//
// A function is allowed if its result depends on its arguments alone, and its cost is
// bounded by their size. Every function of OPA has a line in the table, and one without
// is not allowed: a new version of OPA brings none unnoticed.
package builtin

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// class is what Rego may do with a built-in function.
type class int

// The classes. Rego may call allowed functions, and bounded ones with arguments within
// the engine's bounds. A document that calls an excluded one is an error.
const (
	excluded class = iota
	allowed
	bounded
)

// entry is the class of a function, and the reason: for a bounded one its bound.
type entry struct {
	class  class
	reason string
}

// IsExcluded reports whether name is a built-in function that Rego in a bundle must not
// call, and why.
func IsExcluded(name string) (reason string, is bool) {
	if _, exists := ast.BuiltinMap[name]; !exists {
		return "", false
	}
	b, known := table[name]
	if !known {
		return "it is not classified", true
	}
	return b.reason, b.class == excluded
}

// BoundedNames returns the names of the bounded functions, sorted.
func BoundedNames() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if table[name].class == bounded {
			names = append(names, name)
		}
	}
	return names
}

// Capabilities returns what Rego in a bundle may use: this OPA version without the
// excluded functions. The caller owns the result.
func Capabilities() *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	kept := *all
	kept.Builtins = nil
	for _, b := range all.Builtins {
		if _, is := IsExcluded(b.Name); !is {
			kept.Builtins = append(kept.Builtins, b)
		}
	}
	kept.AllowNet = []string{}
	return &kept
}

// Package roles holds the stock roles view, edit, admin and cluster-admin as
// documents to copy into a policy directory. They are never implied: a
// directory that binds one must hold it. The package hands out text and knows
// nothing of what it means.
package roles

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
)

//go:embed origin kubernetes
var documents embed.FS

// Families of stock roles, spelt as in diagnostics and in the tables.
const (
	Origin     = "origin"
	Kubernetes = "kubernetes"
)

// Families lists the families in the order in which they are printed.
var Families = []string{Kubernetes, Origin}

// Names lists the roles from the least to the most powerful.
var Names = []string{"view", "edit", "admin", "cluster-admin"}

// contains maps a Kubernetes role to the stock role that it aggregates. Without that
// role in the directory, the larger role would lack its grants.
var contains = map[string]string{"edit": "view", "admin": "edit"}

// Documents returns the documents of the named roles of a family as one YAML stream,
// each once, aggregated roles first. No names means all roles. It returns an error if
// the family or a name is unknown.
func Documents(family string, names ...string) ([]byte, error) {
	if !slices.Contains(Families, family) {
		return nil, fmt.Errorf("no family %q", family)
	}
	if len(names) == 0 {
		names = Names
	}
	wanted := make(map[string]bool)
	for _, name := range names {
		if !slices.Contains(Names, name) {
			return nil, fmt.Errorf("no stock role %q", name)
		}
		for ; name != ""; name = contains[name] {
			wanted[name] = true
			if family != Kubernetes {
				break
			}
		}
	}
	var parts [][]byte
	for _, name := range Names {
		if !wanted[name] {
			continue
		}
		text, err := documents.ReadFile(family + "/" + name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("read stock role: %w", err)
		}
		parts = append(parts, text)
	}
	return bytes.Join(parts, []byte("---\n")), nil
}

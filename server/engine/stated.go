package engine

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/tables"
)

// kubernetesVerbs are the verbs that every resource of Kubernetes may have.
var kubernetesVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// extensionFolder is the folder of extensions in a bundle.
const extensionFolder = "writ/extensions/"

// Tables implements decision.Policies.
func (e *Engine) Tables() *tables.Revision { return &e.stated }

// statedBy returns what a bundle states for questions that no decision answers.
func statedBy(b *bundles.Bundle) tables.Revision {
	r := tables.Revision{Tables: b.Tables, Features: b.Features, Modules: make(map[string]string), Verbs: verbsOf(b)}
	for _, name := range slices.Sorted(maps.Keys(b.Files)) { // several files may be of one package
		inside, isExtension := strings.CutPrefix(name, extensionFolder)
		if !isExtension || path.Ext(name) != ".rego" || bundles.IsTest(name) {
			continue
		}
		extension := strings.ReplaceAll(path.Dir(inside), "/", ".")
		r.Modules[extension] += string(b.Files[name])
	}
	return r
}

// verbsOf returns the verbs of the footprint of a bundle.
func verbsOf(b *bundles.Bundle) []string {
	verbs := []string{"*"}
	if b.Footprint != nil {
		verbs = b.Footprint.Access.Verbs.Values
	}
	if slices.Contains(verbs, "*") {
		verbs = slices.Concat(verbs, kubernetesVerbs)
	}
	return tables.Entries(slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool { return verb == "*" }))
}

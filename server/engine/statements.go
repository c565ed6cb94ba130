package engine

import (
	"path"
	"regexp"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/change"
)

// Statements implements decision.Policies.
func (e *Engine) Statements() *change.World {
	if !change.IsComplete(e.stated.Tables, e.features) {
		return nil
	}
	return change.NewWorld(e.stated)
}

// extensionFolder is the folder of extensions in a bundle.
const extensionFolder = "writ/extensions/"

var extensionName = regexp.MustCompile(`(?m)^package writ\.extensions\.([\w.]+)`)

// statedBy returns what statements are made of.
func statedBy(b *bundles.Bundle) change.Revision {
	r := change.Revision{Tables: b.Tables, Modules: make(map[string]string)}
	for name, content := range b.Files {
		if !strings.HasPrefix(name, extensionFolder) || path.Ext(name) != ".rego" || bundles.IsTest(name) {
			continue
		}
		if found := extensionName.FindSubmatch(content); found != nil {
			r.Modules[string(found[1])] += string(content)
		}
	}
	return r
}

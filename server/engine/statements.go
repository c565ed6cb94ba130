package engine

import (
	"path"
	"regexp"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/dates"
)

// Statements implements decision.Policies.
func (e *Engine) Statements() *statement.World {
	if !statement.IsComplete(e.stated.Tables, e.features) {
		return nil
	}
	return statement.NewWorld(e.stated).At(dates.Of(e.now()))
}

// extensionFolder is the folder of extensions in a bundle.
const extensionFolder = "writ/extensions/"

var extensionName = regexp.MustCompile(`(?m)^package writ\.extensions\.([\w.]+)`)

// statedBy returns what statements are made of.
func statedBy(b *bundles.Bundle) statement.Revision {
	r := statement.Revision{Tables: b.Tables, Modules: make(map[string]string)}
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

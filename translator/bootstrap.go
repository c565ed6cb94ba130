package translator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/syntax"
)

// Note is a fact about a document that is neither a mistake nor a reason for a warning.
type Note struct {
	At      diag.Position
	Message string
}

// addBootstrap adds the documents of roles.Bootstrap to documents, which are in the order
// of positions, except those that documents replace. It returns a note for each of these.
func (t *Translator) addBootstrap(documents []syntax.Document) ([]syntax.Document, []Note) {
	if t.bootstrap == nil {
		t.bootstrap = t.kinds.Decode(roles.BootstrapSource, roles.Bootstrap(), syntax.Options{Bootstrap: true}).Documents
	}
	own := make(map[directory.Identity]bool, len(t.bootstrap))
	for _, d := range t.bootstrap {
		own[directory.IdentityOf(d.Meta())] = true
	}
	var notes []Note
	for _, d := range documents {
		if id := directory.IdentityOf(d.Meta()); own[id] {
			own[id] = false
			notes = append(notes, Note{d.Meta().At, fmt.Sprintf("%s replaces the one of %s", directory.Title(d.Meta()), roles.BootstrapSource)})
		}
	}
	added := make([]syntax.Document, 0, len(t.bootstrap))
	for _, d := range t.bootstrap {
		if own[directory.IdentityOf(d.Meta())] {
			added = append(added, d)
		}
	}
	at, _ := slices.BinarySearchFunc(documents, roles.BootstrapSource, func(d syntax.Document, file string) int {
		return strings.Compare(d.Meta().At.File, file)
	})
	return slices.Insert(slices.Clone(documents), at, added...), notes
}

// Notes returns the notes on the documents of the last snapshot. The list must not be
// modified.
func (t *Translator) Notes() []Note {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.notes
}

// withoutBootstrap returns the diagnostics that are not warnings about bootstrap documents:
// an author cannot change those.
func withoutBootstrap(list diag.List) diag.List {
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return d.File == roles.BootstrapSource })
}

package translator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
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

// addBootstrap adds the bootstrap documents of the families to documents, which are in the
// order of positions, except those that documents replace. It returns a note for each of
// these.
func (t *Translator) addBootstrap(documents []syntax.Document, s state) ([]syntax.Document, []Note, error) {
	all, notes := documents, []Note(nil)
	for _, family := range s.bootstrap {
		file, own, err := t.bootstrapOf(family, s.master)
		if err != nil {
			return nil, nil, err
		}
		stands := make(map[directory.Identity]bool, len(own))
		for _, d := range own {
			stands[directory.IdentityOf(d.Meta())] = true
		}
		for _, d := range documents {
			if id := directory.IdentityOf(d.Meta()); stands[id] {
				stands[id] = false
				notes = append(notes, Note{d.Meta().At, fmt.Sprintf("%s replaces the one of %s", directory.Title(d.Meta()), file)})
			}
		}
		added := elements.Filter(own, func(d syntax.Document) bool { return stands[directory.IdentityOf(d.Meta())] })
		at, _ := slices.BinarySearchFunc(all, file, func(d syntax.Document, file string) int {
			return strings.Compare(d.Meta().At.File, file)
		})
		all = slices.Insert(slices.Clone(all), at, added...)
	}
	return all, notes, nil
}

// bootstrapOf returns the bootstrap documents of a family, and their file. They are decoded
// once.
func (t *Translator) bootstrapOf(family, master string) (file string, documents []syntax.Document, err error) {
	file, text, err := roles.Bootstrap(family, master)
	if err != nil {
		return "", nil, err
	}
	key := family + "/" + master
	if t.bootstrap == nil {
		t.bootstrap = make(map[string][]syntax.Document)
	}
	if t.bootstrap[key] == nil {
		t.bootstrap[key] = t.kinds.Decode(file, text, syntax.Options{Bootstrap: true}).Documents
	}
	return file, t.bootstrap[key], nil
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
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return roles.IsBootstrap(d.File) })
}

package editor

import (
	"slices"
	"unicode"
)

// Describe returns a sentence about the field at a place in a file, as Complete has it: the
// field whose name or value is there; empty if the field is not known.
func (w *Workspace) Describe(text string, line, column int) string {
	before, after := document(text, line, column)
	last := len(before) - 1
	if whole, _ := document(text, line, len(text)); len(whole) > 0 {
		rest := []rune(whole[len(whole)-1])[len([]rune(before[last])):]
		for _, r := range rest {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				break
			}
			before[last] += string(r)
		}
	}
	p := placeOf(before, after)
	all := w.kinds.schema(w.kinds.find(p.apiVersion, p.kind))
	path := p.path
	isItem := len(path) > 0 && path[len(path)-1] == item
	if field := append(slices.Clone(path), p.word); p.isKey && (!isItem || all.At(field) != nil) {
		path = field
	}
	for len(path) > 0 && path[len(path)-1] == item {
		path = path[:len(path)-1]
	}
	if s := all.At(path); s != nil {
		return s.Description
	}
	return ""
}

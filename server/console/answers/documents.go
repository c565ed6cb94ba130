package answers

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// Bounds of what is shown: lines of a file, diagnostics, and rows of a page.
const (
	maxLines       = 2000
	maxDiagnostics = 100
	defaultRows    = 50
	maxRows        = 1000
)

// Files implements console.Viewer.
func (v *viewer) Files(c console.Caller) (*console.Files, error) {
	if !c.SeesAll {
		return nil, console.ErrForbidden
	}
	counts := make(map[string]*console.File)
	file := func(name string) *console.File {
		if counts[name] == nil {
			counts[name] = &console.File{File: name}
		}
		return counts[name]
	}
	for _, f := range v.revision.texts.all() {
		file(f.Path)
	}
	v.revision.eachDocument(func(name string, _ console.Object) { file(name).Documents++ })
	out := &console.Files{Files: []console.File{}, Diagnostics: []console.Diagnostic{}, Note: v.revision.texts.note()}
	if v.attempt != nil {
		out.Errors, out.Warnings = v.attempt.Diagnostics.Count()
		for i := range v.attempt.Diagnostics {
			f := file(v.attempt.Diagnostics[i].File)
			if f.Diagnostics++; v.attempt.Diagnostics[i].Severity == diag.Error {
				f.Errors++
			}
		}
		worst := slices.Clone(v.attempt.Diagnostics)
		slices.SortStableFunc(worst, func(a, b diag.Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
		out.Diagnostics = v.diagnostics(worst[:min(len(worst), maxDiagnostics)])
	}
	for _, f := range counts {
		out.Files = append(out.Files, *f)
	}
	slices.SortFunc(out.Files, func(a, b console.File) int { return strings.Compare(a.File, b.File) })
	return out, nil
}

// diagnostics returns diagnostics of the last attempt with the lines they are about.
func (v *viewer) diagnostics(list diag.List) []console.Diagnostic {
	return shownDiagnostics(list, v.attempt.Files)
}

// shownDiagnostics returns diagnostics with the lines of files they are about.
func shownDiagnostics(list diag.List, files []source.File) []console.Diagnostic {
	out := make([]console.Diagnostic, 0, len(list))
	for i := range list {
		d := &list[i]
		line, column := d.Shown()
		shown := console.Diagnostic{
			File: d.File, Line: line, Column: column, Field: d.Field, Length: max(d.Length, 1),
			Severity: d.Severity.String(), Code: string(d.Code), Message: d.Message, Hint: d.Hint, Related: []console.Related{},
		}
		for _, r := range d.Related {
			line, column := r.Shown()
			shown.Related = append(shown.Related, console.Related{File: r.File, Line: line, Column: column, Message: r.Message})
		}
		if text, ok := contentOf(files, d.File); ok {
			shown.Text = lineOf(text, line)
		}
		out = append(out, shown)
	}
	return out
}

// notServed is the note of a text that has diagnostics and is not the active one.
const notServed = "This is the newest text of the file, which the diagnostics are about. It is not served: the revision that is served has an older one."

// Document implements console.Viewer.
func (v *viewer) Document(c console.Caller, file string, line int) (*console.Document, error) {
	if !c.SeesAll {
		return nil, console.ErrForbidden
	}
	out := &console.Document{File: file, From: 1, Lines: []string{}, Tokens: [][]console.Token{}, Documents: []console.Object{}, Diagnostics: []console.Diagnostic{}}
	text, hasText := v.revision.texts.find(file)
	list := v.revision.documents(file)
	if v.attempt != nil {
		own := slices.DeleteFunc(slices.Clone(v.attempt.Diagnostics), func(d diag.Diagnostic) bool { return d.File != file })
		out.Diagnostics = v.diagnostics(own[:min(len(own), maxRows)])
		// Places of diagnostics are those of the newest documents, which are not the active
		// ones if they have errors or if another revision is pinned.
		newest, isThere := contentOf(v.attempt.Files, file)
		if isThere && (!hasText || len(own) > 0 && !bytes.Equal(newest, text)) {
			if hasText {
				list, out.Note = nil, notServed
			}
			text, hasText = newest, true
		}
	}
	if !hasText && len(list) == 0 && len(out.Diagnostics) == 0 {
		return nil, console.Errorf(console.NotFound, "document %q does not exist", file)
	}
	for _, o := range list {
		out.Documents = append(out.Documents, o.view())
	}
	v.revision.addRoles(file, out.Documents)
	if !hasText {
		out.Note = v.revision.texts.note()
		return out, nil
	}
	lines := linesOf(text)
	out.Total = len(lines)
	first := max(min(line-maxLines/2, len(lines)-maxLines), 0)
	out.From, out.Lines = first+1, lines[first:min(first+maxLines, len(lines))]
	out.Tokens = tokensOf(out.Lines)
	return out, nil
}

// Rules implements console.Viewer.
func (v *viewer) Rules(c console.Caller, q console.RulesQuery) (*console.Rules, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	used, unused := v.revision.counts.byUse(q.Never)
	out := &console.Rules{Rules: []console.Rule{}, Total: len(used) + unused}
	from, to, after, err := page(out.Total, q.Limit, q.After)
	if err != nil {
		return nil, err
	}
	out.After = after
	for _, c := range used[min(from, len(used)):min(to, len(used))] {
		out.Rules = append(out.Rules, c.view())
	}
	at := len(used)
	for r := range v.revision.counts.all() {
		if at >= to {
			break
		}
		if r.matched.Load() > 0 {
			continue
		}
		if at++; at > from {
			out.Rules = append(out.Rules, r.view())
		}
	}
	return out, nil
}

// counted is a rule with its counts when it was listed.
type counted struct {
	rule
	decided, matched uint64
}

// byUse returns the rules that have matched, most used first, and how many have not: most
// have not, and they keep the order of the tables. With never, rules that have decided are
// left out.
func (c *counts) byUse(never bool) (used []counted, unused int) {
	for r := range c.all() {
		switch c := (counted{r, r.decided.Load(), r.matched.Load()}); {
		case c.decided > 0 && never:
		case c.matched > 0:
			used = append(used, c)
		default:
			unused++
		}
	}
	slices.SortStableFunc(used, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.decided, a.decided), cmp.Compare(b.matched, a.matched))
	})
	return used, unused
}

// page returns the rows of a page that begins after a number of rows, of so many in all, and
// what the next page begins after.
func page(all, limit int, after string) (from, to int, next string, err error) {
	if after != "" {
		if from, err = strconv.Atoi(after); err != nil || from < 0 {
			return 0, 0, "", &console.Error{Reason: console.Invalid, Field: "after", Message: "after must be what a page before has as after"}
		}
	}
	from = min(from, all)
	to = min(from+rowsOf(limit), all)
	if to < all {
		next = strconv.Itoa(to)
	}
	return from, to, next, nil
}

// rowsOf returns the number of rows of a page.
func rowsOf(limit int) int { return min(cmp.Or(max(limit, 0), defaultRows), maxRows) }

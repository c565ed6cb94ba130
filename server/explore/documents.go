package explore

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// Bounds of what is shown: lines of a file, diagnostics, and rows of a page.
const (
	maxLines       = 2000
	maxDiagnostics = 100
	defaultRows    = 50
	maxRows        = 1000
)

// objects are documents by file, in the order of lines.
type objects map[string][]*object

// object is a document with its rules.
type object struct {
	view.Object
	rules []placedRule
}

// placedRule is a rule with its line.
type placedRule struct {
	*rule
	line int
}

// newObjects lists documents with their rules. Documents of bundles are not known: their
// rules are listed alone.
func newObjects(headers []syntax.Document, rules []*rule) objects {
	o := make(objects)
	for _, d := range headers {
		h := d.Meta()
		if h.Bootstrap {
			continue
		}
		line, _ := h.At.Shown()
		o[h.At.File] = append(o[h.At.File], &object{Object: view.Object{Kind: h.Kind, Namespace: h.Namespace, Name: h.Name, Line: line}})
	}
	for _, list := range o {
		slices.SortStableFunc(list, func(a, b *object) int { return cmp.Compare(a.Line, b.Line) })
	}
	for _, r := range rules {
		o.place(r)
	}
	return o
}

// place adds a rule to its document: the one of its name, or, for a rule that a role
// aggregates, the one that its line is in.
func (o objects) place(r *rule) {
	at, ok := diag.ParseSource(r.source)
	if !ok || strings.HasPrefix(at.File, "bootstrap") {
		return
	}
	line, _ := at.Shown()
	list := o[at.File]
	found := slices.IndexFunc(list, func(d *object) bool { return d.Kind == r.kind && d.Namespace == r.namespace && d.Name == r.name })
	if found < 0 {
		next, _ := slices.BinarySearchFunc(list, line, func(d *object, line int) int { return cmp.Compare(d.Line, line+1) })
		found = next - 1
	}
	if found < 0 {
		list = append(list, &object{Object: view.Object{Kind: r.kind, Namespace: r.namespace, Name: r.name, Line: line}})
		o[at.File], found = list, len(list)-1
	}
	list[found].rules = append(list[found].rules, placedRule{r, line})
}

// view returns a document with the counts of its rules. Rules of one line that several
// roles share are added up.
func (o *object) view() view.Object {
	out := o.Object
	out.Rules = []view.RuleLine{}
	for _, r := range o.rules {
		row := view.RuleLine{Rule: r.number, Line: r.line, Decided: r.decided.Load(), Matched: r.matched.Load()}
		at := slices.IndexFunc(out.Rules, func(other view.RuleLine) bool {
			return other.Line == r.line && (other.Rule == r.number || r.name != o.Name)
		})
		if at < 0 {
			out.Rules = append(out.Rules, row)
			continue
		}
		out.Rules[at].Decided += row.Decided
		out.Rules[at].Matched += row.Matched
	}
	slices.SortStableFunc(out.Rules, func(a, b view.RuleLine) int { return cmp.Compare(a.Line, b.Line) })
	return out
}

// Files implements view.Viewer.
func (v *viewer) Files(c view.Caller) (*view.Files, error) {
	if !c.SeesAll {
		return nil, view.ErrForbidden
	}
	counts := make(map[string]*view.File)
	file := func(name string) *view.File {
		if counts[name] == nil {
			counts[name] = &view.File{File: name}
		}
		return counts[name]
	}
	for _, f := range v.revision.texts.all() {
		file(f.Path)
	}
	for name, list := range v.revision.documents() {
		file(name).Documents = len(list)
	}
	out := &view.Files{Files: []view.File{}, Diagnostics: []view.Diagnostic{}, Note: v.revision.texts.note()}
	if v.attempt != nil {
		out.Errors, out.Warnings = v.attempt.Diagnostics.Count()
		for i := range v.attempt.Diagnostics {
			file(v.attempt.Diagnostics[i].File).Diagnostics++
		}
		worst := slices.Clone(v.attempt.Diagnostics)
		slices.SortStableFunc(worst, func(a, b diag.Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
		out.Diagnostics = v.diagnostics(worst[:min(len(worst), maxDiagnostics)])
	}
	for _, f := range counts {
		out.Files = append(out.Files, *f)
	}
	slices.SortFunc(out.Files, func(a, b view.File) int { return strings.Compare(a.File, b.File) })
	return out, nil
}

func (r *revision) documents() objects { return r.texts.list(r.counts.rules) }

// diagnostics returns diagnostics of the last attempt with the lines they are about.
func (v *viewer) diagnostics(list diag.List) []view.Diagnostic {
	out := make([]view.Diagnostic, 0, len(list))
	for i := range list {
		d := &list[i]
		line, column := d.Shown()
		shown := view.Diagnostic{
			File: d.File, Line: line, Column: column, Field: d.Field, Length: max(d.Length, 1),
			Severity: d.Severity.String(), Code: string(d.Code), Message: d.Message, Hint: d.Hint, Related: []view.Related{},
		}
		for _, r := range d.Related {
			line, column := r.Shown()
			shown.Related = append(shown.Related, view.Related{File: r.File, Line: line, Column: column, Message: r.Message})
		}
		if text, ok := contentOf(v.attempt.Files, d.File); ok && line > 0 {
			if lines := linesOf(text); line <= len(lines) {
				shown.Text = lines[line-1]
			}
		}
		out = append(out, shown)
	}
	return out
}

// Document implements view.Viewer.
func (v *viewer) Document(c view.Caller, file string, line int) (*view.Document, error) {
	if !c.SeesAll {
		return nil, view.ErrForbidden
	}
	out := &view.Document{File: file, From: 1, Lines: []string{}, Tokens: [][]view.Token{}, Documents: []view.Object{}, Diagnostics: []view.Diagnostic{}}
	text, hasText := v.revision.texts.find(file)
	list, known := v.revision.documents()[file]
	if v.attempt != nil {
		own := slices.DeleteFunc(slices.Clone(v.attempt.Diagnostics), func(d diag.Diagnostic) bool { return d.File != file })
		out.Diagnostics = v.diagnostics(own[:min(len(own), maxRows)])
		if !hasText { // a file that was never active, because of its errors
			text, hasText = contentOf(v.attempt.Files, file)
		}
	}
	if !hasText && !known && len(out.Diagnostics) == 0 {
		return nil, view.Errorf(view.NotFound, "there is no document %q", file)
	}
	for _, o := range list {
		out.Documents = append(out.Documents, o.view())
	}
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

// Rules implements view.Viewer.
func (v *viewer) Rules(c view.Caller, q view.RulesQuery) (*view.Rules, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	list := make([]view.Rule, 0, len(v.revision.counts.rules))
	for _, r := range v.revision.counts.rules {
		if row := r.view(); !q.Never || row.Decided == 0 {
			list = append(list, row)
		}
	}
	slices.SortFunc(list, func(a, b view.Rule) int {
		return cmp.Or(
			cmp.Compare(b.Decided, a.Decided), cmp.Compare(b.Matched, a.Matched),
			strings.Compare(a.Source, b.Source), strings.Compare(a.Name, b.Name), cmp.Compare(a.Rule, b.Rule),
		)
	})
	out := &view.Rules{Total: len(list)}
	var err error
	out.Rules, out.After, err = page(list, q.Limit, q.After)
	return out, err
}

// page returns the rows of a page that begins after a number of rows, and what the next
// page begins after.
func page[T any](list []T, limit int, after string) (rows []T, next string, err error) {
	from := 0
	if after != "" {
		if from, err = strconv.Atoi(after); err != nil || from < 0 {
			return nil, "", &view.Error{Reason: view.Invalid, Field: "after", Message: "after must be what a page before has as after"}
		}
	}
	from = min(from, len(list))
	to := min(from+rowsOf(limit), len(list))
	if to < len(list) {
		next = strconv.Itoa(to)
	}
	return list[from:to], next, nil
}

// rowsOf returns the number of rows of a page.
func rowsOf(limit int) int { return min(cmp.Or(max(limit, 0), defaultRows), maxRows) }

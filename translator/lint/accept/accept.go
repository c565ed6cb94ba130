// Package accept silences warnings that were accepted: by a comment beside the finding, by
// the settings of the source, or by a baseline. A list of diagnostics comes in; what is left
// of it goes out, with a warning for each acceptance that has expired or silences nothing.
// The package must not know what a code means or which command asks.
//
// # Design
//
// Severity decides, not the code: an error is never silenced, however it was raised, so that
// the author of a change cannot silence what stops the change. An acceptance that silences
// nothing is reported, because it would silence the next finding of its code unseen.
package accept

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/ignore"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Input is what a list of diagnostics is about.
type Input struct {
	Snapshot source.Snapshot
	// Documents are those of the snapshot, by which a baseline names its entries.
	Documents []syntax.Document
	// Baseline may be nil.
	Baseline *Baseline
	Now      time.Time
	// Raises reports whether the list would have the code if it were found. Acceptances of
	// other codes are not reported as unused, and none is if Raises is nil or the list has
	// errors, which hide warnings.
	Raises func(diag.Code) bool
}

// acceptance is one statement that findings of a code are accepted.
type acceptance struct {
	diag.Suppression
	code   diag.Code
	until  time.Time
	hidden ignore.Rules // match the paths
	left   int          // how many findings it may still silence; negative for any number
	used   bool
}

// state is the acceptances of an input, by how they are found.
type state struct {
	in       Input
	all      []*acceptance
	comments map[place]*acceptance
	sources  [][]*acceptance // by origin
	known    map[string]*acceptance
	origins  map[string]int // of files
	names    func(diag.Position) string
	list     diag.List // what is wrong with comments
}

type place struct {
	file string
	line int
	code diag.Code
}

// Apply returns the diagnostics that are not accepted, sorted, and those that are.
func Apply(list diag.List, in Input) (diag.List, []diag.Silenced) {
	s := newState(in)
	kept, silenced := s.list, []diag.Silenced(nil)
	for _, d := range list.Sorted() {
		if a := s.find(&d); a != nil {
			a.used = true
			a.left--
			silenced = append(silenced, diag.Silenced{Diagnostic: d, By: a.Suppression})
			continue
		}
		kept.Add(d)
	}
	isWhole := in.Raises != nil && !list.HasErrors() && !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.TooManyMistakes })
	for _, a := range s.all {
		if d, ok := a.useless(in, isWhole); ok {
			kept.Add(d)
		}
	}
	return kept.Sorted(), silenced
}

func newState(in Input) *state {
	s := &state{
		in: in, comments: make(map[place]*acceptance), known: make(map[string]*acceptance),
		origins: make(map[string]int, len(in.Snapshot.Files)), names: namesOf(in.Documents),
	}
	for _, origin := range in.Snapshot.Origins {
		own := elements.Map(origin.Accepted, fromSettings)
		s.sources = append(s.sources, own)
		s.all = append(s.all, own...)
	}
	for _, f := range in.Snapshot.Files {
		s.origins[f.Path] = f.Origin
		if !f.Object {
			s.addComments(f)
		}
	}
	if in.Baseline != nil {
		for _, e := range in.Baseline.entries {
			a := e.acceptance(in.Baseline.path)
			s.known[e.key()] = a
			s.all = append(s.all, a)
		}
	}
	return s
}

func fromSettings(s settings.Acceptance) *acceptance {
	return &acceptance{
		Suppression: diag.Suppression{Position: s.At, Reason: s.Reason},
		code:        s.Code, until: s.Until, left: -1, hidden: ignore.Rules{}.WithPatterns("", []string{s.Path}),
	}
}

// find returns what silences a diagnostic, or nil.
func (s *state) find(d *diag.Diagnostic) *acceptance {
	if d.Severity == diag.Error {
		return nil
	}
	if a := s.comments[place{d.File, d.Line, d.Code}]; a != nil && d.Field == "" {
		return a
	}
	if origin, ok := s.origins[d.File]; ok && origin < len(s.sources) {
		for _, a := range s.sources[origin] {
			if a.code == d.Code && !a.isExpired(s.in.Now) && a.matches(s.relative(d.File, origin)) {
				return a
			}
		}
	}
	if a := s.known[entryOf(d, s.names).key()]; a != nil && a.left != 0 {
		return a
	}
	return nil
}

// relative returns a path as the settings of its source write it.
func (s *state) relative(file string, origin int) string {
	return strings.TrimPrefix(file, s.in.Snapshot.Origins[origin].Name+"/")
}

// matches reports whether a pattern matches a file or a folder that it is in.
func (a *acceptance) matches(file string) bool {
	for name, isFolder := file, false; name != "."; name, isFolder = path.Dir(name), true {
		if a.hidden.Ignores(name, isFolder) {
			return true
		}
	}
	return false
}

// isExpired reports whether the last day, in UTC, is over.
func (a *acceptance) isExpired(now time.Time) bool {
	return !a.until.IsZero() && !now.Before(a.until.AddDate(0, 0, 1))
}

// useless returns the warning about an acceptance that silences nothing.
func (a *acceptance) useless(in Input, isWhole bool) (diag.Diagnostic, bool) {
	d := diag.Diagnostic{Position: a.Position, Severity: diag.Warning, Code: diag.UnusedAcceptance, Hint: "remove it"}
	switch {
	case a.isExpired(in.Now):
		d.Code, d.Hint = diag.ExpiredAcceptance, "remove it, or set a later date"
		d.Message = fmt.Sprintf("%s is accepted until %s, which is over", a.code, a.until.Format(time.DateOnly))
	case !isWhole || a.left == 0 || a.left < 0 && a.used || !in.Raises(a.code):
		return d, false
	case a.used: // by fewer findings than a baseline counts
		d.Message = fmt.Sprintf("%d fewer findings of %s than are accepted", a.left, a.code)
		d.Hint = "write the baseline again"
	default:
		d.Message = fmt.Sprintf("%s is accepted, and nothing is found", a.code)
	}
	return d, true
}

// namesOf returns a function that names the document at a position: the kind of a document
// is on its first line or the one after that.
func namesOf(documents []syntax.Document) func(diag.Position) string {
	byFile := make(map[string][]*syntax.Header)
	for _, d := range documents {
		h := d.Meta()
		byFile[h.At.File] = append(byFile[h.At.File], h)
	}
	for _, list := range byFile {
		slices.SortStableFunc(list, func(a, b *syntax.Header) int { return cmp.Compare(a.At.Line, b.At.Line) })
	}
	return func(at diag.Position) string {
		list := byFile[at.File]
		i, _ := slices.BinarySearchFunc(list, at.Line+2, func(h *syntax.Header, line int) int { return cmp.Compare(h.At.Line, line) })
		if i == 0 {
			return at.File
		}
		h := list[i-1]
		return tables.Title(h.Kind, h.Namespace, h.Name)
	}
}

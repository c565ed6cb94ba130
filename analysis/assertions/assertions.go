// Package assertions gathers the assertions of a source and of files beside it, finds the
// documents that they refer to, and has package verify prove them. Documents that were read
// come in; reports go out. The package must not know how an assertion is proven.
package assertions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Set is assertions with what they refer to. It is not safe for concurrent use.
type Set struct {
	All []assertion.Assertion
	// List are the mistakes of assertions that are not those of their documents' directory.
	List diag.List
	// AcceptsTests accepts DecisionTests in files of AddFiles, which others read.
	AcceptsTests bool

	snapshot source.Snapshot
	compile  Compile
	first    map[string]diag.Position // the documents by name
	ids      []string                 // of all that were added
	outside  map[string]string        // files of AddFiles, with the folder of their references
	sides    map[string]*diff.Side    // the documents that are referred to, by path
	read     []compared               // what Check read
}

// Compile compiles documents. The side is nil if the list has errors. isPart states that they
// are a part of a directory, whose references may be dangling.
type Compile func(ctx context.Context, snapshot source.Snapshot, isPart bool) (*diff.Side, diag.List, error)

// Of returns the assertions among documents, which are those of a snapshot.
func Of(documents []syntax.Document, snapshot source.Snapshot, compile Compile) *Set {
	s := &Set{snapshot: snapshot, compile: compile, first: make(map[string]diag.Position), outside: make(map[string]string), sides: make(map[string]*diff.Side)}
	s.add(documents)
	return s
}

// With returns the assertions of the set for other files of the source. What they refer to
// outside of these files is shared.
func (s *Set) With(snapshot source.Snapshot) *Set {
	out := *s
	out.snapshot, out.sides = snapshot, make(map[string]*diff.Side)
	for key, side := range s.sides {
		if !strings.HasPrefix(key, assertion.Independent) {
			out.sides[key] = side
		}
	}
	return &out
}

func (s *Set) add(documents []syntax.Document) {
	for _, d := range documents {
		doc, ok := d.(*assertion.Document)
		if !ok {
			continue
		}
		if at, isKnown := s.first[doc.Name]; isKnown && at != doc.At {
			s.List.Add(diag.Diagnostic{
				Position: doc.At, Code: diag.Duplicate, Hint: "give it a name of its own",
				Message: fmt.Sprintf("%s is declared twice; the first is at %s", directory.Title(&doc.Header), at.Source()),
			})
		}
		s.first[doc.Name] = doc.At
		s.All = append(s.All, doc.Assertions...)
		for i := range doc.Assertions {
			s.ids = append(s.ids, doc.Assertions[i].ID())
		}
	}
}

// WithTests are the kinds of files that may have DecisionTests beside Assertions.
var WithTests = slices.Concat(assertion.Kinds, new(decisiontest.Family).Kinds())

// AddFiles adds the assertions of a file, or of the documents in a folder. It returns an error
// if they cannot be read; mistakes are in the list.
func (s *Set) AddFiles(name string) error {
	files, folder, err := FilesOf(name)
	if err != nil {
		return err
	}
	kinds := assertion.Kinds
	if s.AcceptsTests {
		kinds = WithTests
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s.outside[file] = folder
		decoded := kinds.Decode(file, content, syntax.Options{})
		s.List = append(s.List, decoded.List...)
		for _, skipped := range decoded.Skipped {
			s.List.Add(diag.Diagnostic{Position: skipped.At, Length: skipped.Length, Code: diag.UnknownKind, Message: fmt.Sprintf("kind %q is not %s", skipped.Kind, assertion.Kind)})
		}
		s.add(decoded.Documents)
	}
	return nil
}

// FilesOf returns the files with documents that a path names, and the folder of their references.
func FilesOf(name string) (files []string, folder string, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, "", err
	}
	if !info.IsDir() {
		return []string{name}, filepath.Dir(name), nil
	}
	err = filepath.WalkDir(name, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != name && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)):
			files = append(files, file)
		}
		return nil
	})
	return files, name, err
}

// Check adds references to documents that are not there, or that do not compile, to the list.
// It returns an error if the documents cannot be read.
func (s *Set) Check(ctx context.Context) error {
	for i := range s.All {
		a := &s.All[i]
		if a.Documents.Value == "" || a.Form == assertion.Independent {
			continue
		}
		if _, isKnown := s.sides[s.key(a)]; isKnown {
			continue
		}
		refuse := func(format string, args ...any) {
			s.List.Add(a.Documents.Diagnostic(diag.Error, diag.NoReference, "", "documents %s: %s", syntax.Quote(a.Documents.Value), fmt.Sprintf(format, args...)))
		}
		c := s.compared(a)
		snapshot, list, err := c.read(ctx)
		c.key = keyOf(snapshot, err)
		s.read = append(s.read, c)
		var side *diff.Side
		if err == nil && !list.HasErrors() {
			var more diag.List
			side, more, err = s.compile(ctx, snapshot, false)
			list = append(list, more...)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			refuse("no such file or folder below that of the assertions")
		case err != nil:
			return fmt.Errorf("%s: %w", a.Documents.Value, err)
		case side == nil:
			refuse("the documents do not compile")
			s.List = append(s.List, list...)
		default:
			side.Source = a.Documents.Value
			s.sides[s.key(a)] = side
		}
	}
	return nil
}

// key identifies the documents that an assertion compares with.
func (s *Set) key(a *assertion.Assertion) string {
	return strings.Join([]string{a.Form, path.Dir(filepath.ToSlash(a.At.File)), a.Documents.Value}, "\x00")
}

// without compiles the source without the documents of some files; nil if it has none of them.
func (s *Set) without(ctx context.Context, a *assertion.Assertion) (*diff.Side, error) {
	rest := s.snapshot
	rest.Files = slices.DeleteFunc(slices.Clone(rest.Files), func(f source.File) bool { return fitsPath(a.Documents.Value, f.Path) })
	if len(rest.Files) == len(s.snapshot.Files) {
		return nil, nil
	}
	side, list, err := s.compile(ctx, rest, true)
	if err == nil && side == nil {
		err = fmt.Errorf("%s: the documents without %s do not compile: %s", a.ID(), a.Documents.Value, list.Sorted()[0].Message)
	}
	return side, err
}

func (s *Set) reference(ctx context.Context, a *assertion.Assertion) (*diff.Side, error) {
	if side, isKnown := s.sides[s.key(a)]; isKnown {
		return side, nil
	}
	if a.Form != assertion.Independent {
		return nil, fmt.Errorf("%s: documents %s are not read", a.ID(), a.Documents.Value)
	}
	side, err := s.without(ctx, a)
	if err == nil {
		s.sides[s.key(a)] = side
	}
	return side, err
}

// Filter leaves the assertions whose DOCUMENT/NAME isIncluded selects.
func (s *Set) Filter(isIncluded func(id string) bool) {
	s.All = slices.DeleteFunc(s.All, func(a assertion.Assertion) bool { return !isIncluded(a.ID()) })
}

// Without returns the assertions that another set lacks, as DOCUMENT/NAME. Filters do not count.
func (s *Set) Without(other *Set) []string {
	return slices.DeleteFunc(slices.Clone(s.ids), func(id string) bool { return slices.Contains(other.ids, id) })
}

// Only returns a filter of patterns, of which one must fit. It returns an error for a text that
// is not a pattern.
func Only(patterns []string) (func(id string) bool, error) {
	var globs []tables.PathGlob
	for _, pattern := range patterns {
		g, problem, _ := tables.ParsePathGlob(pattern)
		if problem != "" {
			return nil, fmt.Errorf("pattern %q %s", pattern, problem)
		}
		globs = append(globs, g)
	}
	return func(id string) bool {
		return len(globs) == 0 || slices.ContainsFunc(globs, func(g tables.PathGlob) bool { return g.Match(id) })
	}, nil
}

// Base is a revision beside which assertions are proven, with its own assertions: what fails
// there too is old.
type Base struct {
	Side *diff.Side
	Set  *Set
}

// Verify proves the assertions of documents. Base may be nil. Check must have found no mistake.
// setNow sets the time at which the judges of all sides decide.
func (s *Set) Verify(ctx context.Context, side *diff.Side, base *Base, now time.Time, setNow func(time.Time)) (*verify.Report, error) {
	return s.Run(ctx, &verify.Input{Side: side, Now: now, SetNow: setNow}, base)
}

// Run is Verify with an input that lacks the assertions, what they refer to, and the base.
func (s *Set) Run(ctx context.Context, in *verify.Input, base *Base) (*verify.Report, error) {
	given := *in
	given.Assertions = s.All
	if base != nil {
		given.Base = base.Side
		if len(base.Set.snapshot.Files) > 0 {
			before := s.With(base.Set.snapshot)
			given.BaseReference = func(a *assertion.Assertion) (*diff.Side, error) { return before.reference(ctx, a) }
		}
	}
	given.Reference = func(a *assertion.Assertion) (*diff.Side, error) { return s.reference(ctx, a) }
	return verify.Run(ctx, &given)
}

// fitsPath reports whether a path fits a pattern in which "**" is any depth.
func fitsPath(pattern, name string) bool {
	names := strings.Split(name, "/")
	// fits states of how many of the first names the parts so far fit.
	fits := make([]bool, len(names)+1)
	fits[0] = true
	for part := range strings.SplitSeq(pattern, "/") {
		next := make([]bool, len(names)+1)
		g, problem, _ := tables.ParsePathGlob(part)
		for n := range next {
			switch {
			case part == "**":
				next[n] = fits[n] || n > 0 && next[n-1]
			case n > 0:
				next[n] = fits[n-1] && problem == "" && g.Match(names[n-1])
			}
		}
		fits = next
	}
	return fits[len(names)]
}

// Documents returns those of documents that have assertions.
func Documents(documents []syntax.Document) []syntax.Document {
	var out []syntax.Document
	for _, d := range documents {
		if _, isAssertions := d.(*assertion.Document); isAssertions {
			out = append(out, d)
		}
	}
	return out
}

// Question is assertions that are asked for, and are in no document.
type Question struct {
	// Text is the document that they are read as, and Documents it alone.
	Text      []byte
	Documents []syntax.Document
	List      diag.List
}

// QuestionOf reads the members of spec of a document. Its positions are in a file of the name.
func QuestionOf(name string, spec map[string]json.RawMessage) *Question {
	text := jsontext.Marshal(map[string]any{
		"apiVersion": syntax.VersionWrit, "kind": assertion.Kind, "metadata": map[string]string{"name": name}, "spec": spec,
	})
	decoded := assertion.Kinds.Decode(name, text, syntax.Options{})
	return &Question{Text: text, Documents: decoded.Documents, List: decoded.List}
}

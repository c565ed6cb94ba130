package changes

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

const verifyHelp = `verify proves the assertions of a policy directory: what must hold for every
request of every user. For each that does not hold it shows a request that
breaks it, with its decision and the lines that are responsible.

SOURCE is one source as of writ diff --help. Its documents of kind Assertions
are verified, and those of --assertions.

A verdict is holds (proven), fails (a request breaks it), excepted (it holds
with its exceptions), unknown (no request was found and no proof: a pod, CEL or
an extension decides) or vacuous (it says nothing: the class is empty, or has a
word that nothing knows).

Exit status 0: each assertion holds, is excepted, or is what it allows; 1: one
is not; 2: usage, or no proof was possible.`

const verifyExamples = `  writ verify policies
  writ verify policies --assertions team.yaml -o json
  writ verify policies --only 'secrets/*' --now 2027-01-01T00:00:00Z`

type verifyOptions struct {
	documents  documents.Flags
	assertions []string
	only       []string
	format     string
	now        string
	base       string
}

// NewVerify returns the command verify.
func NewVerify(s cli.Streams) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:     "verify SOURCE",
		Short:   "Prove what must hold for every request",
		Long:    verifyHelp,
		Example: verifyExamples,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return reportError(s, o.format, o.verify(cmd, s, args[0]))
		},
	}
	f := cmd.Flags()
	cli.FormatFlag(cmd, &o.format, "text", "json", "junit", "sarif", "markdown")
	f.StringArrayVar(&o.assertions, "assertions", nil, "`file` or folder with assertions, beside those of SOURCE; repeatable")
	f.StringArrayVar(&o.only, "only", nil, "only assertions whose DOCUMENT/NAME fits this `pattern`; repeatable")
	f.StringVar(&o.base, "base", "", "report what fails by SOURCE and did not by this `revision`, a source as well")
	f.StringVar(&o.now, "now", "", "`time` (RFC 3339) to verify at instead of the machine's")
	cli.MarkCommandLineOnly(cmd, "assertions", "only", "now", "base")
	o.documents.Add(cmd)
	return cmd
}

func (o *verifyOptions) verify(cmd *cobra.Command, s cli.Streams, arg string) error {
	if arg == "-" {
		return cli.Usagef(cmd, "verify reads no standard input: an assertion may refer to files")
	}
	clock, err := cli.Clock(o.now)
	if err != nil {
		return err
	}
	at := clock()
	v := &verification{loader: &loader{documents: &o.documents, streams: s, now: func() time.Time { return at }}}
	if v.in, err = parseInput(arg); err != nil {
		return err
	}
	v.side, err = v.load(cmd.Context(), "source", v.in)
	if err != nil {
		return err
	}
	v.snapshotOf = v.lastSnapshot
	if err := v.collect(o); err != nil {
		return err
	}
	base, removed, err := v.loadBase(cmd.Context(), o.base)
	if err != nil {
		return err
	}
	report, err := verify.Run(cmd.Context(), &verify.Input{
		Side: v.side, Base: base, Assertions: v.assertions, Now: at, SetNow: func(t time.Time) { at = t },
		Reference: func(a *assertion.Assertion) (*diff.Side, error) { return v.reference(cmd.Context(), a) },
	})
	if err != nil {
		return err
	}
	report.Notes = append(report.Notes, removed...)
	if err := o.show(s, report); err != nil {
		return err
	}
	if report.Fails() {
		return &cli.Finding{}
	}
	return nil
}

func (o *verifyOptions) show(s cli.Streams, report *verify.Report) error {
	var text []byte
	var err error
	switch o.format {
	case "json":
		return diag.WriteIndented(s.Out, report)
	case "junit":
		text, err = report.JUnit()
	case "sarif":
		text, err = report.SARIF(cli.Version())
	case "markdown":
		text = []byte(report.Markdown())
	default:
		text = []byte(report.Text())
	}
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return err
}

// kindTest is the kind of documents that may stand beside assertions.
const kindTest = "DecisionTest"

// verification is the state of one run of verify.
type verification struct {
	*loader
	in         input
	side       *diff.Side
	snapshotOf source.Snapshot
	assertions []assertion.Assertion
	// outside are the paths of files that --assertions names, with the folder that their
	// references must not leave.
	outside map[string]string
	// withTests accepts DecisionTests beside assertions, which others read.
	withTests bool
}

// loadBase loads the revision whose failures are old, nil without a name, and returns notes
// about its assertions that the source lacks.
func (v *verification) loadBase(ctx context.Context, name string) (*diff.Side, []verify.Note, error) {
	if name == "" {
		return nil, nil, nil
	}
	in, err := parseInput(name)
	if err != nil {
		return nil, nil, err
	}
	l := &loader{documents: v.documents, streams: v.streams, now: v.now}
	side, err := l.load(ctx, "base", in)
	if err != nil || l.lastResult == nil || v.lastResult == nil {
		return side, nil, err
	}
	has := make(map[string]bool)
	for _, doc := range directory.DocumentsOf[*assertion.Document](v.lastResult.Directory) {
		for i := range doc.Assertions {
			has[doc.Assertions[i].ID()] = true
		}
	}
	var removed []verify.Note
	for _, doc := range directory.DocumentsOf[*assertion.Document](l.lastResult.Directory) {
		for i := range doc.Assertions {
			if id := doc.Assertions[i].ID(); !has[id] {
				removed = append(removed, verify.Note{Code: "assertion-removed", Text: id + " is in the base alone"})
			}
		}
	}
	return side, removed, nil
}

// collect reads the assertions of the source and of --assertions.
func (v *verification) collect(o *verifyOptions) error {
	var list diag.List
	first := make(map[string]diag.Position)
	add := func(documents []syntax.Document) {
		for _, d := range documents {
			doc, ok := d.(*assertion.Document)
			if !ok {
				continue
			}
			if at, known := first[doc.Name]; known {
				list.Add(diag.Diagnostic{
					Position: doc.At, Code: diag.Duplicate, Hint: "give it a name of its own",
					Message: fmt.Sprintf("%s is declared twice; the first is at %s", directory.Title(&doc.Header), at.Source()),
				})
			}
			first[doc.Name] = doc.At
			v.assertions = append(v.assertions, doc.Assertions...)
		}
	}
	if v.lastResult != nil {
		add(v.lastResult.Directory.Documents())
	}
	v.outside = make(map[string]string)
	for _, name := range o.assertions {
		files, folder, err := assertionFiles(name)
		if err != nil {
			return err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			v.outside[file] = folder
			decoded := assertion.Kinds.Decode(file, content, syntax.Options{})
			list = append(list, decoded.List...)
			for _, skipped := range decoded.Skipped {
				if v.withTests && skipped.Kind == kindTest {
					continue
				}
				list.Add(diag.Diagnostic{Position: skipped.At, Length: skipped.Length, Code: diag.UnknownKind, Message: fmt.Sprintf("kind %q is not %s", skipped.Kind, assertion.Kind)})
			}
			add(decoded.Documents)
		}
	}
	if err := v.checkReferences(&list); err != nil {
		return err
	}
	if list = list.Sorted(); list.HasErrors() {
		if err := diag.WriteText(v.streams.Err, list, diag.TextOptions{Color: cli.Colours(v.streams.Err), Most: documents.MaxShown}); err != nil {
			return err
		}
		return &diffError{Code: "bad-assertions", Message: documents.Summary(list), Diagnostics: inputDiagnostics("assertions", list)}
	}
	return v.filter(o.only)
}

// filter leaves the assertions that a pattern fits.
func (v *verification) filter(only []string) error {
	var globs []tables.PathGlob
	for _, pattern := range only {
		g, problem, _ := tables.ParsePathGlob(pattern)
		if problem != "" {
			return fmt.Errorf("--only: pattern %q %s", pattern, problem)
		}
		globs = append(globs, g)
	}
	v.assertions = slices.DeleteFunc(v.assertions, func(a assertion.Assertion) bool {
		return len(globs) > 0 && !slices.ContainsFunc(globs, func(g tables.PathGlob) bool { return g.Match(a.ID()) })
	})
	if len(v.assertions) == 0 {
		return &diffError{Code: "no-assertions", Message: v.in.name + ": no assertion to verify"}
	}
	return nil
}

// assertionFiles returns the files that a path names, and the folder of their references.
func assertionFiles(name string) (files []string, folder string, err error) {
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

// checkReferences reports references to files that are not there, or outside.
func (v *verification) checkReferences(list *diag.List) error {
	for i := range v.assertions {
		a := &v.assertions[i]
		if a.Documents.Value == "" || a.Form == assertion.Independent {
			continue
		}
		at, err := v.path(a)
		if err == nil && v.in.checkout == nil {
			_, err = os.Stat(at)
		}
		if err != nil {
			list.Add(a.Documents.Diagnostic(diag.Error, diag.NoReference, "", "documents %s: %s", syntax.Quote(a.Documents.Value), "no such file or folder below that of the assertions"))
		}
	}
	return nil
}

// path returns where the documents are that an assertion refers to.
func (v *verification) path(a *assertion.Assertion) (string, error) {
	reference := filepath.FromSlash(a.Documents.Value)
	folder, isOutside := v.outside[a.At.File]
	if isOutside {
		at := filepath.Join(filepath.Dir(a.At.File), reference)
		if within, err := filepath.Rel(folder, at); err != nil || !filepath.IsLocal(within) {
			return "", fs.ErrNotExist
		}
		return at, nil
	}
	within := path.Join(path.Dir(a.At.File), a.Documents.Value)
	if !filepath.IsLocal(filepath.FromSlash(within)) {
		return "", fs.ErrNotExist
	}
	if v.in.checkout != nil {
		return path.Join(v.in.folder, within), nil
	}
	return filepath.Join(v.in.path, filepath.FromSlash(within)), nil
}

// reference loads the documents that an assertion compares with; nil if it names none.
func (v *verification) reference(ctx context.Context, a *assertion.Assertion) (*diff.Side, error) {
	if a.Form == assertion.Independent {
		return v.without(ctx, a)
	}
	at, err := v.path(a)
	if err != nil {
		return nil, err
	}
	in := input{name: a.Documents.Value, path: at}
	if _, isOutside := v.outside[a.At.File]; !isOutside && v.in.checkout != nil {
		in = input{name: a.Documents.Value, commit: v.in.commit, folder: at, checkout: v.in.checkout}
	}
	l := &loader{documents: v.documents, streams: v.streams, now: v.now}
	return l.load(ctx, "reference", in)
}

// without loads the documents of the source without those of some files.
func (v *verification) without(ctx context.Context, a *assertion.Assertion) (*diff.Side, error) {
	rest := v.snapshotOf
	rest.Files = slices.DeleteFunc(slices.Clone(rest.Files), func(f source.File) bool { return fitsPath(a.Documents.Value, f.Path) })
	if len(rest.Files) == len(v.snapshotOf.Files) {
		return nil, nil
	}
	given := settings.Settings{settings.ClusterExport: {Text: "true"}} // a binding whose role goes away binds nothing
	l := &loader{documents: v.documents, streams: v.streams, now: v.now, allowEmpty: true, settings: given}
	return l.loadSnapshot(ctx, "without", input{name: a.Documents.Value}, rest)
}

// fitsPath reports whether a path fits a pattern in which "**" is any depth.
func fitsPath(pattern, name string) bool {
	parts, names := strings.Split(pattern, "/"), strings.Split(name, "/")
	var fits func(i, j int) bool
	fits = func(i, j int) bool {
		switch {
		case i == len(parts):
			return j == len(names)
		case parts[i] == "**":
			return fits(i+1, j) || j < len(names) && fits(i, j+1)
		case j == len(names):
			return false
		}
		g, problem, _ := tables.ParsePathGlob(parts[i])
		return problem == "" && g.Match(names[j]) && fits(i+1, j+1)
	}
	return fits(0, 0)
}

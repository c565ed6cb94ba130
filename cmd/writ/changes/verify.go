package changes

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/mutants"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/diag"
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

--mutants N changes one document in one place, N times, so that more is
permitted, and reports the changes that no assertion and no DecisionTest
notices: each is an assertion that is missing. The same --seed draws the same
changes.

--certificate DIR writes why each assertion holds that is never or always at the
point access: the statements, the class and a tree that a program without writ
can check. docs/verify.md describes the files.

Exit status 0: each assertion holds, is excepted, or is what it allows; 1: one
is not; 2: usage, or no proof was possible.`

const verifyExamples = `  writ verify policies
  writ verify policies --assertions team.yaml -o json
  writ verify policies --mutants 100 --min-score 80
  writ verify policies --only 'secrets/*' --now 2027-01-01T00:00:00Z`

type verifyOptions struct {
	documents  documents.Flags
	assertions []string
	only       []string
	format     string
	now        string
	base       string
	mutants    int
	seed       uint64
	minScore   float64
	// certificates is the folder for certificates, empty without any.
	certificates string
}

// NewVerify returns the command verify.
func NewVerify(s cli.Streams) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:     "verify SOURCE",
		Short:   "Prove what must hold for every request",
		Long:    verifyHelp,
		Example: verifyExamples,
		Args:    cli.Arguments(1, 1, "name one policy directory or another source"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return reportError(s, o.format, o.verify(cmd, s, args[0]))
		},
	}
	f := cmd.Flags()
	cli.FormatFlag(cmd, &o.format, "text", "json", "junit", "sarif", "markdown")
	f.StringArrayVar(&o.assertions, "assertions", nil, "`file` or folder with assertions, beside those of SOURCE; repeatable")
	f.StringArrayVar(&o.only, "only", nil, "only assertions whose DOCUMENT/NAME fits this `pattern`; repeatable")
	f.StringVar(&o.base, "base", "", "report what fails by SOURCE and did not by this `revision`, a source as well")
	cli.TimeFlag(cmd, &o.now, "now", "`time` (RFC 3339) to verify at instead of the machine's")
	f.IntVar(&o.mutants, "mutants", 0, "`number` of changes of SOURCE to try, from 1 to 10000: each permits more in one place, and an assertion or a DecisionTest should notice")
	f.Uint64Var(&o.seed, "seed", 1, "`number` that draws the mutants")
	f.Float64Var(&o.minScore, "min-score", 0, "exit with status 1 if fewer than this `percentage` of the mutants is noticed")
	f.StringVar(&o.certificates, "certificate", "", "`folder` to write a certificate to for each assertion never or always at access that holds")
	cli.MarkCommandLineOnly(cmd, "certificate", "assertions", "only", "now", "base", "mutants", "seed", "min-score")
	o.documents.Add(cmd)
	return cmd
}

func (o *verifyOptions) verify(cmd *cobra.Command, s cli.Streams, arg string) error {
	if arg == "-" {
		return cli.Usagef(cmd, "verify reads no standard input: an assertion may refer to files")
	}
	if err := o.checkMutants(cmd); err != nil {
		return err
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
	if err := v.loadSource(cmd.Context(), o); err != nil {
		return err
	}
	base, removed, err := v.loadBase(cmd.Context(), o.base)
	if err != nil {
		return err
	}
	in := verify.Input{Side: v.side, Now: at, SetNow: func(t time.Time) { at = t }, HasCertificates: o.certificates != ""}
	var report *verify.Report
	err = progress.Do(cmd.Context(), progress.Verify, func(ctx context.Context) (err error) {
		report, err = v.set.Run(ctx, &in, base)
		return err
	})
	if err != nil {
		return err
	}
	if o.certificates != "" {
		if err := writeCertificates(o.certificates, report); err != nil {
			return err
		}
	}
	report.Notes = append(report.Notes, removed...)
	noticed, err := v.mutate(cmd.Context(), o, report, at, func(t time.Time) { at = t })
	if err != nil {
		return err
	}
	if err := o.show(s, report, noticed); err != nil {
		return err
	}
	if report.Fails() || noticed != nil && noticed.IsBelow(o.minScore) {
		return &cli.Finding{}
	}
	return nil
}

// loadSource loads the documents and their assertions. Proofs need no decoded documents, only
// mutants do: of many they take more memory than all that follows.
func (v *verification) loadSource(ctx context.Context, o *verifyOptions) error {
	b, count, err := v.bundle(ctx, "source", v.in)
	if err != nil {
		return err
	}
	if err := v.collect(ctx, o); err != nil {
		return err
	}
	if o.mutants == 0 {
		v.translator, v.lastResult, v.parts = nil, nil, nil
		runtime.GC() // or the heap grows to twice its size with the documents
	}
	v.side, err = v.activate(ctx, v.in, b, count)
	return err
}

// mostMutants is how many mutants a run may draw.
const mostMutants = 10_000

func (o *verifyOptions) checkMutants(cmd *cobra.Command) error {
	f := cmd.Flags()
	switch {
	case f.Changed("mutants") && (o.mutants < 1 || o.mutants > mostMutants):
		return cli.Usagef(cmd, "--mutants must be a number from 1 to %d", mostMutants)
	case o.minScore < 0 || o.minScore > 100:
		return cli.Usagef(cmd, "--min-score must be a number from 0 to 100")
	case o.mutants == 0 && (f.Changed("seed") || f.Changed("min-score")):
		return cli.Usagef(cmd, "--seed and --min-score require --mutants")
	case o.mutants > 0 && o.base != "":
		return cli.Usagef(cmd, "--mutants and --base are mutually exclusive")
	}
	return nil
}

// mutate tries mutants of the source and adds them to the report; nil if none are asked for.
func (v *verification) mutate(ctx context.Context, o *verifyOptions, report *verify.Report, now time.Time, setNow func(time.Time)) (*mutants.Report, error) {
	if o.mutants == 0 {
		return nil, nil
	}
	if v.lastResult == nil {
		return nil, &diffError{Code: "no-documents", Message: v.in.name + ": a built bundle has no documents to change"}
	}
	compiler, err := v.documents.Compiler(v.now)
	if err != nil {
		return nil, err
	}
	noticed, err := mutants.Run(ctx, &mutants.Options{
		Snapshot: v.lastSnapshot, Side: v.side, Documents: v.lastResult.Directory.Documents(), Set: v.set, Before: report, Compile: compiler.Compile,
		N: o.mutants, Seed: o.seed, Now: now, SetNow: setNow,
	})
	if err != nil {
		return nil, err
	}
	report.Mutants = noticed
	return noticed, nil
}

func (o *verifyOptions) show(s cli.Streams, report *verify.Report, noticed *mutants.Report) error {
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
		if noticed != nil {
			text = append(text, noticed.Markdown()...)
		}
	default:
		text = []byte(report.Text())
		if noticed != nil {
			text = append(text, noticed.Text()...)
		}
	}
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return err
}

// verification is the state of one run of verify.
type verification struct {
	*loader
	in   input
	side *diff.Side
	set  *assertions.Set
}

// loadBase loads the revision whose failures are old, nil without a name, and returns notes
// about its assertions that the source lacks.
func (v *verification) loadBase(ctx context.Context, name string) (*assertions.Base, []verify.Note, error) {
	if name == "" {
		return nil, nil, nil
	}
	in, err := parseInput(name)
	if err != nil {
		return nil, nil, err
	}
	l := &loader{documents: v.documents, streams: v.streams, now: v.now}
	side, err := l.load(ctx, "base", in)
	if err != nil {
		return nil, nil, err
	}
	before, err := l.assertions()
	if err != nil {
		return nil, nil, err
	}
	var removed []verify.Note
	for _, id := range before.Without(v.set) {
		removed = append(removed, verify.Note{Code: "assertion-removed", Text: id + " is in the base alone"})
	}
	return &assertions.Base{Side: side, Set: before}, removed, nil
}

// collect reads the assertions of the source and of --assertions.
func (v *verification) collect(ctx context.Context, o *verifyOptions) (err error) {
	if v.set, err = v.assertions(); err != nil {
		return err
	}
	for _, name := range o.assertions {
		if err := v.set.AddFiles(name); err != nil {
			return err
		}
	}
	if err := v.checkAssertions(ctx, v.set); err != nil {
		return err
	}
	isIncluded, err := assertions.Only(o.only)
	if err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	if v.set.Filter(isIncluded); len(v.set.All) == 0 && o.mutants == 0 {
		return &diffError{Code: "no-assertions", Message: v.in.name + ": no assertion to verify"}
	}
	return nil
}

// assertions returns those of the last revision.
func (l *loader) assertions() (*assertions.Set, error) {
	compiler, err := l.documents.Compiler(l.now)
	if err != nil {
		return nil, err
	}
	if l.lastResult == nil {
		return assertions.Carried(l.lastBundle, compiler.Compile)
	}
	return assertions.Of(l.lastResult.Directory.Documents(), l.lastSnapshot, compiler.Compile), nil
}

// checkAssertions returns an error with the mistakes of assertions, if there are any.
func (l *loader) checkAssertions(ctx context.Context, set *assertions.Set) error {
	err := documents.CheckSet(ctx, l.streams, set)
	if found, ok := errors.AsType[*cli.Finding](err); ok {
		return &diffError{Code: "bad-assertions", Message: found.Text, Diagnostics: inputDiagnostics("assertions", set.List.Sorted())}
	}
	return err
}

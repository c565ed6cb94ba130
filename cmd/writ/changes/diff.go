// Package changes has the commands that answer questions about all requests: what a
// change of documents decides differently, and who can do what.
package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

const diffHelp = `diff reports every class of requests that two revisions decide differently, with
a request of each (a witness), the subjects it concerns, and the lines that are
responsible. It compares all requests, not a sample. A class that is exact
changes in the stated way for everyone who holds only the principals that it
names; a class that is not (pods, CEL, extensions, items, gateway conditions)
may be wider than what changes, never narrower.

A and B are each a source as of writ check --help: a directory, a file, a pipe,
- for standard input, a built bundle, a cluster (kube:CONTEXT), a folder
git+https://HOST/REPO//FOLDER?ref=R, or REVISION:FOLDER in the git repository of
the working directory. REV1..REV2 compares a folder in two revisions;
REV1...REV2 compares REV2 with its merge base, as a pull request does. An empty
REV2 is HEAD.

Changes: gain (now allowed), relax (denied before, now undecided), loss (no
longer allowed), tighten (undecided before, now denied), other.

The comparison is at --now and at each later time at which a policy begins or
ends to hold that is not the same in A and B. --all-times adds the times of
policies that are the same; --at TIME compares at that time alone.

With --apply, B is A after the documents of B are applied to it: each replaces
the document of its kind, namespace and name, and all others of A stay. --prune
takes out those of A that carry a label or an annotation and that B lacks, as
Argo CD and Flux do.

The assertions of B are verified against both, as writ verify does: the report
begins with those that fail, and lists those whose verdict differs.

With --reach, the report begins with the paths to administrators, as writ reach
finds them, that are in one revision only, or in another class. A path that is
opened, or becomes more certain, is a gain; others are losses. The roles that
every cluster has are added to directories, as writ reach does.

--expect FILE accepts the changes that an ExpectedChanges document lists by
class and change; --write-expect FILE writes that document. An entry may have
until: TIME, the last time at which it counts, and reason: TEXT, which is shown.
writ expect --clean FILE removes entries of changes that are done.

Exit status 0: no difference that --fail-on counts; 1: there is one; 2: usage,
or no comparison was possible.`

const diffExamples = `  writ diff main:policies policies
  writ diff main...HEAD policies -o markdown
  writ diff old.tar.gz policies --fail-on gain
  writ diff main...HEAD policies --reach --fail-on gain
  writ diff --apply kube: policies --fail-on gain --expect gate/expect.yaml
  writ diff <(kustomize build old) <(kustomize build new)
  writ diff main.. policies --point access -o requests | writ eval --policies policies`

type diffOptions struct {
	documents  documents.Flags
	format     string
	points     []string
	subject    string
	namespace  string
	failOn     []string
	now        string
	at         string
	limit      int
	maxClasses int
	expect     string
	write      string
	details    bool
	allTimes   bool
	reach      bool
	apply      bool
	prune      []string
	summary    string
}

// NewDiff returns the command diff.
func NewDiff(s cli.Streams) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:     "diff A B | REV1..REV2 [FOLDER] | REV1...REV2 [FOLDER]",
		Short:   "Report the requests that two revisions decide differently",
		Long:    diffHelp,
		Example: diffExamples,
		Args:    cli.Arguments(1, 2, "name two revisions, or REV1..REV2"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return reportError(s, o.format, o.summarized(o.compare(cmd, s, args)))
		},
	}
	f := cmd.Flags()
	cli.FormatFlag(cmd, &o.format, "text", "json", "markdown", "sarif", "requests")
	f.StringArrayVar(&o.points, "point", nil, "`point` to compare: access, visibility or gateway; repeatable")
	f.StringVar(&o.subject, "subject", "", "only requests that hold this `principal`: user:NAME or group:NAME")
	f.StringVarP(&o.namespace, "namespace", "n", "", "only requests in this `namespace`")
	cli.ChoicesFlag(cmd, &o.failOn, "fail-on", "`changes` that end with exit status 1: gain (and relax), loss (and tighten), any (the default), none, or assertion (one that fails); repeatable", "gain", "loss", "any", "none", diff.FailOnAssertion)
	cli.TimeFlag(cmd, &o.now, "now", "`time` (RFC 3339) to compare at instead of the machine's")
	cli.TimeFlag(cmd, &o.at, "at", "`time` (RFC 3339, or now) to compare at, and at no later one", "now")
	f.BoolVar(&o.allTimes, "all-times", false, "compare at each later time too at which any policy begins or ends to hold")
	f.BoolVar(&o.details, "details", false, "list all subjects, rules and requests of a group in text; report what differs without a decision that differs: reasons, warnings, limits, aggregations, responses")
	f.BoolVar(&o.reach, "reach", false, "compare who can become an administrator of the cluster or of a namespace")
	f.IntVar(&o.limit, "limit", 50, "largest `number` of groups in text and markdown")
	f.IntVar(&o.maxClasses, "max-classes", 100000, "largest `number` of classes; more are an error")
	f.StringVar(&o.expect, "expect", "", "`file` with expected changes, which do not count")
	f.StringVar(&o.write, "write-expect", "", "write the changes that were found to a `file` for --expect")
	f.StringVar(&o.summary, "summary", "", "write the result in at most 4,096 bytes to a `file`, such as /dev/termination-log")
	o.addApply(cmd)
	cli.MarkCommandLineOnly(cmd, "point", "subject", "namespace", "now", "at", "all-times", "details", "reach", "expect", "write-expect", "summary")
	o.documents.Add(cmd)
	return cmd
}

// diffError is an error with a code, which prevents a comparison.
type diffError struct {
	Code        string           `json:"code"`
	Message     string           `json:"message"`
	Diagnostics []map[string]any `json:"diagnostics,omitempty"`
}

func (e *diffError) Error() string { return e.Message }

// inputDiagnostics returns diagnostics of one of two inputs, as writ check shows them.
func inputDiagnostics(side string, list diag.List) []map[string]any {
	text := jsontext.Marshal(diag.NewReport(list, nil))
	var report struct {
		Diagnostics []map[string]any `json:"diagnostics"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		panic(err)
	}
	for _, d := range report.Diagnostics {
		d["in"] = side
	}
	return report.Diagnostics
}

// reportError returns an error with its code, if it has one, and writes it to the output if the
// format is JSON.
func reportError(s cli.Streams, format string, err error) error {
	var failed *diffError
	switch {
	case errors.As(err, &failed):
	case errors.Is(err, diff.ErrTooManyClasses):
		failed = &diffError{Code: "too-many-classes", Message: err.Error()}
	case errors.Is(err, reach.ErrTooManyIdentities):
		failed = &diffError{Code: "too-many-identities", Message: err.Error()}
	case errors.As(err, new(*diff.DisagreementError)), errors.As(err, new(*reach.DisagreementError)):
		failed = &diffError{Code: "disagreement", Message: err.Error()}
	case errors.Is(err, replay.ErrEmptyLog):
		failed = &diffError{Code: "empty-log", Message: err.Error()}
	default:
		return err
	}
	if format == "json" {
		if err := diag.WriteIndented(s.Out, map[string]any{"error": failed}); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %s", failed.Code, failed.Message)
}

// check returns an error if flags exclude each other or have a value that is not possible.
func (o *diffOptions) check(cmd *cobra.Command) error {
	if o.format == "requests" && len(o.points) != 1 {
		return cli.Usagef(cmd, "-o requests requires one --point")
	}
	for _, point := range o.points {
		if !slices.Contains([]string{statement.PointAccess, statement.PointVisibility, statement.PointGateway}, point) {
			return cli.Usagef(cmd, "point %q must be access, visibility or gateway", point)
		}
	}
	if o.subject != "" && !isPrincipal(o.subject) {
		return cli.Usagef(cmd, "subject %q must be user:NAME or group:NAME", o.subject)
	}
	if o.at != "" && (o.now != "" || o.allTimes) {
		return cli.Usagef(cmd, "--at compares at one time; it excludes --now and --all-times")
	}
	if o.maxClasses < 1 {
		return cli.Usagef(cmd, "--max-classes must be a number above 0")
	}
	if o.limit < 0 {
		return cli.Usagef(cmd, "--limit must not be below 0")
	}
	if len(o.prune) > 0 && !o.apply {
		return cli.Usagef(cmd, "--prune requires --apply")
	}
	if o.write == "-" {
		return cli.Usagef(cmd, "--write-expect names a file: the report is on standard output")
	}
	return nil
}

// isPrincipal reports whether a text is user:NAME or group:NAME.
func isPrincipal(text string) bool {
	return strings.HasPrefix(text, tables.UserPrefix) || strings.HasPrefix(text, tables.GroupPrefix)
}

func (o *diffOptions) compare(cmd *cobra.Command, s cli.Streams, args []string) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	var expected []diff.ExpectedChange
	if o.expect != "" {
		var err error
		if expected, err = readExpected(o.expect, s); err != nil {
			return err
		}
	}
	report, err := o.report(cmd, s, args)
	if err != nil {
		return err
	}
	report.Accept(expected)
	if o.write != "" {
		if err := writeExpected(o.write, report, expected); err != nil {
			return err
		}
	}
	if o.summary != "" {
		if err := writeSummary(o.summary, report.Brief(o.counted(), maxSummary)); err != nil {
			return err
		}
	}
	if err := o.show(s, report); err != nil {
		return err
	}
	if len(o.failOn) == 0 {
		o.failOn = []string{"any"}
	}
	if slices.ContainsFunc(o.failOn, report.Fails) {
		return &cli.Finding{}
	}
	return nil
}

// report compares the revisions that arguments name.
func (o *diffOptions) report(cmd *cobra.Command, s cli.Streams, args []string) (*diff.Report, error) {
	at, err := o.time()
	if err != nil {
		return nil, err
	}
	from, err := inputs(cmd, args)
	if err != nil {
		return nil, err
	}
	isCluster := func(in input) bool { return strings.HasPrefix(in.path, diag.ObjectPrefix) }
	if o.reach && !slices.ContainsFunc(from[:], isCluster) {
		if err := addStockRoles(cmd); err != nil {
			return nil, err
		}
	}
	l := &loader{documents: &o.documents, streams: s, now: func() time.Time { return at }}
	var load loading = l.loadBoth
	var notes []string
	if o.apply {
		if load, err = o.applying(cmd, l, at, &notes); err != nil {
			return nil, err
		}
	}
	a, b, err := load(cmd.Context(), from)
	if err != nil {
		return nil, err
	}
	options := diff.Options{
		Points: o.points, Subject: o.subject, Namespace: o.namespace, Now: at,
		MaxClasses: o.maxClasses, Details: o.details, AllTimes: o.allTimes,
	}
	if o.at == "" {
		options.SetNow = func(t time.Time) { at = t }
	}
	report, err := compareSides(cmd.Context(), a, b, options)
	if err != nil {
		return nil, err
	}
	report.Notes = append(report.Notes, notes...)
	if o.reach {
		if err := l.compareReach(cmd.Context(), report, a, b, at); err != nil {
			return nil, err
		}
	}
	asserted, err := l.compareAssertions(cmd.Context(), a, b, at, func(t time.Time) { at = t })
	if err != nil {
		return nil, err
	}
	if asserted != nil {
		report.SetAssertions(asserted)
	}
	return report, nil
}

// compareSides is diff.Compare as a step that is shown.
func compareSides(ctx context.Context, a, b *diff.Side, o diff.Options) (report *diff.Report, err error) {
	err = progress.Do(ctx, progress.Search, func(ctx context.Context) (err error) {
		report, err = diff.Compare(ctx, a, b, o)
		return err
	})
	return report, err
}

// counted returns the changes that count, apart from assertions.
func (o *diffOptions) counted() string {
	for _, on := range o.failOn {
		if on != diff.FailOnAssertion {
			return on
		}
	}
	if len(o.failOn) > 0 {
		return "none"
	}
	return "any"
}

// time returns the first time of the comparison.
func (o *diffOptions) time() (time.Time, error) {
	text := o.at
	if text == "" || text == "now" {
		text = o.now
	}
	clock, err := cli.Clock(text)
	if err != nil {
		return time.Time{}, err
	}
	return clock(), nil
}

func (o *diffOptions) show(s cli.Streams, report *diff.Report) error {
	switch o.format {
	case "json":
		return diag.WriteIndented(s.Out, report)
	case "requests":
		for _, request := range report.Requests() {
			if _, err := s.Out.Write(jsontext.EscapeControls(jsontext.Line(request))); err != nil {
				return err
			}
		}
		return nil
	}
	text := []byte(report.Text(o.limit, o.details))
	switch o.format {
	case "markdown":
		text = []byte(report.Markdown(o.limit))
	case "sarif":
		var err error
		if text, err = report.SARIF(cli.Version()); err != nil {
			return err
		}
		text = append(text, '\n')
	}
	_, err := s.Out.Write(text)
	return err
}

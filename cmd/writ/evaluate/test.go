package evaluate

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/tables"
)

const testHelp = `test answers the requests of the directory's DecisionTest documents and compares
the decisions with the expected ones. It also runs the Rego tests of the built
bundle: tests that are generated from the documents, and the *_test.rego files
of extensions, and proves the directory's assertions as writ verify does: each
is a test assertions/DOCUMENT/NAME.

The expected value is a subset of the decision: only its keys are compared,
lists are compared as sets of the same length, and reasonContains searches for a
text in the reason. A test with "now" is evaluated at that time.

--coverage lists the rules that no request of a DecisionTest matched, by
document. Generated tests do not count, because they cover every rule.

Exit status 1 if a test fails, or no test was found.`

const testExamples = `  writ test policies
  writ test policies --run 'hammer/.*protected' --verbose
  writ test policies --coverage
  writ test policies -o junit > report.xml`

type testOptions struct {
	documents documents.Flags
	format    string
	run       string
	coverage  bool
	verbose   bool
}

// NewTest returns the command test.
func NewTest(s cli.Streams) *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:     "test DIR [-o text|json|junit] [--coverage] [--run REGEXP]",
		Short:   "Run the directory's DecisionTests, assertions and generated tests",
		Long:    testHelp,
		Example: testExamples,
		Args:    documents.OneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			return test(cmd.Context(), s, args, o)
		},
	}
	f := cmd.Flags()
	cli.FormatFlag(cmd, &o.format, "text", "json", "junit")
	f.StringVar(&o.run, "run", "", "only tests whose TEST/CASE, and assertions whose assertions/DOCUMENT/NAME matches this regular `expression`")
	f.BoolVar(&o.coverage, "coverage", false, "list the rules that no DecisionTest request matched")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "name the cases that passed, too")
	cli.MarkCommandLineOnly(cmd, "run")
	o.documents.Add(cmd)
	return cmd
}

func test(ctx context.Context, s cli.Streams, sources []string, o testOptions) error {
	filter, err := regexp.Compile(o.run)
	if err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	b, r, err := o.documents.Build(ctx, s, sources, true, bundles.BuildOptions{})
	if err != nil {
		return err
	}
	within, p := progress.Start(ctx, progress.Test)
	report, err := runTests(within, b, directory.DocumentsOf[*decisiontest.DecisionTest](r.Result.Directory), filter, p)
	if err == nil {
		err = report.addAssertions(within, o.documents, s, b, r, filter)
	}
	p.End(err)
	if err != nil {
		return err
	}
	if o.coverage {
		report.Coverage = report.hits.coverage(tables.Of[*tables.Access](r.Result.Tables), aggregatedRoles(r.Result.Directory))
	}
	if r.List = report.warnings.Sorted(); len(r.List) > 0 {
		if err := r.WriteDiagnostics(s.Err, "text"); err != nil {
			return err
		}
	}
	if err := report.write(s.Out, o); err != nil {
		return err
	}
	return report.verdict(o.run)
}

// verdict returns a finding if a test failed or no test was found, and another error
// if --run matches no test.
func (r *testReport) verdict(run string) error {
	switch {
	case r.Passed+r.Failed == 0 && run != "":
		return fmt.Errorf("--run: no test matches %q", run)
	case r.Passed+r.Failed == 0:
		return cli.Findingf("no tests found")
	case r.Failed > 0:
		return &cli.Finding{}
	}
	return nil
}

// errPoint is the error of a test at an unknown point.
var errPoint = errors.New("unknown point")

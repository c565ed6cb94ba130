package evaluate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/cmd/writ/pipeline"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/filters"
)

const filterHelp = `filter writes the condition under which the rows of a table are visible, or
allowed, for a database to apply it: it selects exactly the rows for which writ
eval says so. It reads questions from standard input, one JSON object per line,
and writes one answer per line, in the same order.

A question has a "request" as of writ eval, without what the rows have, and a
"target", unless --target has it. "columns" states where rows have names,
namespaces, labels and fields. At the point access, "open" lists what rows have:
"namespace" and "name" unless given. The answer has "kind" (never, conditional
or always), a "query" for WHERE with its "args", and "until", the time at which
it ends.

What a target cannot say exactly is refused, never approximated. The line is
{"error":{"code":"untranslatable","message","untranslatable"}} then, which lists
the patterns that stand in the way with file and line, and the exit status is 1.
For an invalid question the code is "invalid_request", and the exit status 2.`

const filterExamples = `  echo '{"request":{"user":"alice","groups":["dev"],"type":"pods",
    "cluster":{"name":"prod-eu-1"}}}' | tr -d '\n' |
    writ filter --policies policies --point visibility --target sql+postgresql
  echo '{"request":{"user":"alice","verb":"get","resource":"pods"},
    "target":"kubernetes"}' | tr -d '\n' |
    writ filter --policies policies --point access
  writ filter --bundle bundle.tar.gz --point access < questions.jsonl`

type filterOptions struct {
	documents documents.Flags
	policies  []string
	bundle    string
	point     string
	target    string
	format    string
	now       string
	maxLine   int
}

// NewFilter returns the command filter.
func NewFilter(s cli.Streams) *cobra.Command {
	o := filterOptions{point: decision.Visibility}
	cmd := &cobra.Command{
		Use:     "filter --policies DIR [--point POINT] [--target TARGET]",
		Short:   "Write the condition under which rows are visible or allowed",
		Long:    filterHelp,
		Example: filterExamples,
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return writeFilters(cmd, s, o) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.policies, "policies", nil, "policy `source` to answer by, as of writ check --help; repeatable")
	f.StringVar(&o.bundle, "bundle", "", "built `bundle` to answer by instead of --policies: a path or a URL")
	cli.ChoiceFlag(cmd, &o.point, "point", "decision point: "+strings.Join(filters.Points, ", "), filters.Points...)
	cli.ChoiceFlag(cmd, &o.target, "target", "language of the condition, where a question has none: "+strings.Join(filter.Targets, ", "), append([]string{""}, filter.Targets...)...)
	cli.FormatFlag(cmd, &o.format, "json")
	cli.TimeFlag(cmd, &o.now, "now", "evaluation `time` (RFC 3339) instead of the machine's")
	f.IntVar(&o.maxLine, "max-line", defaultMaxLine, "longest question in `bytes`")
	cli.MarkCommandLineOnly(cmd, "now", "target")
	o.documents.Add(cmd)
	return cmd
}

func writeFilters(cmd *cobra.Command, s cli.Streams, o filterOptions) error {
	ctx := cmd.Context()
	now, err := cli.Clock(o.now)
	if err != nil {
		return err
	}
	if o.maxLine < 2 {
		return cli.Usagef(cmd, "--max-line must be at least 2")
	}
	if slices.Contains(o.policies, "-") {
		return cli.Usagef(cmd, "--policies - does not apply: standard input has the questions")
	}
	b, err := o.documents.BundleFrom(ctx, s, o.policies, o.bundle)
	if err != nil {
		return err
	}
	e, err := documents.Activate(ctx, b, engine.Options{Now: now})
	if err != nil {
		return fmt.Errorf("activate: %w", err)
	}
	noteTerminal(s, "questions")
	var invalid, refused atomic.Int64
	lines := 0
	work := &pipeline.Pipeline{
		Workers: runtime.GOMAXPROCS(0),
		MaxLine: o.maxLine,
		Answer: func(into *bytes.Buffer, text []byte, tooLong bool) {
			err := fmt.Errorf("the line is longer than %d bytes", o.maxLine)
			if !tooLong {
				err = writeFilter(ctx, into, e, o.point, o.target, text)
			}
			var untranslatable *filter.UntranslatableError
			switch {
			case errors.As(err, &untranslatable):
				refused.Add(1)
				into.Write(append(filters.AppendError(nil, untranslatable), '\n'))
			case err != nil:
				invalid.Add(1)
				refuse(into, err)
			}
		},
		Answered: func(n int) { lines += n },
	}
	if err := work.Run(ctx, s.In, s.Out); err != nil {
		return err
	}
	switch n := invalid.Load(); {
	case n > 0:
		return fmt.Errorf("%d of %d lines have no answer", n, lines)
	case refused.Load() > 0:
		return cli.Findingf("%d of %d filters cannot be said exactly", refused.Load(), lines)
	}
	return nil
}

// writeFilter writes the answer to one question as a line.
func writeFilter(ctx context.Context, into *bytes.Buffer, p decision.Policies, point, target string, text []byte) error {
	body, err := decision.Parse(text)
	if err != nil {
		return err
	}
	q, err := filters.Parse(point, body, target, nil)
	if err != nil {
		return err
	}
	answer, err := q.Answer(ctx, p)
	if err != nil {
		return err
	}
	into.Write(jsontext.Line(answer))
	return nil
}

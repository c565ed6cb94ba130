// Package evaluate has the commands that answer without a server: eval decides requests, test
// compares the decisions with those that DecisionTests expect, effective shows the effective
// gateway policies.
package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/cmd/writ/pipeline"
	"github.com/writ-policy/writ/cmd/writ/terminal"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

const evalHelp = `eval reads requests from standard input or --requests FILE, one JSON object per
line, and writes one decision per line to standard output, in the same order. It
answers while it reads, uses all cores, and its memory does not depend on the
number of lines.

With -o text, a decision is a line with the outcome, the reason, and the
documents that decided, with file and line.

For an invalid request, or a line longer than --max-line, the output line is
{"error":{"code","message"}}; the command continues and ends with exit status 2.
Blank lines are skipped.

A request at the point access has a "verb", a "resource" or a "path", and a
"user", which may be "" beside "groups". A request at the point visibility has a
"user" or a "serviceAccount", a "cluster", a "type" and "items"; see the
examples. A request at the point gateway has a "request" with "method", "host"
and "path", and a "source" with an "address". The evaluation time is the current
time or --now, and never part of the request.

With --stream, at the point visibility, standard input is one request in parts:
a line without items, then one item per line. The output is a line with the
permissions, lines {"visible":[...]} with the indexes of visible items as they
are read, and at the end a line with "aggregations" and "metrics", or an error.
Only the aggregated fields of visible items are kept in memory.`

const evalExamples = `  writ eval --policies policies < requests.jsonl > decisions.jsonl
  echo '{"user":"alice","groups":["dev"],"verb":"get","apiGroup":"apps",
    "resource":"deployments","namespace":"shop"}' | tr -d '\n' |
    writ eval --policies policies --point access
  helm template chart | writ eval --policies - --requests requests.jsonl
  writ eval --bundle bundle.tar.gz --now 2026-01-31T09:00:00Z < requests.jsonl
  echo '{"user":"alice","cluster":{"name":"prod-eu-1"},"type":"pods",
    "items":[{"name":"web-0","namespace":"shop"}]}' | tr -d '\n' |
    writ eval --policies policies --point visibility
  writ eval --policies policies --point visibility --stream < items.jsonl`

// defaultMaxLine is the server's default limit of a request body.
const defaultMaxLine = 1 << 20

type evalOptions struct {
	documents documents.Flags
	policies  []string
	bundle    string
	requests  string
	point     string
	format    string
	now       string
	maxLine   int
	stream    bool
	// requireRoute denies requests at the point gateway that name no route.
	requireRoute bool
	decideBy     string
}

// evalPoints returns the points at which eval answers requests.
func evalPoints() []string {
	return elements.Map(decision.Points(), func(point decision.Point) string { return point.Name })
}

// NewEval returns the command eval.
func NewEval(s cli.Streams) *cobra.Command {
	o := evalOptions{point: decision.Access, decideBy: engine.DecideByCompiled}
	cmd := &cobra.Command{
		Use:     "eval --policies DIR [--point POINT] [--now TIME]",
		Short:   "Answer requests, one JSON object per line",
		Long:    evalHelp,
		Example: evalExamples,
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return eval(cmd, s, o) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.policies, "policies", nil, "policy `source` to decide by, as of writ check --help; repeatable")
	f.StringVar(&o.requests, "requests", "-", "`file` with the requests; - is standard input")
	f.StringVar(&o.bundle, "bundle", "", "built `bundle` to decide by instead of --policies: a path or a URL")
	cli.ChoiceFlag(cmd, &o.point, "point", "decision point: "+strings.Join(evalPoints(), ", "), evalPoints()...)
	cli.FormatFlag(cmd, &o.format, "json", "text")
	cli.TimeFlag(cmd, &o.now, "now", "evaluation `time` (RFC 3339) instead of the machine's")
	f.IntVar(&o.maxLine, "max-line", defaultMaxLine, "longest request in `bytes`")
	f.BoolVar(&o.stream, "stream", false, "read one request at the point visibility, with one item per line")
	cli.ChoiceFlag(cmd, &o.decideBy, "decide-by", "`what` decides: "+engine.DecideByCompiled+" forms of the bundle's Rego where they are known, or "+engine.DecideByOPA+" alone", engine.DecideByCompiled, engine.DecideByOPA)
	f.BoolVar(&o.requireRoute, "require-route", false, "deny requests at the point gateway that name no route")
	cli.MarkCommandLineOnly(cmd, "now", "stream", "requests")
	o.documents.Add(cmd)
	return cmd
}

func eval(cmd *cobra.Command, s cli.Streams, o evalOptions) error {
	ctx := cmd.Context()
	now, err := cli.Clock(o.now)
	if err != nil {
		return err
	}
	if o.maxLine < 2 {
		return cli.Usagef(cmd, "--max-line must be at least 2")
	}
	if o.stream && o.format == "text" {
		return cli.Usagef(cmd, "--stream writes JSON: -o text does not apply")
	}
	if o.stream && o.point != decision.Visibility {
		return cli.Usagef(cmd, "--stream requires --point visibility: other requests have no items")
	}
	if slices.Contains(o.policies, "-") && o.requests == "-" {
		return cli.Usagef(cmd, "--policies - requires --requests FILE: standard input has the requests otherwise")
	}
	b, err := o.documents.BundleFrom(ctx, s, o.policies, o.bundle)
	if err != nil {
		return err
	}
	e, err := documents.Activate(ctx, b, engine.Options{Now: now, RequireRoute: o.requireRoute, ByOPA: engine.PointsByOPA(o.decideBy)})
	if err != nil {
		return fmt.Errorf("activate: %w", err)
	}
	if why := e.Loaded().ByOPA[o.point]; why != "" && o.decideBy != engine.DecideByOPA {
		fmt.Fprintf(s.Err, "OPA decides at the point %s, which takes longer: %s\n", o.point, why)
	}
	if o.requests != "-" {
		file, err := os.Open(o.requests)
		if err != nil {
			return fmt.Errorf("--requests: %w", err)
		}
		defer file.Close()
		s.In = file
	}
	noteTerminal(s, "requests")
	var write writer = writeJSON
	if o.format == "text" {
		write = writeText
	}
	if o.stream {
		return answerStream(ctx, s, e, o.maxLine)
	}
	var unlike unlikeInCluster
	err = answerLines(ctx, s, pointAnswerer(e, o.point, write, unlike.note), o.maxLine)
	unlike.report(s.Err)
	return err
}

// answerer writes the decision on one request as a line. It returns an error if the
// request is invalid.
type answerer func(ctx context.Context, into *bytes.Buffer, request []byte) error

// writer writes a decision as a line.
type writer func(into *bytes.Buffer, d decision.Answer)

// observer is called with each request at the point access and its decision.
type observer func(ctx context.Context, p decision.Policies, r *decision.Request, d decision.Answer)

// pointAnswerer returns the answerer of a point, or nil for an unknown point. decided may be nil.
func pointAnswerer(p decision.Policies, name string, write writer, decided observer) answerer {
	point, found := decision.FindPoint(name)
	if !found {
		return nil
	}
	return func(ctx context.Context, into *bytes.Buffer, request []byte) error {
		q, err := point.Decode(request, nil)
		if err != nil {
			return err
		}
		r, isAccess := q.(*decision.Request)
		if isAccess {
			q = r.Completed(p)
		}
		d, refused := q.Decide(ctx, p)
		if refused != nil {
			return refused
		}
		if isAccess && decided != nil {
			decided(ctx, p, r, d)
		}
		write(into, d)
		return nil
	}
}

func writeJSON(into *bytes.Buffer, d decision.Answer) {
	into.Write(append(d.AppendJSON(into.AvailableBuffer()), '\n'))
}

// maxLines is how many lines of documents a decision names as text.
const maxLines = 5

// writeText writes a decision as a line: the outcome, the reason, and what decided.
func writeText(into *bytes.Buffer, d decision.Answer) {
	var said struct{ Reason string }
	if err := json.Unmarshal(d.AppendJSON(nil), &said); err != nil {
		panic(err) // decisions of all points are objects with a reason
	}
	text := d.Settle().String() + ": " + said.Reason
	matched, _ := d.DecidedBy()
	for i := range matched {
		if more := len(matched) - i; i == maxLines && more > 1 {
			text += fmt.Sprintf("; and %d more (-o json)", more)
			break
		}
		m := &matched[i]
		name := tables.FullName(m.Namespace, m.Name)
		text += fmt.Sprintf("; %s %s at %s", m.Kind, name, m.Place())
	}
	into.WriteString(diag.Line(text) + "\n")
}

// answerLines answers the requests on standard input. It returns an error if reading
// or writing fails, or if a request was invalid.
func answerLines(ctx context.Context, s cli.Streams, decide answerer, maxLine int) error {
	var refused atomic.Int64
	lines, p := 0, answering(ctx, s)
	work := &pipeline.Pipeline{
		Workers: runtime.GOMAXPROCS(0),
		MaxLine: maxLine,
		Answer: func(into *bytes.Buffer, text []byte, tooLong bool) {
			if !answerLine(ctx, decide, into, text, tooLong, maxLine) {
				refused.Add(1)
			}
		},
		Answered: func(n int) { lines += n; p.Count(int64(n), "requests answered") },
	}
	err := work.Run(ctx, s.In, s.Out)
	p.End(err)
	if err != nil {
		return err
	}
	if n := refused.Load(); n > 0 {
		return fmt.Errorf("%d of %d lines are not valid requests", n, lines)
	}
	return nil
}

// noteTerminal writes what is read if that is typed: a command that waits looks like one that hangs.
func noteTerminal(s cli.Streams, what string) {
	if terminal.Is(s.In) {
		fmt.Fprintf(s.Err, "reading %s from the terminal, one JSON object in a line; Ctrl-D ends them\n", what)
	}
}

// answering starts the span of answering. It returns nil if standard input is a
// terminal: progress would overwrite the line that is being typed.
func answering(ctx context.Context, s cli.Streams) *progress.Span {
	if terminal.Is(s.In) {
		return nil
	}
	_, p := progress.Start(ctx, progress.Answer)
	return p
}

// answerLine writes the answer to one line. It returns false if the request is invalid.
func answerLine(ctx context.Context, decide answerer, into *bytes.Buffer, text []byte, tooLong bool, maxLine int) bool {
	if tooLong {
		refuse(into, fmt.Errorf("the line is longer than %d bytes", maxLine))
		return false
	}
	if err := decide(ctx, into, text); err != nil {
		refuse(into, err)
		return false
	}
	return true
}

// refuse writes the error object for an invalid request.
func refuse(into *bytes.Buffer, err error) {
	into.Write(decision.AsInvalidRequest(err).Body())
	into.WriteByte('\n')
}

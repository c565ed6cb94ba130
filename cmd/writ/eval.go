package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/progress"
)

const evalHelp = `eval reads requests from standard input, one JSON object a line, and writes one
decision a line to standard output, in the same order. It starts answering at
once, uses all cores, and needs no more memory for a million lines than for ten.

A line that is no valid request gets {"error":{"code","message"}} on its line; the
command goes on and ends with exit status 2. So does a line longer than
--max-line. Blank lines are skipped and get no line.

A request at the point access has a "verb", a "resource" or a "path", and a "user"
(or "groups"). One at the point visibility has a "user" (or a "serviceAccount"), a
"cluster", a "type" and "items"; see the examples. Time is the machine's, or --now:
never the request's.

With --stream, at the point visibility, standard input is one request in pieces: a
line without items, then one item a line. Out comes a line of what is allowed, lines
{"visible":[...]} with the indexes of items as they are read, and last a line of
"aggregations" and "metrics"; or an error in its place. A list of any length takes
no more memory than its shown items' aggregated fields.`

const evalExamples = `  writ eval --policies policies < requests.jsonl > decisions.jsonl
  echo '{"user":"alice","groups":["dev"],"verb":"get","apiGroup":"apps",
    "resource":"deployments","namespace":"shop"}' | tr -d '\n' |
    writ eval --policies policies --point access
  writ eval --bundle bundle.tar.gz --now 2026-01-31T09:00:00Z < requests.jsonl
  echo '{"user":"alice","cluster":{"name":"prod-eu-1"},"type":"pods",
    "items":[{"name":"web-0","namespace":"shop"}]}' | tr -d '\n' |
    writ eval --policies policies --point visibility
  writ eval --policies policies --point visibility --stream < items.jsonl`

// defaultMaxLine is as much as the server takes as a body.
const defaultMaxLine = 1 << 20

type evalOptions struct {
	documents documentFlags
	policies  string
	bundle    string
	point     string
	now       string
	maxLine   int
	stream    bool
}

// evalPoints are the points that requests can be answered at.
var evalPoints = []string{string(decision.Access), string(decision.Visibility), string(decision.Gateway)}

func newEval(s streams) *cobra.Command {
	o := evalOptions{point: string(decision.Access)}
	cmd := &cobra.Command{
		Use:     "eval --policies DIR --point POINT [--now RFC3339]",
		Short:   "Answer requests, one JSON object a line",
		Long:    evalHelp,
		Example: evalExamples,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return eval(cmd, s, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.policies, "policies", "", "policy `directory` to decide by")
	f.StringVar(&o.bundle, "bundle", "", "built bundle to decide by instead: a tarball or a folder")
	f.Var(&choice{&o.point, evalPoints}, "point", "decision point: access, visibility or gateway")
	f.StringVar(&o.now, "now", "", "evaluation `time` (RFC 3339) instead of the machine's")
	f.IntVar(&o.maxLine, "max-line", defaultMaxLine, "longest request in `bytes`")
	f.BoolVar(&o.stream, "stream", false, "read one request at the point visibility, its items one a line")
	onlyHere(cmd, "now", "stream")
	complete(cmd, "point", evalPoints...)
	o.documents.add(cmd)
	return cmd
}

func eval(cmd *cobra.Command, s streams, o evalOptions) error {
	ctx := cmd.Context()
	now, err := clock(o.now)
	if err != nil {
		return err
	}
	if o.maxLine < 2 {
		return usagef(cmd, "--max-line must be at least 2")
	}
	if o.stream && o.point != string(decision.Visibility) {
		return usagef(cmd, "--stream needs --point visibility: other requests have no items")
	}
	b, err := o.documents.bundleFrom(ctx, s, o.policies, o.bundle)
	if err != nil {
		return err
	}
	e, err := activate(ctx, b, engine.Options{Now: now})
	if err != nil {
		return fmt.Errorf("activate: %w", err)
	}
	if o.stream {
		return answerStream(ctx, s, e, o.maxLine)
	}
	return answerLines(ctx, s, pointAnswerer(e, o.point, nil), o.maxLine)
}

// activate makes an engine of a bundle.
func activate(ctx context.Context, b *bundles.Bundle, o engine.Options) (e *engine.Engine, err error) {
	err = progress.Do(ctx, progress.Activate, func(ctx context.Context) error {
		e, err = engine.Activate(ctx, b, o)
		return err
	})
	return e, err
}

// answerer writes the decision on one request as a line. The error says that it
// is no request.
type answerer func(ctx context.Context, into *bytes.Buffer, request []byte) error

// pointAnswerer answers at a point, nil if there is no such point. Rules that
// match are added to h, which may be nil.
func pointAnswerer(e *engine.Engine, point string, h hits) answerer {
	switch point {
	case string(decision.Access):
		return func(ctx context.Context, into *bytes.Buffer, request []byte) error {
			r, err := decision.Decode(request)
			if err != nil {
				return err
			}
			d := e.Evaluate(ctx, r)
			h.add(d.Matched)
			writeDecision(into, d)
			return nil
		}
	case string(decision.Visibility):
		return func(ctx context.Context, into *bytes.Buffer, request []byte) error {
			r, err := decision.DecodeVisibility(request)
			if err != nil {
				return err
			}
			d := e.View(ctx, r)
			into.Write(append(d.AppendJSON(into.AvailableBuffer()), '\n'))
			return nil
		}
	case string(decision.Gateway):
		return func(ctx context.Context, into *bytes.Buffer, request []byte) error {
			r, err := decision.DecodeGateway(request)
			if err != nil {
				return err
			}
			d, refused := e.Guard(ctx, r)
			if refused != nil {
				return refused
			}
			encodeLine(into, d)
			return nil
		}
	}
	return nil
}

// answerLines answers the requests on standard input.
func answerLines(ctx context.Context, s streams, decide answerer, maxLine int) error {
	var refused atomic.Int64
	lines, p := 0, answering(ctx, s)
	work := &pipeline{
		workers: runtime.GOMAXPROCS(0),
		maxLine: maxLine,
		answer: func(into *bytes.Buffer, text []byte, tooLong bool) {
			if !answerLine(ctx, decide, into, text, tooLong, maxLine) {
				refused.Add(1)
			}
		},
		answered: func(n int) { lines += n; p.Count(int64(n), "requests answered") },
	}
	err := work.run(ctx, s.in, s.out)
	p.End(err)
	if err != nil {
		return err
	}
	if n := refused.Load(); n > 0 {
		return fmt.Errorf("%d of %d lines are no valid request", n, lines)
	}
	return nil
}

// answering is the phase of answering what comes in. A person who types the requests
// is not told, on the line that is being typed, how many there were.
func answering(ctx context.Context, s streams) *progress.Span {
	if isTerminal(s.in) {
		return nil
	}
	_, p := progress.Start(ctx, progress.Answer)
	return p
}

// answerLine writes the answer to one line; false if that is an error.
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

// writeDecision writes a decision as one line.
func writeDecision(into *bytes.Buffer, d decision.Decision) {
	if d.Warnings == nil {
		d.Warnings = []string{}
	}
	if d.Matched == nil {
		d.Matched = []decision.Matched{}
	}
	encodeLine(into, d)
}

// encodeLine writes a decision as one line.
func encodeLine(into *bytes.Buffer, d any) {
	encoder := json.NewEncoder(into)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d); err != nil {
		panic(err) // a decision is made of strings, booleans, numbers and JSON
	}
}

// refuse is the answer to what is no request.
func refuse(into *bytes.Buffer, err error) {
	into.Write(decision.AsInvalidRequest(err).Body())
	into.WriteByte('\n')
}

// clock is the engine's: fixed where text names a time.
func clock(text string) (func() time.Time, error) {
	if text == "" {
		return time.Now, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, fmt.Errorf("--now: %q is no RFC 3339 time such as 2026-01-31T09:00:00Z", text)
	}
	return func() time.Time { return at }, nil
}

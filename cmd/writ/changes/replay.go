package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

const replayHelp = `replay decides recorded requests by a revision and reports those whose outcome
changes, in groups. A log has lines of JSON, or is one JSON list, plain or below
items or decisions; it may be compressed by gzip. Records are those of writ,
requests as for writ eval, entries of OPA's decision log, and events of a
Kubernetes audit log.

Without --against the recorded outcomes are compared with those of --policies;
with it those of two revisions, and the recorded ones count for fidelity alone.
Each event is decided at its own time, or at --now. An outcome that rests on a
fact that the log lacks (a pod, labels) is uncertain, and not a change unless it
changes with every value.

--unused lists rules that decided no event, bindings of which no event had a
subject, entries of used rules that no event needed, and what each * was used
for. A log proves use, and never that something is useless. --grace DAYS leaves
out what is not in the git revision of so many days ago. --shard I/N replays the
events of one part of the users, I from 0; --merge adds the JSON reports of all
parts.

Exit status 0: no change that --fail-on counts; 1: there is one; 2: usage, or no
event that can be replayed.`

const replayExamples = `  writ replay --log audit.log --policies policies
  writ replay --log decisions.json.gz --policies policies --against main:policies
  writ replay --log audit.log --policies policies --unused
  writ replay --merge part-0.json part-1.json -o json`

type replayOptions struct {
	documents documents.Flags
	logs      []string
	policies  string
	against   string
	format    string
	failOn    string
	unused    bool
	merge     bool
	grace     int

	now, since, until, shard, cluster string
}

// NewReplay returns the command replay.
func NewReplay(s cli.Streams) *cobra.Command {
	o := replayOptions{failOn: "any"}
	cmd := &cobra.Command{
		Use:     "replay --log FILE... --policies B [--against A] | --merge REPORT...",
		Short:   "Replay recorded requests against a revision",
		Long:    replayHelp,
		Example: replayExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, s, args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.logs, "log", nil, "`file` with records, - for standard input; repeatable")
	f.StringVar(&o.policies, "policies", "", "`revision` to decide by, as an argument of writ diff")
	f.StringVar(&o.against, "against", "", "`revision` to compare with instead of the recorded outcomes")
	cli.FormatFlag(cmd, &o.format, "text", "json", "markdown")
	cli.ChoiceFlag(cmd, &o.failOn, "fail-on", "`changes` that end with exit status 1: gain (and relax), loss (and tighten), any or none", "gain", "loss", "any", "none")
	f.BoolVar(&o.unused, "unused", false, "list rules and bindings that no event used")
	f.IntVar(&o.grace, "grace", 0, "leave out of --unused what git has for less than so many `days`")
	cli.TimeFlag(cmd, &o.now, "now", "`time` (RFC 3339) of all decisions instead of that of each event")
	cli.TimeFlag(cmd, &o.since, "since", "only events from this `time` (RFC 3339)")
	cli.TimeFlag(cmd, &o.until, "until", "only events up to this `time` (RFC 3339)")
	f.StringVar(&o.cluster, "cluster", "", "`name` of the cluster of events that carry none, as those of audit logs: without it no session is theirs")
	f.StringVar(&o.shard, "shard", "", "replay one `part` of the users: I/N, I from 0")
	f.BoolVar(&o.merge, "merge", false, "add the JSON reports that the arguments name")
	cli.MarkCommandLineOnly(cmd, "log", "against", "unused", "grace", "now", "since", "until", "shard", "cluster", "merge")
	o.documents.Add(cmd)
	return cmd
}

func (o *replayOptions) run(cmd *cobra.Command, s cli.Streams, args []string) error {
	report, err := o.report(cmd, s, args)
	if err != nil {
		return reportError(s, o.format, err)
	}
	switch o.format {
	case "json":
		err = diag.WriteIndented(s.Out, report)
	case "markdown":
		_, err = io.WriteString(s.Out, report.Markdown())
	default:
		_, err = io.WriteString(s.Out, report.Text())
	}
	if err != nil {
		return err
	}
	if report.Fails(o.failOn) {
		return &cli.Finding{}
	}
	return nil
}

func (o *replayOptions) report(cmd *cobra.Command, s cli.Streams, args []string) (*replay.Report, error) {
	switch {
	case o.merge && (len(args) == 0 || len(o.logs) > 0):
		return nil, cli.Usagef(cmd, "--merge takes the reports as arguments, and no --log")
	case o.merge:
		return mergeReports(args)
	case len(args) > 0:
		return nil, cli.Usagef(cmd, "unknown argument %q", args[0])
	case len(o.logs) == 0 || o.policies == "":
		return nil, cli.Usagef(cmd, "--log and --policies are required")
	case o.grace < 0 || o.grace > 0 && !o.unused:
		return nil, cli.Usagef(cmd, "--grace must be a number of days, and belongs to --unused")
	}
	run, err := o.times(cmd)
	if err != nil {
		return nil, err
	}
	if err := o.load(cmd, s, run); err != nil {
		return nil, err
	}
	return replayFiles(cmd.Context(), s.In, o.logs, *run)
}

// replayFiles replays files; in is standard input, for the name "-".
func replayFiles(ctx context.Context, in io.Reader, names []string, o replay.Options) (report *replay.Report, err error) {
	var logs []replay.Log
	for _, name := range names {
		log := replay.Log{Name: name, In: in}
		if name != "-" {
			file, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			defer file.Close()
			log.In = file
		}
		logs = append(logs, log)
	}
	err = progress.Do(ctx, progress.Replay, func(ctx context.Context) (err error) {
		report, err = replay.Run(ctx, logs, o)
		return err
	})
	return report, err
}

// times reads the flags about time and shards.
func (o *replayOptions) times(cmd *cobra.Command) (*replay.Options, error) {
	out := replay.Options{Cluster: o.cluster}
	for name, flag := range map[string]struct {
		text string
		into *time.Time
	}{"now": {o.now, &out.Now}, "since": {o.since, &out.Since}, "until": {o.until, &out.Until}} {
		if flag.text == "" {
			continue
		}
		at, err := dates.Parse(flag.text)
		if err != nil {
			return nil, cli.Usagef(cmd, "--%s: %q %s", name, flag.text, err)
		}
		*flag.into = at
	}
	if o.shard == "" {
		return &out, nil
	}
	part, of, _ := strings.Cut(o.shard, "/")
	var err, other error
	out.Shard, err = strconv.Atoi(part)
	out.Shards, other = strconv.Atoi(of)
	if err != nil || other != nil || out.Shard < 0 || out.Shard >= out.Shards {
		return nil, cli.Usagef(cmd, "--shard %q must be I/N with 0 <= I < N", o.shard)
	}
	return &out, nil
}

// heapGrowth is how many bytes are allocated for events between two collections: the heap stays below
// what it was while documents were read.
const heapGrowth = 192 << 20

// load loads the revisions.
func (o *replayOptions) load(cmd *cobra.Command, s cli.Streams, run *replay.Options) error {
	defer limits.CollectAfter(heapGrowth)
	l := &loader{documents: &o.documents, streams: s, reads: limits.CollectToward}
	var worlds []*statement.World
	add := func(side, name string) (replay.Decider, error) {
		if name == "-" {
			return nil, cli.Usagef(cmd, "the revisions must be named: standard input may have the log")
		}
		in, err := parseInput(name)
		if err != nil {
			return nil, err
		}
		b, _, err := l.bundle(cmd.Context(), side, in)
		if err != nil {
			return nil, err
		}
		e, err := documents.Activate(cmd.Context(), b, engine.Options{})
		if err != nil {
			return nil, fmt.Errorf("%s: activate: %w", name, err)
		}
		worlds = append(worlds, statement.Of(e).Whole())
		return deciderOf(e), nil
	}
	var err error
	if o.against != "" {
		if run.Against, err = add("a", o.against); err != nil {
			return err
		}
	}
	if run.Decide, err = add("b", o.policies); err != nil {
		return err
	}
	run.Facts = statement.FactsOf(worlds...)
	if !o.unused {
		return nil
	}
	run.Used = worlds[len(worlds)-1]
	if o.grace > 0 {
		run.Earlier, err = o.earlier(cmd, l, run.Now)
	}
	return err
}

// earlier returns the documents of the git revision of --grace days ago, none if that revision does not exist.
func (o *replayOptions) earlier(cmd *cobra.Command, l *loader, now time.Time) (*statement.World, error) {
	in, err := parseInput(o.policies)
	if err != nil {
		return nil, err
	}
	if in.checkout == nil {
		if in, err = committed(in.path); err != nil {
			return nil, err
		}
	}
	if now.IsZero() {
		now = time.Now()
	}
	at := now.AddDate(0, 0, -o.grace)
	if in.commit, err = in.checkout.Before(in.commit, at); err != nil {
		return nil, revisionError(err)
	}
	if in.commit == "" {
		return statement.NewWorld(tables.Revision{}), nil
	}
	in.name = fmt.Sprintf("%s at %s", o.policies, at.Format(time.DateOnly))
	b, _, err := l.bundle(cmd.Context(), "b", in)
	var failed *diffError
	switch {
	case errors.As(err, &failed) && failed.Code == "no-folder":
		return statement.NewWorld(tables.Revision{}), nil
	case err != nil:
		return nil, err
	}
	return statement.NewWorld(tables.Revision{Tables: b.Tables}), nil
}

// deciderOf returns what decides by a revision at the time of each event.
func deciderOf(e *engine.Engine) replay.Decider {
	return func(ctx context.Context, at time.Time, point string, q decision.Question) (statement.Verdict, error) {
		if at.IsZero() {
			at = time.Now()
		}
		return judge.VerdictOf(ctx, e.At(at), point, q)
	}
}

func mergeReports(names []string) (*replay.Report, error) {
	var reports []*replay.Report
	for _, name := range names {
		content, err := cli.ReadFile(name)
		if err != nil {
			return nil, err
		}
		report := &replay.Report{Events: -1}
		if err := json.Unmarshal(content, report); err != nil {
			return nil, fmt.Errorf("read %s: must be a JSON report of writ replay: %w", name, err)
		}
		if report.Events < 0 { // an error, or another object
			return nil, fmt.Errorf("read %s: must be a JSON report of writ replay: events is missing", name)
		}
		reports = append(reports, report)
	}
	return replay.Merge(reports)
}

package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/shrink"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/tables"
)

const shrinkHelp = `shrink takes from the roles and bindings of a directory what a log does not use,
and writes the files in place: only the lines of an edit change. A "*" becomes
the list of what was used; entries, rules, subjects, bindings and roles that no
event needs go. Where several grants allow the same events, the fewest entries
stay. The log is read as by writ replay.

Before it writes it proves that the decisions of access only lose, that no event
of the log and of --spare is refused, that assertions and DecisionTests hold as
before, that nothing more can go, and that a second run changes nothing. If a
proof fails, nothing is written.

Denials stay, and so do subjects that begin with "system:", documents that every
cluster has, those with the annotation writ.dev/keep: "REASON", subjects of
bindings and roles with the label writ.dev/break-glass, groups of escalations,
bindings that have not begun, and what git has for less than --grace days.
--keep takes KIND/[NAMESPACE/]NAME or a file, with * and ? as wildcards.

--holdout keeps a part of the log out of the choice, to show how much the log
states about tomorrow: what of it would be lost is put back, unless --strict.
A log proves use, never uselessness: what runs once a year belongs into --spare.

Exit status 0: done, or nothing to do; 1: a proof failed, or --fail-on counts;
2: usage, a short log, or documents that do not compile.`

const shrinkExamples = `  writ shrink --log audit.log --dry-run policies > smaller.patch
  writ shrink --log audit.log --log more.log.gz policies
  writ shrink --log audit.log --keep 'ClusterRole/admin' --spare yearly.jsonl policies
  writ shrink --log audit.log --only wildcards --holdout 0 -o json policies`

// RunDecisionTests runs the tests of a directory and of more files by a bundle. It returns
// the cases that fail, by name with why, and the number of cases.
type RunDecisionTests func(ctx context.Context, b *bundles.Bundle, d *directory.Directory, files []string) (failed map[string]string, count int, err error)

type shrinkOptions struct {
	documents   documents.Flags
	run         RunDecisionTests
	replay      replayOptions
	choice      shrink.Options
	keep, spare []string
	assertions  []string
	holdout     string
	grace       int
	minEvents   int
	minDays     int
	force       bool
	strict      bool
	dryRun      bool
	format      string
	failOn      string
}

// NewShrink returns the command shrink.
func NewShrink(s cli.Streams, run RunDecisionTests) *cobra.Command {
	o := shrinkOptions{run: run, failOn: "none"}
	cmd := &cobra.Command{
		Use:     "shrink --log FILE... DIR",
		Short:   "Take from documents what a log does not use",
		Long:    shrinkHelp,
		Example: shrinkExamples,
		Args:    cli.Arguments(1, 1, "name one policy directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return reportError(s, o.format, o.shrink(cmd, s, args[0]))
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.replay.logs, "log", nil, "`file` with records, - for standard input; repeatable")
	cli.TimeFlag(cmd, &o.replay.now, "now", "`time` (RFC 3339) of all decisions instead of that of each event")
	cli.TimeFlag(cmd, &o.replay.since, "since", "only events from this `time` (RFC 3339)")
	cli.TimeFlag(cmd, &o.replay.until, "until", "only events up to this `time` (RFC 3339)")
	f.StringVar(&o.replay.cluster, "cluster", "", "`name` of the cluster of events that carry none")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the edits as a patch for git apply and write nothing")
	f.StringArrayVar(&o.keep, "keep", nil, "`pattern` of documents or files that stay; repeatable")
	f.StringArrayVar(&o.choice.KeepSubjects, "keep-subject", nil, "`principal` that stays, user:NAME or group:NAME; repeatable")
	f.StringArrayVar(&o.spare, "spare", nil, "`file` of requests, one a line, that must stay allowed; repeatable")
	f.IntVar(&o.grace, "grace", 30, "leave what git has for less than so many `days`; 0: no grace")
	f.IntVar(&o.minEvents, "min-events", 1000, "smallest `number` of events of a log")
	f.IntVar(&o.minDays, "min-days", 14, "smallest `number` of days that a log covers")
	f.BoolVar(&o.force, "force", false, "accept a shorter log")
	cli.ChoicesFlag(cmd, &o.choice.Only, "only", "`part` of documents to change; repeatable", shrink.OnlyRules, shrink.OnlySubjects, shrink.OnlyBindings, shrink.OnlyEntries, shrink.OnlyWildcards)
	f.BoolVar(&o.choice.NoSplit, "no-split", false, "make no rule several ones")
	f.BoolVar(&o.choice.SplitRoles, "split-roles", false, "make a copy of a role for bindings that need less of it than others")
	f.StringArrayVar(&o.assertions, "assertions", nil, "`folder` with Assertions and DecisionTests that must still hold; repeatable")
	f.StringArrayVar(&o.choice.BreakGlass, "break-glass", nil, "`principal` that holds its roles in emergencies; repeatable")
	f.StringVar(&o.holdout, "holdout", "20", "`percent` of the log that takes no part in the choice")
	f.BoolVar(&o.strict, "strict", false, "do not put back what events held out need")
	cli.ChoiceFlag(cmd, &o.failOn, "fail-on", "what ends with exit status 1: edits of a --dry-run, events held out that would be lost (holdout), or none", "edits", "holdout", "none")
	cli.FormatFlag(cmd, &o.format, "text", "json")
	cli.MarkCommandLineOnly(cmd, "log", "now", "since", "until", "cluster", "dry-run", "keep", "keep-subject", "spare", "force", "only", "assertions", "strict")
	o.documents.Add(cmd)
	return cmd
}

// percent reads --holdout.
func (o *shrinkOptions) percent(cmd *cobra.Command) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(o.holdout, "%"))
	if err != nil || n < 0 || n > 99 {
		return 0, cli.Usagef(cmd, "--holdout %q must be a number from 0 to 99", o.holdout)
	}
	return n, nil
}

// check reads the flags that are patterns and principals.
func (o *shrinkOptions) check(cmd *cobra.Command, dir string) error {
	if len(o.replay.logs) == 0 {
		return cli.Usagef(cmd, "--log is required")
	}
	if slices.Contains(o.spare, "-") {
		return cli.Usagef(cmd, "--spare names a file: it is read more than once")
	}
	if err := documents.CheckDirectory(dir); err != nil || documents.IsBundle(dir) {
		return cli.Usagef(cmd, "%s", cmp.Or(errors.Unwrap(err), fmt.Errorf("%s: must be a directory of files, and not a cluster or a bundle", dir)))
	}
	for _, text := range o.keep {
		if within, err := filepath.Rel(dir, text); err == nil && filepath.IsLocal(within) && documents.Exists(text) {
			text = filepath.ToSlash(within)
		}
		g, problem, _ := tables.ParsePathGlob(text)
		if problem != "" {
			return cli.Usagef(cmd, "--keep: pattern %q %s", text, problem)
		}
		o.choice.Keep = append(o.choice.Keep, g)
	}
	for flag, list := range map[string][]string{"keep-subject": o.choice.KeepSubjects, "break-glass": o.choice.BreakGlass} {
		for _, p := range list {
			if !isPrincipal(p) {
				return cli.Usagef(cmd, "--%s %q must be user:NAME or group:NAME", flag, p)
			}
		}
	}
	if o.grace < 0 || o.minEvents < 0 || o.minDays < 0 {
		return cli.Usagef(cmd, "--grace, --min-events and --min-days must not be below 0")
	}
	return nil
}

func (o *shrinkOptions) shrink(cmd *cobra.Command, s cli.Streams, dir string) error {
	if err := o.check(cmd, dir); err != nil {
		return err
	}
	percent, err := o.percent(cmd)
	if err != nil {
		return err
	}
	options, err := o.replay.times(cmd)
	if err != nil {
		return err
	}
	logs, remove, err := spoolLogs(o.replay.logs, s.In)
	if err != nil {
		return err
	}
	defer remove()
	r := &shrinking{shrinkOptions: o, streams: s, dir: dir, percent: percent, options: options, logs: logs}
	if err := r.open(cmd.Context()); err != nil {
		return err
	}
	report, err := r.work(cmd.Context())
	if err != nil {
		return err
	}
	return r.finish(report)
}

// finish writes the files, or the patch, and the report.
func (r *shrinking) finish(report *shrink.Report) error {
	failures := report.Proof.Failures()
	isLost := r.failOn == "holdout" && report.Holdout.Lost > 0
	if len(failures) == 0 && !isLost && !r.dryRun && len(r.texts()) > 0 {
		if err := writeFiles(r.dir, r.texts()); err != nil {
			return err
		}
		report.Written = true
	}
	text := report.Text()
	var err error
	switch {
	case r.format == "json":
		if r.dryRun {
			report.Patch = r.patch()
		}
		err = diag.WriteIndented(r.streams.Out, report)
	case r.dryRun && len(failures) == 0:
		if len(report.Edits) == 0 {
			text += "The patch is empty.\n"
		}
		if _, err = io.WriteString(r.streams.Out, r.patch()); err == nil {
			_, err = io.WriteString(r.streams.Err, text)
		}
	default:
		_, err = io.WriteString(r.streams.Out, text)
	}
	switch {
	case err != nil:
		return err
	case len(failures) > 0:
		return cli.Findingf("nothing is written, a proof failed:\n  %s", strings.Join(failures, "\n  "))
	case isLost:
		return cli.Findingf("nothing is written: %s held out would be lost", diag.Counted(report.Holdout.Lost, "event"))
	case r.dryRun && r.failOn == "edits" && len(report.Edits) > 0:
		return &cli.Finding{}
	}
	return nil
}

// spoolLogs returns logs that can be read several times: standard input is stored in a file.
func spoolLogs(names []string, in io.Reader) (files []string, remove func(), err error) {
	remove = func() {}
	if first := slices.Index(names, "-"); first >= 0 && slices.Contains(names[first+1:], "-") {
		return nil, remove, errors.New("only one --log can be standard input")
	}
	for _, name := range names {
		if name == "-" {
			file, err := os.CreateTemp("", "writ-log-*")
			if err != nil {
				return nil, remove, err
			}
			remove = func() { _ = os.Remove(file.Name()) } // a file left over is removed with the folder
			_, err = io.Copy(file, in)
			if err = cmp.Or(err, file.Close()); err != nil {
				remove()
				return nil, func() {}, fmt.Errorf("store standard input: %w", err)
			}
			name = file.Name()
		}
		files = append(files, name)
	}
	return files, remove, nil
}

// earlierDirectory returns the documents of a directory as git has them at a time.
func (r *shrinking) earlierDirectory(ctx context.Context, at time.Time) (*directory.Directory, error) {
	in, err := committed(r.dir)
	var failed *diffError
	if errors.As(err, &failed) && failed.Code == "no-repository" {
		return nil, &diffError{Code: failed.Code, Message: r.dir + ": not in a git repository, so that --grace must be 0"}
	}
	if err != nil {
		return nil, err
	}
	if in.commit, err = in.checkout.Before(in.commit, at); err != nil {
		return nil, revisionError(err)
	}
	if in.commit == "" {
		return &directory.Directory{}, nil
	}
	in.name = fmt.Sprintf("%s at %s", r.dir, at.Format(time.DateOnly))
	l := &loader{documents: &r.documents, streams: r.streams, allowEmpty: true}
	_, _, err = l.bundle(ctx, "earlier", in)
	switch {
	case errors.As(err, &failed) && failed.Code == "no-folder":
		return &directory.Directory{}, nil
	case err != nil:
		return nil, err
	}
	return l.lastResult.Directory, nil
}

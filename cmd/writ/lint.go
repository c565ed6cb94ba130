package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/server/api/authzen"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint"
)

const lintHelp = `lint reports mistakes as check does, and also documents that compile but are
dangerous: rules that allow subjects to grant themselves more, stock roles that
are bound where they grant too much, deny rules that deny more than they seem
to, and bindings that grant a dangerous power, such as reading Secrets: these
have a severity (critical, high, medium, low) and name their subjects. Subjects
that become a cluster administrator step by step are reported at the rule that
allows the first step, as writ reach finds them.

With --author and --author-group it also reports a change that grants more than
its author has: every rule of a new or changed role, and every rule that a new
or changed binding grants, must be covered by the author's own permissions in
the same scope. An author who may escalate or bind the role is exempt. --base is
the directory before the change. It determines which documents changed and what
the author may do; without it every document is new.

With --base the two revisions are also compared as by writ diff, for the author:
a deny rule, deny policy, exemption or extension that is removed or changed so
that the author is allowed what was not, a view that widens and a path that
opens are reported with a request that shows it.

A binding, deny policy or session that ended --expired-for days ago or earlier
is reported, and one that ends within --ends-within days. So are sessions that
last longer than they may, and escalations whose requesters may approve. What an
author holds until some end only does not cover what the change grants.

` + documents.AcceptedHelp + `

Output and exit status are those of check.`

const lintExamples = `  writ lint policies
  writ lint policies --write-baseline baseline.json
  writ lint policies --baseline baseline.json --strict
  git worktree add /tmp/base origin/main
  writ lint policies --author alice --author-group dev --base /tmp/base/policies`

type lintOptions struct {
	documents documents.Flags
	format    string
	author    string
	groups    []string
	base      string

	now             string
	expired, within int
}

func newLint(s cli.Streams) *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:     "lint DIR [--author USER [--author-group G]... [--base DIR]] [-o text|json|sarif]",
		Short:   "Report dangerous documents and privilege escalation",
		Long:    lintHelp,
		Example: lintExamples,
		Args:    documents.OneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.base != "" && o.author == "" && len(o.groups) == 0 {
				return cli.Usagef(cmd, "--base requires --author or --author-group")
			}
			return runLint(cmd.Context(), s, args, o)
		},
	}
	f := cmd.Flags()
	cli.FormatFlag(cmd, &o.format, "text", "json", "sarif")
	f.StringVar(&o.author, "author", "", "`user` who made the change")
	f.StringSliceVar(&o.groups, "author-group", nil, "`group` the author is in; may be repeated")
	cli.TimeFlag(cmd, &o.now, "now", "`time` (RFC 3339) to look from at the ends of documents instead of the machine's")
	f.IntVar(&o.expired, "expired-for", 30, "report documents that ended so many `days` ago or earlier")
	f.IntVar(&o.within, "ends-within", 14, "report documents that end within so many `days`")
	f.StringVar(&o.base, "base", "", "`directory` before the change")
	o.documents.Add(cmd)
	o.documents.AddStrict(cmd)
	o.documents.AddWriteBaseline(cmd)
	return cmd
}

// maxDays bounds the numbers of days, so that their product is a duration.
const maxDays = 36_500

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

func runLint(ctx context.Context, s cli.Streams, sources []string, o lintOptions) error {
	clock, err := cli.Clock(o.now)
	if err != nil {
		return err
	}
	if o.expired < 0 || o.within < 0 || max(o.expired, o.within) > maxDays {
		return fmt.Errorf("--expired-for and --ends-within must be from 0 to %d days", maxDays)
	}
	now := clock()
	o.documents.Part = documents.AreFiles(sources) && o.author == "" && len(o.groups) == 0
	o.documents.AllowEmpty = o.documents.AllowEmpty || documents.AreStreams(sources)
	r, err := o.documents.Read(ctx, s, sources, false)
	if err != nil {
		return err
	}
	if r.Result != nil {
		r.List = append(r.List, translator.Lint(r.Result, lint.Ends{Now: now, Expired: days(o.expired), Within: days(o.within)})...)
		if err := lintPaths(ctx, s, r, now); err != nil {
			return err
		}
		if o.author != "" || len(o.groups) > 0 {
			if err := lintAuthor(ctx, s, r, o, now); err != nil {
				return err
			}
		}
	}
	if err := o.documents.Silence(r, func(diag.Code) bool { return true }); err != nil {
		return err
	}
	return r.WriteReport(s, o.format)
}

// lintAuthor adds the permissions that the author grants without having them, and with a
// base what else the change permits the author.
func lintAuthor(ctx context.Context, s cli.Streams, r *documents.Translation, o lintOptions, at time.Time) error {
	author := lint.Author{User: o.author, Groups: o.groups}
	now, err := activate(ctx, r.Result, at)
	if err != nil {
		return err
	}
	asked := now
	var base *translator.Result
	if o.base != "" {
		before, err := o.documents.Read(ctx, s, []string{o.base}, false)
		if err != nil {
			return fmt.Errorf("--base: %w", err)
		}
		if base = before.Result; base == nil {
			return errors.Join(before.WriteDiagnostics(s.Err, "text"),
				fmt.Errorf("--base %s: the documents before the change have errors", o.base))
		}
		if asked, err = activate(ctx, base, at); err != nil {
			return err
		}
		compared := at
		side := func(e *engine.Engine) *diff.Side {
			decide := func(ctx context.Context, point string, request []byte) (statement.Verdict, error) {
				return judge.Of(e.At(compared))(ctx, point, request)
			}
			return &diff.Side{World: statement.Of(e), Judge: decide}
		}
		times := diff.Options{Now: at, SetNow: func(t time.Time) { compared = t }}
		gains, err := diff.Gains(ctx, side(asked), side(now), author.User, author.Groups, times)
		if err != nil {
			return err
		}
		for i := range gains {
			r.List.Add(gained(author, &gains[i], r.Result, base))
		}
		for _, g := range authzen.Gains(ctx, asked, now, author.User, author.Groups) {
			r.List.Add(completed(author, g, r.Result, base))
		}
	}
	author.May = func(q lint.Question) bool {
		return asked.Access(ctx, &decision.Request{
			User: q.User, Groups: q.Groups, Verb: q.Verb, APIGroup: q.APIGroup, Resource: q.Resource, Namespace: q.Namespace, Name: q.Name,
		}).Allowed
	}
	r.List = append(r.List, translator.LintAuthor(r.Result, base, author, at)...)
	return nil
}

// completed is the diagnostic of what the inventory permits an author in AuthZEN requests, at
// the entity that changed.
func completed(author lint.Author, g authzen.Gain, revisions ...*translator.Result) diag.Diagnostic {
	d := diag.Diagnostic{Code: diag.Escalation, Hint: "keep the properties, or have the change approved by other means",
		Position: translator.PlaceOfEntity(g.IsSubject, g.Type, g.ID, revisions...)}
	list := "resource"
	if g.IsSubject {
		list = "subject"
	}
	d.Message = fmt.Sprintf("the inventory permits more to %s in AuthZEN requests: it changes %s %s %q", author, list, g.Type, g.ID)
	if g.Group != "" {
		d.Message += fmt.Sprintf(", which is in group %q now", g.Group)
	}
	if g.Request != nil {
		d.Message += "; the author may now ask " + string(g.Request.Encode())
	}
	return d
}

// gained is the diagnostic of what a change permits its author, at the first place that
// causes it, or at the route of a path.
func gained(author lint.Author, g *diff.Gain, revisions ...*translator.Result) diag.Diagnostic {
	d := diag.Diagnostic{Code: diag.Escalation, Hint: "keep the denial, or have the change approved by other means"}
	var causes []string
	for _, c := range g.Causes {
		document := c.Document()
		if c.In == "a" {
			document += " of the base"
		}
		causes = append(causes, document+" is "+c.What)
		at, ok := diag.ParseSource(c.Source)
		switch {
		case ok && d.Position == (diag.Position{}):
			d.Position = at
		case ok && len(causes) > statement.Longest: // the message does not name it
			d.Related = append(d.Related, diag.Related{Position: at, Message: causes[len(causes)-1]})
		}
	}
	if d.Position == (diag.Position{}) { // routes and gateways have no line in a table
		d.Position = translator.PlaceOfPaths(g.Paths, revisions...)
	}
	permits := "permits"
	if g.Request == nil {
		permits = "may permit"
	}
	d.Message = fmt.Sprintf("the change %s more to %s: %s", permits, author, g.Title)
	if len(causes) > 0 {
		d.Message += "; " + strings.Join(statement.Shorten(causes), ", ")
	}
	if g.Request != nil {
		d.Message += "; the author may now ask " + string(statement.Encode(g.Request))
	}
	return d
}

// activate returns an engine for a revision at an instant.
func activate(ctx context.Context, result *translator.Result, at time.Time) (*engine.Engine, error) {
	b, err := bundles.Build(result, bundles.BuildOptions{Version: cli.Version()})
	if err != nil {
		return nil, err
	}
	e, err := documents.Activate(ctx, b, engine.Options{Now: func() time.Time { return at }})
	if err != nil {
		return nil, fmt.Errorf("activate: %w", err)
	}
	return e, nil
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/lint"
)

const lintHelp = `lint reports what check reports, and what compiles and should still not be: rules
that let somebody grant himself more, stock roles bound where they reach too far,
deny rules that deny more than they say.

With --author (and --author-group), it also refuses a change that gives away more
than its author holds: every rule of a new or changed role, and every rule behind
a new or changed binding, must be covered by what the author is granted, where it
takes effect. Who may escalate the role, or bind it, is free to do so. What is new
or changed, and what the author holds, is told by --base, the directory before the
change; without it every document is new.

Output and exit status are those of check.`

const lintExamples = `  writ lint policies
  git worktree add /tmp/base origin/main
  writ lint policies --author alice --author-group dev --base /tmp/base/policies`

type lintOptions struct {
	documents documentFlags
	format    string
	author    string
	groups    []string
	base      string
}

func newLint(s streams) *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:     "lint DIR [--author USER [--author-group G]... [--base DIR]] [-o text|json|sarif]",
		Short:   "Report what compiles and should still not be",
		Long:    lintHelp,
		Example: lintExamples,
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.base != "" && o.author == "" && len(o.groups) == 0 {
				return usagef(cmd, "--base is what an author's change is compared with: name the --author")
			}
			return runLint(cmd.Context(), s, args[0], o)
		},
	}
	f := cmd.Flags()
	formatFlag(cmd, &o.format, "text", "json", "sarif")
	f.StringVar(&o.author, "author", "", "`user` who made the change")
	f.StringSliceVar(&o.groups, "author-group", nil, "`group` the author is in; may be repeated")
	f.StringVar(&o.base, "base", "", "`directory` as it was before the change")
	o.documents.add(cmd)
	return cmd
}

func runLint(ctx context.Context, s streams, dir string, o lintOptions) error {
	r, err := o.documents.read(ctx, s, dir, false)
	if err != nil {
		return err
	}
	if r.result != nil {
		r.list = append(r.list, translator.Lint(r.result)...)
		if o.author != "" || len(o.groups) > 0 {
			if err := lintAuthor(ctx, s, r, o); err != nil {
				return err
			}
		}
		r.list = r.list.Sorted()
	}
	return writeReport(s, o.format, r)
}

// lintAuthor adds what the author gives away without holding it.
func lintAuthor(ctx context.Context, s streams, r *reading, o lintOptions) error {
	var base *translator.Result
	asked := r.result
	if o.base != "" {
		before, err := o.documents.read(ctx, s, o.base, false)
		if err != nil {
			return fmt.Errorf("--base: %w", err)
		}
		if before.result == nil {
			return errors.Join(reportTo(s.err, "text", before),
				fmt.Errorf("--base %s: the documents before the change have errors", o.base))
		}
		base, asked = before.result, before.result
	}
	b, err := bundles.Build(asked, bundles.BuildOptions{Version: programVersion()})
	if err != nil {
		return err
	}
	e, err := activate(ctx, b, engine.Options{})
	if err != nil {
		return fmt.Errorf("activate: %w", err)
	}
	author := lint.Author{User: o.author, Groups: o.groups, May: func(q lint.Question) bool {
		return e.Evaluate(ctx, &decision.Request{
			User: q.User, Groups: q.Groups, Verb: q.Verb, APIGroup: q.APIGroup,
			Resource: q.Resource, Namespace: q.Namespace, Name: q.Name,
		}).Allowed
	}}
	r.list = append(r.list, translator.LintAuthor(r.result, base, author)...)
	return nil
}

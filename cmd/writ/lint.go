package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/lint"
)

const lintHelp = `lint reports mistakes as check does, and also documents that compile but are dangerous:
rules that allow subjects to grant themselves more, stock roles that are bound where
they grant too much, deny rules that deny more than they seem to.

With --author and --author-group it also reports a change that grants more than its
author has: every rule of a new or changed role, and every rule that a new or changed
binding grants, must be covered by the author's own permissions in the same scope. An
author who may escalate or bind the role is exempt. A denial that goes away counts as a
grant: a deny rule, a deny policy, an override of pod security, an extension, a policy
that limits what the author sees, an AuthPolicy of a path that is removed or changed.
Documents are compared for that, so that it may report too much. --base is the directory before the
change. It determines which documents changed and what the author may do; without it
every document is new.

Output and exit status are those of check.`

const lintExamples = `  writ lint policies
  git worktree add /tmp/base origin/main
  writ lint policies --author alice --author-group dev --base /tmp/base/policies`

type lintOptions struct {
	documents documents.Flags
	format    string
	author    string
	groups    []string
	base      string
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
	f.StringVar(&o.base, "base", "", "`directory` before the change")
	o.documents.Add(cmd)
	return cmd
}

func runLint(ctx context.Context, s cli.Streams, sources []string, o lintOptions) error {
	o.documents.Part = documents.AreFiles(sources) && o.author == "" && len(o.groups) == 0
	r, err := o.documents.Read(ctx, s, sources, false)
	if err != nil {
		return err
	}
	if r.Result != nil {
		r.List = append(r.List, translator.Lint(r.Result)...)
		if o.author != "" || len(o.groups) > 0 {
			if err := lintAuthor(ctx, s, r, o); err != nil {
				return err
			}
		}
		r.List = r.List.Sorted()
	}
	return r.WriteReport(s, o.format)
}

// lintAuthor adds the permissions that the author grants without having them.
func lintAuthor(ctx context.Context, s cli.Streams, r *documents.Translation, o lintOptions) error {
	var base *translator.Result
	asked := r.Result
	if o.base != "" {
		before, err := o.documents.Read(ctx, s, []string{o.base}, false)
		if err != nil {
			return fmt.Errorf("--base: %w", err)
		}
		if before.Result == nil {
			return errors.Join(before.WriteDiagnostics(s.Err, "text"),
				fmt.Errorf("--base %s: the documents before the change have errors", o.base))
		}
		base, asked = before.Result, before.Result
	}
	author := lint.Author{User: o.author, Groups: o.groups}
	var err error
	if author.May, err = decider(ctx, asked); err != nil {
		return err
	}
	if base != nil {
		if author.MayNow, err = decider(ctx, r.Result); err != nil {
			return err
		}
	}
	r.List = append(r.List, translator.LintAuthor(r.Result, base, author)...)
	return nil
}

// decider returns what decides access requests by a revision.
func decider(ctx context.Context, result *translator.Result) (func(lint.Question) bool, error) {
	b, err := bundles.Build(result, bundles.BuildOptions{Version: cli.Version()})
	if err != nil {
		return nil, err
	}
	e, err := documents.Activate(ctx, b, engine.Options{})
	if err != nil {
		return nil, fmt.Errorf("activate: %w", err)
	}
	return func(q lint.Question) bool {
		return e.Access(ctx, &decision.Request{
			User: q.User, Groups: q.Groups, Verb: q.Verb, APIGroup: q.APIGroup, Resource: q.Resource, Subresource: q.Subresource,
			Namespace: q.Namespace, Name: q.Name, Cluster: q.Cluster, Tenant: q.Tenant,
		}).Allowed
	}, nil
}

package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
)

const reachHelp = `reach follows what a subject can become, step by step: by pods, tokens, Secrets,
impersonation, certificates, and by changing bindings, roles and denials. Each
hop names the requests it takes and the lines that grant them, and is decided by
the engine before it is printed.

SUBJECT is user:NAME or group:NAME; several joined by commas are held together.
Without --from, every subject that the documents name is asked about, except
system ones. TARGET is a subject, cluster-admin, namespace-admin:NAMESPACE,
ROLE:[NAMESPACE/]NAME, or any for every identity; without --to it is the
administrator of the cluster and of each namespace. Subjects have the groups
that an API server adds.

A path is certain if nothing but its requests is needed, assumed if something
must exist or run, which the hop states, and possible if it depends on a fact
that documents cannot know, which the hop names. --cluster, --label and so on
state facts. The roles that every cluster has are added, as by
--bootstrap-roles kubernetes.

Exit status 0: the question is answered, also by no path; 1: a path that
--fail-on counts; 2: usage, or documents that do not compile.`

const reachExamples = `  writ reach policies
  writ reach policies --from group:dev --to cluster-admin
  writ reach kube: --to user:system:serviceaccount:shop:robot -o json
  writ reach policies --fail-on certain`

type reachOptions struct {
	questionOptions
	find   reach.Options
	class  string
	failOn string
}

// NewReach returns the command reach.
func NewReach(s cli.Streams) *cobra.Command {
	o := reachOptions{class: "possible", failOn: "none"}
	cmd := &cobra.Command{
		Use:     "reach DIR [--from SUBJECT]... [--to TARGET]...",
		Short:   "Find who can become whom",
		Long:    reachHelp,
		Example: reachExamples,
		Args:    documents.OneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			return reportError(s, o.format, withCode(o.run(cmd, s, args)))
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.find.From, "from", nil, "`subject` to begin with; may be repeated")
	f.StringArrayVar(&o.find.To, "to", nil, "`target` to reach; may be repeated")
	f.StringArrayVar(&o.find.Members, "member", nil, "`USER=GROUP`: a group of a user that documents do not know; may be repeated")
	classes := []string{"certain", "assumed", "possible"}
	cli.ChoiceFlag(cmd, &o.class, "class", "worst `class` of path to report", classes...)
	cli.ChoiceFlag(cmd, &o.failOn, "fail-on", "worst `class` of path that ends with exit status 1", append(classes, "none")...)
	f.BoolVar(&o.find.System, "system", false, "add the subjects of Kubernetes itself")
	f.BoolVar(&o.find.NodeEscape, "node-escape", false, "follow privileged pods to their node: nothing but documents keeps them away")
	f.BoolVar(&o.find.GitOnly, "git-only", false, "leave out changes of deny policies and Origin documents: they are not in the cluster")
	f.IntVar(&o.find.MaxHops, "max-hops", 8, "longest path, as a `number` of hops")
	f.IntVar(&o.find.MaxChanges, "changes", 3, "largest `number` of changed documents on a path")
	f.IntVar(&o.find.MaxIdentities, "max-identities", 1_000_000, "largest `number` of identities; more are an error")
	o.addFacts(cmd)
	cli.FormatFlag(cmd, &o.format, "text", "json")
	o.documents.Add(cmd)
	cli.MarkCommandLineOnly(cmd, "from", "to", "member", "class", "system", "node-escape", "git-only", "max-hops", "changes", "max-identities")
	return cmd
}

func (o *reachOptions) run(cmd *cobra.Command, s cli.Streams, args []string) error {
	q, err := o.question(cmd)
	if err != nil {
		return err
	}
	if bootstrap := cmd.Flags().Lookup(string(settings.BootstrapRoles)); !bootstrap.Changed && !strings.HasPrefix(args[0], diag.ObjectPrefix) {
		if err := cmd.Flags().Set(bootstrap.Name, settings.Kubernetes); err != nil {
			return err
		}
	}
	now, err := cli.Clock(cmp.Or(o.now, o.at))
	if err != nil {
		return err
	}
	at := now()
	ctx := cmd.Context()
	b, r, err := o.documents.Build(ctx, s, args, false, bundles.BuildOptions{})
	if err != nil {
		return asUsage(err)
	}
	activate := func(ctx context.Context, b *bundles.Bundle) (*engine.Engine, error) {
		return documents.Activate(ctx, b, engine.Options{Now: func() time.Time { return at }})
	}
	e, err := activate(ctx, b)
	if err != nil {
		return fmt.Errorf("activate: %w", err)
	}
	delete(q.Stated, "namespace")
	o.find.World, o.find.Judge, o.find.Revision, o.find.Now = e.Statements(), decision.Judge(e), b.Manifest.Revision, at
	o.find.Stated, o.find.Namespace, o.find.Class = q.Stated, o.namespace, classOf(o.class)
	o.find.Rebuild = func(ctx context.Context, adds, removes []map[string]any) (statement.Judge, error) {
		b, err := o.documents.BuildChanged(ctx, r, adds, removes)
		if err != nil {
			return nil, err
		}
		e, err := activate(ctx, b)
		return decision.Judge(e), err
	}
	report, err := reach.Find(ctx, o.find)
	if err != nil {
		return err
	}
	if o.format == "json" {
		err = diag.WriteIndented(s.Out, report)
	} else {
		_, err = s.Out.Write([]byte(report.Text()))
	}
	if err != nil {
		return err
	}
	if o.failOn != "none" {
		for _, p := range report.Paths {
			if p.Class <= classOf(o.failOn) {
				return &cli.Finding{}
			}
		}
	}
	return nil
}

// withCode gives an error that prevents an answer its code.
func withCode(err error) error {
	switch {
	case errors.Is(err, reach.ErrTooManyIdentities):
		return &diffError{Code: "too-many-identities", Message: err.Error()}
	case errors.As(err, new(*reach.DisagreementError)):
		return &diffError{Code: "disagreement", Message: err.Error()}
	}
	return err
}

func classOf(text string) reach.Class {
	for c := reach.Certain; c < reach.Possible; c++ {
		if c.String() == text {
			return c
		}
	}
	return reach.Possible
}

package changes

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/progress"
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

What follows "cut it at" are the fewest lines without which the paths are gone,
each confirmed by another search without it. --except FILE accepts the paths
that a ReachExceptions document lists. -o svg and -o dot draw the paths: an
arrow is dashed if it is assumed, and dotted if it is possible.

A search takes minutes or longer if subjects may write many roles and bindings.
Fewer --changes, --git-only, or --from and --to make it short.

Exit status 0: the question is answered, also by no path; 1: a path that
--fail-on counts and FILE does not except; 2: usage, or documents that do not
compile.`

const reachExamples = `  writ reach policies
  writ reach policies --from group:dev --to cluster-admin
  writ reach kube: --to user:system:serviceaccount:shop:robot -o json
  writ reach policies --from group:dev -o svg > dev.svg
  writ reach policies --fail-on certain --except known.yaml`

type reachOptions struct {
	questionOptions
	find   reach.Options
	class  string
	failOn string
	except string

	inCluster bool
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
			return reportError(s, o.format, o.run(cmd, s, args))
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.find.From, "from", nil, "`subject` to begin with; may be repeated")
	f.StringArrayVar(&o.find.To, "to", nil, "`target` to reach; may be repeated")
	f.StringArrayVar(&o.find.Members, "member", nil, "`USER=GROUP`: a group of a user that documents do not know; may be repeated")
	classes := []string{"certain", "assumed", "possible"}
	cli.ChoiceFlag(cmd, &o.class, "class", "worst `class` of path to report", classes...)
	f.IntVar(&o.find.Paths, "paths", 1, "largest `number` of paths of each pair")
	f.StringVar(&o.except, "except", "", "`file` with paths that are known, which --fail-on does not count")
	cli.ChoiceFlag(cmd, &o.failOn, "fail-on", "worst `class` of path that ends with exit status 1", append(classes, "none")...)
	f.BoolVar(&o.find.System, "system", false, "add the subjects of Kubernetes itself")
	f.BoolVar(&o.find.NodeEscape, "node-escape", false, "follow privileged pods to their node: nothing but documents keeps them away")
	f.BoolVar(&o.find.GitOnly, "git-only", false, "leave out changes of deny policies and Origin documents: they are not in the cluster")
	f.BoolVar(&o.inCluster, "in-cluster", true, "follow changes of deny policies and Origin documents: they are in the cluster")
	cmd.MarkFlagsMutuallyExclusive("git-only", "in-cluster")
	f.IntVar(&o.find.MaxHops, "max-hops", reach.MaxHops, "longest path, as a `number` of hops")
	f.IntVar(&o.find.MaxChanges, "changes", reach.MaxChanges, "largest `number` of changed documents on a path")
	f.IntVar(&o.find.MaxIdentities, "max-identities", reach.MaxIdentities, "largest `number` of identities; more are an error")
	o.addFacts(cmd)
	cli.FormatFlag(cmd, &o.format, "text", "json", "dot", "svg", "sarif")
	o.documents.Add(cmd)
	cli.MarkCommandLineOnly(cmd, "from", "to", "member", "class", "paths", "except", "system", "node-escape",
		"git-only", "in-cluster", "max-hops", "changes", "max-identities")
	return cmd
}

func (o *reachOptions) run(cmd *cobra.Command, s cli.Streams, args []string) error {
	q, err := o.question(cmd)
	if err != nil {
		return err
	}
	if o.find.Paths < 1 {
		return cli.Usagef(cmd, "--paths must be a number above 0")
	}
	if o.except != "" {
		if o.find.Except, err = readExceptions(o.except, s); err != nil {
			return err
		}
	}
	o.find.GitOnly = o.find.GitOnly || !o.inCluster
	o.find.Cuts = o.format == "text" || o.format == "json"
	if !strings.HasPrefix(args[0], diag.ObjectPrefix) {
		if err := addStockRoles(cmd); err != nil {
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
	e, err := documents.Activate(ctx, b, engine.Options{Now: func() time.Time { return at }})
	if err != nil {
		return fmt.Errorf("activate: %w", err)
	}
	delete(q.Stated, "namespace")
	o.find.World, o.find.Judge, o.find.Revision, o.find.Now = statement.Of(e), judge.Of(e), b.Manifest.Revision, at
	o.find.Stated, o.find.Namespace = q.Stated, o.namespace
	o.find.Class, _ = reach.ParseClass(o.class)
	o.find.Rebuild, o.find.Containers = rebuild(&o.documents, r.Part(), at), reach.Containers(r.Part().Documents)
	var report *reach.Report
	err = progress.Do(ctx, progress.Search, func(ctx context.Context) (err error) {
		report, err = reach.Find(ctx, o.find)
		return err
	})
	if err != nil {
		return err
	}
	if err := o.show(s, report); err != nil {
		return err
	}
	return o.finding(report)
}

// rebuild returns what decides by documents with some of them changed.
func rebuild(d *documents.Flags, p documents.Part, at time.Time) func(context.Context, []map[string]any, []map[string]any) (statement.Judge, error) {
	return func(ctx context.Context, adds, removes []map[string]any) (statement.Judge, error) {
		b, err := d.BuildChanged(ctx, p, adds, removes)
		if err != nil {
			return nil, err
		}
		e, err := documents.Activate(ctx, b, engine.Options{Now: func() time.Time { return at }})
		return judge.Of(e), err
	}
}

// compareReach adds the paths to administrators that differ to a report.
func (l *loader) compareReach(ctx context.Context, report *diff.Report, a, b *diff.Side, at time.Time) error {
	var of [2]reach.Options
	for i, side := range []*diff.Side{a, b} {
		part, ok := l.parts[[2]string{"a", "b"}[i]]
		if !ok {
			return &diffError{Code: "no-documents", Message: side.Source + ": --reach requires documents; a built bundle has none"}
		}
		of[i] = reach.Options{
			World: side.World, Judge: side.Judge, Revision: side.Revision, Now: at, Class: reach.Possible,
			MaxHops: reach.MaxHops, MaxChanges: reach.MaxChanges, MaxIdentities: reach.MaxIdentities,
			Rebuild: rebuild(l.documents, part, at), Containers: reach.Containers(part.Documents),
		}
	}
	return progress.Do(ctx, progress.Search, func(ctx context.Context) error {
		paths, err := reach.Compare(ctx, of[0], of[1])
		if err == nil {
			report.SetReach(paths)
		}
		return err
	})
}

// finding returns a finding if a path has a class that --fail-on counts.
func (o *reachOptions) finding(report *reach.Report) error {
	for _, p := range report.Paths {
		if failOn, counts := reach.ParseClass(o.failOn); counts && p.Class <= failOn {
			return &cli.Finding{}
		}
	}
	return nil
}

// show writes a report in the format of the flags.
func (o *reachOptions) show(s cli.Streams, report *reach.Report) (err error) {
	var text []byte
	switch o.format {
	case "json":
		return diag.WriteIndented(s.Out, report)
	case "dot":
		text = []byte(report.DOT())
	case "svg":
		text = []byte(report.SVG())
	case "sarif":
		if text, err = report.SARIF(cli.Version()); err != nil {
			return err
		}
		text = append(text, '\n')
	default:
		text = []byte(report.Text())
	}
	_, err = s.Out.Write(text)
	return err
}

// addStockRoles adds the roles that every cluster has, unless the command line, the
// environment or the configuration states which are added.
func addStockRoles(cmd *cobra.Command) error {
	bootstrap := cmd.Flags().Lookup(string(settings.BootstrapRoles))
	if bootstrap.Changed {
		return nil
	}
	return cmd.Flags().Set(bootstrap.Name, settings.Kubernetes)
}

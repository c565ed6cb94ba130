package changes

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
)

const escalationsHelp = `escalations lists who may request which group by a BreakglassEscalation, who may
approve that, and the groups whose members may do both. ClusterConfigs state
what an escalation leaves open: whether a user may approve a request of their
own, and the domains that addresses of approvers must have.

NAME or NAMESPACE/NAME selects one escalation, and --cluster those that can be
requested on a cluster, with the terms that hold there. Groups that share
members are not known. Sessions are counted that are valid now, or at the time
of --now.

Exit status 0: success; 1: errors in the documents, or no such escalation; 2:
usage.`

const escalationsExamples = `  writ escalations policies
  writ escalations policies bg/sre-fix --cluster prod-eu-1
  writ escalations kube: -o json | jq '.escalations[] | select(.both != [])'`

type escalationsOptions struct {
	documents documents.Flags
	cluster   string
	format    string
	now       string
}

// NewEscalations returns the command escalations.
func NewEscalations(s cli.Streams) *cobra.Command {
	var o escalationsOptions
	cmd := &cobra.Command{
		Use:     "escalations DIR [NAME] [--cluster CLUSTER] [-o table|json]",
		Short:   "List who may request and approve which group",
		Long:    escalationsHelp,
		Example: escalationsExamples,
		Args:    cli.Arguments(1, 2, "takes a directory, and the name of an escalation or none"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.cluster, "cluster", "", "only escalations that can be requested on this `cluster`, with its terms")
	cli.TimeFlag(cmd, &o.now, "now", "`time` (RFC 3339) of the answer instead of the machine's")
	cli.FormatFlag(cmd, &o.format, "table", "json")
	cli.MarkCommandLineOnly(cmd, "cluster", "now")
	o.documents.Add(cmd)
	return cmd
}

func (o *escalationsOptions) run(ctx context.Context, s cli.Streams, args []string) error {
	clock, err := cli.Clock(o.now)
	if err != nil {
		return err
	}
	at := dates.Of(clock())
	r, err := o.documents.OpenTables(ctx, s, args[:1])
	if err != nil {
		return err
	}
	name := ""
	if len(args) > 1 {
		name = args[1]
		if len(question.EscalationsOf(r.Result.Tables, name, "", at).Escalations) == 0 {
			return cli.Findingf("escalation %q not found", name)
		}
	}
	answer := question.EscalationsOf(r.Result.Tables, name, o.cluster, at)
	if o.format == "json" {
		return diag.WriteIndented(s.Out, answer)
	}
	return cli.Print(s.Out, answer.Table())
}

package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/effective"
	"github.com/writ-policy/writ/translator/tables"
)

const effectiveHelp = `effective shows the effective gateway policies of a directory: the rules in
force on a Gateway, an HTTPRoute or a GRPCRoute, the policy and line of each
rule, what it replaced and why.

A target is KIND/NAMESPACE/NAME: Gateway/net/edge, HTTPRoute/shop/api. A section
follows "#": a listener of a Gateway, or a rule of a route by its name (rule-1,
rule-2 and so on if it has none). A route on several listeners may have several
effective policies; --via GATEWAY[#LISTENER] selects those of one.

Instead of --target
  --replaced       lists the replaced rules on every path;
                   --policy NAMESPACE/NAME selects one policy
  --reach RULEKEY  lists the paths on which the rule is in force
  --all            writes the effective policy of every path as a line of JSON
  --conditions     lists the policies with their conditions over all paths

A rule key is the path of a rule below spec: rules.authentication.NAME,
rules.authorization.NAME, patterns.NAME, when, limits.NAME.

Why a rule is replaced:
  default          it is a merged default, and a lower policy has its key
  atomic-default   it is an atomic default, and a lower policy has rules
  override         a merged override of a higher policy has its key
  atomic-override  an atomic override of a higher policy replaces all below
  unset            a lower policy unsets it
  condition        the merge condition (when) of its block is false

Exit status 0: success; 1: errors in the documents, or no such target; 2: usage.`

const effectiveExamples = `  writ effective policies --kind AuthPolicy --target HTTPRoute/shop/api
  writ effective policies --kind AuthPolicy --target HTTPRoute/shop/api#pay --via Gateway/net/edge#https
  writ effective policies --kind RateLimitPolicy --target Gateway/net/edge -o yaml
  writ effective policies --kind AuthPolicy --replaced --policy shop/api
  writ effective policies --kind RateLimitPolicy --reach limits.search
  writ effective policies --kind AuthPolicy --all | jq 'select(.rules == {}) | .paths[]'`

type effectiveOptions struct {
	documents documents.Flags
	kind      string
	target    string
	via       string
	replaced  bool
	policy    string
	reach     string
	all       bool
	policies  bool
	format    string
}

// NewEffective returns the command effective.
func NewEffective(s cli.Streams) *cobra.Command {
	o := effectiveOptions{}
	cmd := &cobra.Command{
		Use:     "effective DIR --kind KIND --target TARGET [-o table|json|yaml]",
		Short:   "Show the effective gateway policies",
		Long:    effectiveHelp,
		Example: effectiveExamples,
		Args:    documents.OneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), s, args)
		},
	}
	f := cmd.Flags()
	cli.ChoiceFlag(cmd, &o.kind, "kind", "`kind` of policies: "+cli.Alternatives(effective.Kinds), effective.Kinds...)
	f.StringVar(&o.target, "target", "", "`target`: Gateway/NAMESPACE/NAME, HTTPRoute/NAMESPACE/NAME or GRPCRoute/NAMESPACE/NAME, optionally followed by #SECTION")
	f.StringVar(&o.via, "via", "", "only paths through this `gateway`: Gateway/NAMESPACE/NAME, optionally followed by #LISTENER")
	f.BoolVar(&o.replaced, "replaced", false, "list the replaced rules")
	f.StringVar(&o.policy, "policy", "", "with --replaced: only rules of this `policy`, NAMESPACE/NAME")
	f.StringVar(&o.reach, "reach", "", "list the paths on which the rule with this `key` is in force")
	f.BoolVar(&o.all, "all", false, "write the effective policy of every path, one per line")
	f.BoolVar(&o.policies, "conditions", false, "list the policies with their conditions")
	cli.FormatFlag(cmd, &o.format, "table", "json", "yaml")
	for _, flag := range []string{"kind", "target", "via", "replaced", "policy", "reach", "all", "conditions"} {
		cli.MarkCommandLineOnly(cmd, flag)
	}
	o.documents.Add(cmd)
	return cmd
}

// check returns an error if the combination of flags is invalid.
func (o *effectiveOptions) check(cmd *cobra.Command) error {
	asked := 0
	for _, flag := range []string{"target", "replaced", "reach", "all", "conditions"} {
		if cmd.Flags().Changed(flag) {
			asked++
		}
	}
	switch {
	case o.kind == "":
		return cli.Usagef(cmd, "--kind is required: %s", cli.Alternatives(effective.Kinds))
	case asked != 1:
		return cli.Usagef(cmd, "exactly one of --target, --replaced, --reach, --all and --conditions is required")
	case o.via != "" && o.target == "":
		return cli.Usagef(cmd, "--via requires --target")
	case o.policy != "" && !o.replaced:
		return cli.Usagef(cmd, "--policy requires --replaced")
	case o.format == "yaml" && o.target == "":
		return cli.Usagef(cmd, "-o yaml requires --target")
	case o.all && o.format == "table" && cmd.Flags().Changed("output"):
		return cli.Usagef(cmd, "--all always writes JSON lines: omit -o table")
	}
	return nil
}

func (o *effectiveOptions) run(ctx context.Context, s cli.Streams, sources []string) error {
	r, err := o.documents.OpenTables(ctx, s, sources)
	if err != nil {
		return err
	}
	err = o.answer(s, tables.Of[*tables.Gateway](r.Result.Tables))
	var asked *effective.Error
	if errors.As(err, &asked) && asked.Unknown {
		return cli.Findingf("%s", asked.Message)
	}
	return err
}

func (o *effectiveOptions) answer(s cli.Streams, g *tables.Gateway) error {
	w := s.Out
	switch {
	case o.all:
		return o.writeAll(w, g)
	case o.replaced:
		list, err := effective.FindReplaced(g, o.kind, o.policy)
		return o.write(w, list, err, func() error { return writeReplaced(w, o.kind, list) })
	case o.policies:
		list, err := effective.FindPolicies(g, o.kind)
		return o.write(w, list, err, func() error { return writeConditions(w, list) })
	case o.reach != "":
		reach, err := effective.FindReach(g, o.kind, o.reach)
		if err == nil && reach.Note != "" {
			fmt.Fprintln(s.Err, "note: "+diag.Line(reach.Note))
		}
		return o.write(w, reach, err, func() error { return writeReach(w, reach) })
	}
	found, err := effective.Find(g, effective.Query{Kind: o.kind, Target: o.target, Via: o.via})
	return o.write(w, found, err, func() error {
		if o.format == "yaml" {
			return writeBare(w, found)
		}
		return writeTable(w, g, found)
	})
}

// write writes an answer as JSON, or as text. An error of the question is returned.
func (o *effectiveOptions) write(w io.Writer, answer any, err error, asText func() error) error {
	switch {
	case err != nil:
		return err
	case o.format == "json":
		return diag.WriteIndented(w, answer)
	}
	return asText()
}

// writeAll writes a line of JSON for each path. There may be many thousands, so they
// are not collected first.
func (o *effectiveOptions) writeAll(w io.Writer, g *tables.Gateway) error {
	all, err := effective.All(g, o.kind)
	if err != nil {
		return err
	}
	for one := range all {
		if _, err := w.Write(jsontext.Line(one)); err != nil {
			return err
		}
	}
	return nil
}

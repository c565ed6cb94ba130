package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/translator/effective"
	"github.com/writ-policy/writ/translator/lower"
)

const effectiveHelp = `effective shows what the gateway policies of a directory come to: which rules are in
force on a Gateway or an HTTPRoute, the policy and the line each one is from, what it
replaced and how.

A target is KIND/NAMESPACE/NAME: Gateway/net/edge, HTTPRoute/shop/api. A section
follows a "#": a listener of a Gateway, a rule of a route by its name (rule-1, rule-2
and so on where it has none). A route on several listeners may have several effective
policies; --via GATEWAY[#LISTENER] keeps those of one.

Instead of --target
  --replaced       lists the rules that lost, on every path; --policy NAMESPACE/NAME
                   those of one policy
  --reach RULEKEY  lists the paths on which a rule named so is in force
  --all            writes every path's effective policy as a line of JSON

A rule key is the path of a rule below spec: rules.authentication.NAME,
rules.authorization.NAME, patterns.NAME, when, limits.NAME.

How a rule loses:
  default          a merged default, and a lower policy has a rule of that key
  atomic-default   an atomic default, and lower policies have rules
  override         a higher policy's merged override has that key
  atomic-override  a higher policy's atomic override replaces all below
  unset            a lower policy unsets it
  condition        the merge condition (when) of its block does not hold

Exit status 0: answered; 1: errors in the documents, or no such target; 2: usage.`

const effectiveExamples = `  writ effective policies --kind AuthPolicy --target HTTPRoute/shop/api
  writ effective policies --kind AuthPolicy --target HTTPRoute/shop/api#pay --via Gateway/net/edge#https
  writ effective policies --kind RateLimitPolicy --target Gateway/net/edge -o yaml
  writ effective policies --kind AuthPolicy --replaced --policy shop/api
  writ effective policies --kind RateLimitPolicy --reach limits.search
  writ effective policies --kind AuthPolicy --all | jq 'select(.rules == {}) | .paths[]'`

type effectiveOptions struct {
	documents documentFlags
	kind      string
	target    string
	via       string
	replaced  bool
	policy    string
	reach     string
	all       bool
	format    string
}

func newEffective(s streams) *cobra.Command {
	o := effectiveOptions{}
	cmd := &cobra.Command{
		Use:     "effective DIR --kind KIND --target TARGET [-o table|json|yaml]",
		Short:   "Show which gateway policies are in force, and why",
		Long:    effectiveHelp,
		Example: effectiveExamples,
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), s, args[0])
		},
	}
	f := cmd.Flags()
	f.Var(&choice{&o.kind, effective.Kinds}, "kind", "`kind` of policies: "+alternatives(effective.Kinds))
	f.StringVar(&o.target, "target", "", "`target` to ask about: Gateway/NAMESPACE/NAME or HTTPRoute/NAMESPACE/NAME, #SECTION behind it")
	f.StringVar(&o.via, "via", "", "only paths through this `gateway`: Gateway/NAMESPACE/NAME, #LISTENER behind it")
	f.BoolVar(&o.replaced, "replaced", false, "list the rules that lost")
	f.StringVar(&o.policy, "policy", "", "with --replaced: only rules of this `policy`, NAMESPACE/NAME")
	f.StringVar(&o.reach, "reach", "", "list the paths on which the rule of this `key` is in force")
	f.BoolVar(&o.all, "all", false, "write every path's effective policy, one a line")
	formatFlag(cmd, &o.format, "table", "json", "yaml")
	complete(cmd, "kind", effective.Kinds...)
	for _, flag := range []string{"kind", "target", "via", "replaced", "policy", "reach", "all"} {
		onlyHere(cmd, flag)
	}
	o.documents.add(cmd)
	return cmd
}

// check refuses flags that say nothing together.
func (o *effectiveOptions) check(cmd *cobra.Command) error {
	asked := 0
	for _, flag := range []string{"target", "replaced", "reach", "all"} {
		if cmd.Flags().Changed(flag) {
			asked++
		}
	}
	switch {
	case o.kind == "":
		return usagef(cmd, "--kind says which policies: %s", alternatives(effective.Kinds))
	case asked != 1:
		return usagef(cmd, "ask for one thing: --target, --replaced, --reach or --all")
	case o.via != "" && o.target == "":
		return usagef(cmd, "--via goes with --target")
	case o.policy != "" && !o.replaced:
		return usagef(cmd, "--policy goes with --replaced")
	case o.format == "yaml" && o.target == "":
		return usagef(cmd, "-o yaml writes a policy: it goes with --target")
	case o.all && o.format == "table" && cmd.Flags().Changed("output"):
		return usagef(cmd, "--all writes lines of JSON")
	}
	return nil
}

func (o *effectiveOptions) run(ctx context.Context, s streams, dir string) error {
	r, err := o.documents.read(ctx, s, dir, false)
	if err != nil {
		return err
	}
	if r.result == nil {
		if err := reportTo(s.err, "text", r); err != nil {
			return err
		}
		return foundf("%s", summary(r.list))
	}
	err = o.answer(s.out, r.result.Gateway)
	var asked *effective.Error
	if errors.As(err, &asked) && asked.Unknown {
		return foundf("%s", asked.Message)
	}
	return err
}

func (o *effectiveOptions) answer(w io.Writer, g *lower.Gateway) error {
	switch {
	case o.all:
		return o.writeAll(w, g)
	case o.replaced:
		list, err := effective.FindReplaced(g, o.kind, o.policy)
		if err != nil {
			return err
		}
		if o.format == "json" {
			return writeJSON(w, list)
		}
		return writeLost(w, o.kind, list)
	case o.reach != "":
		reach, err := effective.FindReach(g, o.kind, o.reach)
		if err != nil {
			return err
		}
		if o.format == "json" {
			return writeJSON(w, reach)
		}
		return writeReach(w, reach)
	}
	found, err := effective.Find(g, effective.Query{Kind: o.kind, Target: o.target, Via: o.via})
	if err != nil {
		return err
	}
	switch o.format {
	case "json":
		return writeJSON(w, found)
	case "yaml":
		return writeBare(w, found)
	}
	return writeTable(w, g, found)
}

// writeAll writes a line of JSON for each path: there may be many thousands.
func (o *effectiveOptions) writeAll(w io.Writer, g *lower.Gateway) error {
	all, err := effective.All(g, o.kind)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for one := range all {
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

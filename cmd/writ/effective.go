package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/translator/effective"
	"github.com/writ-policy/writ/translator/lower"
)

const effectiveHelp = `effective shows what the policies attached to gateways and routes come to on a
target: each rule in force with the document and line it is from, what lost and to
which policy, and the conditions of the target and of every policy involved.

A target is Gateway/namespace/name or HTTPRoute/namespace/name, with #section for a
listener or a rule. Where a route's paths differ, each variant is shown; --via keeps
the paths through one gateway or listener.

Instead of a target:
  --reach RULE      where a rule of that key is in force, such as limits.search
  --replaced        the rules that lost, over all paths; of one with --policy ns/name
  --all             the effective policy of every path, as JSON lines`

const effectiveExamples = `  writ effective policies --kind AuthPolicy --target HTTPRoute/books/api
  writ effective policies --kind AuthPolicy --target Gateway/net/edge#https -o yaml
  writ effective policies --kind RateLimitPolicy --reach limits.search
  writ effective policies --kind AuthPolicy --replaced --policy net/edge
  writ effective policies --kind AuthPolicy --all | jq 'select(.rules == {}) | .paths'`

type effectiveOptions struct {
	documents documentFlags
	kind      string
	target    string
	via       string
	reach     string
	policy    string
	format    string
	replaced  bool
	all       bool
}

func newEffective(s streams) *cobra.Command {
	var o effectiveOptions
	cmd := &cobra.Command{
		Use:     "effective DIR --kind KIND (--target TARGET | --reach RULE | --replaced | --all)",
		Short:   "Show what inherited gateway policies come to, and why",
		Long:    effectiveHelp,
		Example: effectiveExamples,
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			return showEffective(cmd, s, args[0], o)
		},
	}
	f := cmd.Flags()
	f.Var(&choice{&o.kind, effective.Kinds}, "kind", "`kind` of policy: AuthPolicy or RateLimitPolicy")
	f.StringVar(&o.target, "target", "", "`target`: Kind/namespace/name, with #section for a listener or rule")
	f.StringVar(&o.via, "via", "", "`gateway` or listener that the paths lead through")
	f.StringVar(&o.reach, "reach", "", "`rule` key to look for, such as rules.authentication.key")
	f.BoolVar(&o.replaced, "replaced", false, "list the rules that lost")
	f.StringVar(&o.policy, "policy", "", "only rules of this `policy`, namespace/name, with --replaced")
	f.BoolVar(&o.all, "all", false, "every path's effective policy, as JSON lines")
	formatFlag(cmd, &o.format, "table", "json", "yaml")
	onlyHere(cmd, "kind", "target", "via", "reach", "replaced", "policy", "all")
	complete(cmd, "kind", effective.Kinds...)
	o.documents.add(cmd)
	return cmd
}

func (o *effectiveOptions) check(cmd *cobra.Command) error {
	asked := 0
	for _, is := range []bool{o.target != "", o.reach != "", o.replaced, o.all} {
		if is {
			asked++
		}
	}
	switch {
	case o.kind == "":
		return usagef(cmd, "--kind says which policies: AuthPolicy or RateLimitPolicy")
	case asked != 1:
		return usagef(cmd, "give one of --target, --reach, --replaced and --all")
	case o.via != "" && o.target == "":
		return usagef(cmd, "--via goes with --target")
	case o.policy != "" && !o.replaced:
		return usagef(cmd, "--policy goes with --replaced")
	}
	return nil
}

func showEffective(cmd *cobra.Command, s streams, dir string, o effectiveOptions) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	tables, err := o.documents.effective(cmd.Context(), s, dir)
	if err != nil {
		return err
	}
	if o.all {
		return writeAll(s, tables, o.kind)
	}
	answer, err := o.answer(tables)
	switch {
	case errors.Is(err, effective.ErrUnknownTarget):
		return foundf("%v", err)
	case err != nil:
		return usagef(cmd, "%v", err)
	}
	return o.write(s, answer)
}

// effective translates a directory. Its mistakes are a finding, as in check.
func (d *documentFlags) effective(ctx context.Context, s streams, dir string) (*lower.Gateway, error) {
	r, err := d.read(ctx, s, dir, false)
	if err != nil {
		return nil, err
	}
	if r.list.HasErrors() {
		if err := reportTo(s.err, "text", r); err != nil {
			return nil, err
		}
		return nil, foundf("%s", summary(r.list))
	}
	return r.result.Gateway, nil
}

// answer is what is asked for: a policy, a list of lost rules, or where a rule is.
func (o *effectiveOptions) answer(tables *lower.Gateway) (any, error) {
	switch {
	case o.reach != "":
		return effective.Reach(tables, o.kind, o.reach)
	case o.replaced:
		return effective.Replaced(tables, o.kind, o.policy)
	}
	target, err := effective.ParseTarget(o.target)
	if err != nil {
		return nil, err
	}
	var via effective.Target
	if o.via != "" {
		if via, err = effective.ParseTarget(o.via); err != nil {
			return nil, err
		}
	}
	return effective.Of(tables, o.kind, target, via)
}

func (o *effectiveOptions) write(s streams, answer any) error {
	switch o.format {
	case "json":
		return encodeJSON(s, answer)
	case "yaml":
		return writeNested(s, answer)
	}
	t := &effectiveTable{out: s.out}
	switch answer := answer.(type) {
	case *effective.Policy:
		t.policy(answer)
	case []effective.Lost:
		t.lost(answer)
	case *effective.InForce:
		t.reach(answer)
	}
	return t.err
}

func encodeJSON(s streams, answer any) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(answer)
}

func writeAll(s streams, tables *lower.Gateway, kind string) error {
	all, err := effective.All(tables, kind)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	all(func(p *effective.OnPath) bool {
		err = encoder.Encode(p)
		return err == nil
	})
	return err
}

// writeNested prints policies in the bare form that a document has, one document a
// variant; other answers as they are.
func writeNested(s streams, answer any) error {
	encoder := yaml.NewEncoder(s.out)
	encoder.SetIndent(2)
	policy, is := answer.(*effective.Policy)
	if !is {
		return errors.Join(encodeYAML(encoder, answer), encoder.Close())
	}
	variants := policy.Variants
	if policy.Variant != nil {
		variants = []*effective.Variant{policy.Variant}
	}
	for _, v := range variants {
		document := map[string]any{
			"apiVersion": "kuadrant.io/v1", "kind": policy.Kind,
			"metadata": map[string]any{"annotations": map[string]any{
				"writ.dev/target": policy.Target, "writ.dev/paths": fmt.Sprint(v.Paths),
			}},
			"spec": lower.Nested(v.Rules),
		}
		if err := encodeYAML(encoder, document); err != nil {
			return err
		}
	}
	return encoder.Close()
}

// encodeYAML goes by JSON, whose names of members the answer has.
func encodeYAML(encoder *yaml.Encoder, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var plain yaml.Node
	if err := yaml.Unmarshal(text, &plain); err != nil {
		return err
	}
	block(&plain)
	return encoder.Encode(&plain)
}

// block turns the flow style of JSON into YAML's own.
func block(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		block(child)
	}
}

package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator/diag"
)

func newVersion(s cli.Streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "version [-o text|json]",
		Short:   "Print the versions of writ, OPA and Go",
		Example: "  writ version\n  writ version -o json",
		Args:    cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			b := cli.ReadBuildInfo()
			if format == "json" {
				return diag.WriteIndented(s.Out, b)
			}
			commit := cmp.Or(b.Commit, "unknown")
			_, err := fmt.Fprintf(s.Out, "writ %s\ncommit %s\nopa %s\n%s %s\n", b.Version, commit, b.OPA, b.Go, b.Platform)
			return err
		},
	}
	cli.FormatFlag(cmd, &format, "text", "json")
	return cmd
}

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

const checkHelp = `check translates a policy directory and reports mistakes in its documents: file, line
and column, a code, and what to type instead. It writes no files.

A directory without a single policy document is an error too, because an unmounted
volume must not drop every rule. --allow-empty accepts it.

Exit status 0: no errors (there may be warnings); 1: errors; 2: no such directory.
writ explain CODE explains a code.`

const checkExamples = `  writ check policies
  writ check policies -o sarif > writ.sarif
  writ roles --family origin | writ check -
  writ check policies -o json | jq '.diagnostics[] | select(.severity == "error")'`

func newCheck(s streams) *cobra.Command {
	var documents documentFlags
	var format string
	cmd := &cobra.Command{
		Use:     "check DIR [-o text|json|sarif]",
		Short:   "Report mistakes in a policy directory",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			return check(cmd.Context(), s, args[0], documents, format)
		},
	}
	formatFlag(cmd, &format, "text", "json", "sarif")
	documents.add(cmd)
	return cmd
}

func check(ctx context.Context, s streams, dir string, documents documentFlags, format string) error {
	r, err := documents.read(ctx, s, dir, false)
	if err != nil {
		return err
	}
	return writeReport(s, format, r)
}

// writeReport writes the diagnostics to standard output, and for text the counts to
// standard error: the other formats contain them. It returns a finding if one of the
// diagnostics is an error.
func writeReport(s streams, format string, r *translation) error {
	if err := reportTo(s.out, format, r); err != nil {
		return err
	}
	switch {
	case r.list.HasErrors() && format == "text":
		return foundf("%s", summary(r.list))
	case r.list.HasErrors():
		return &finding{}
	case format == "text":
		fmt.Fprintf(s.err, "%s: %s\n", plural(r.result.Documents, "document"), summary(r.list))
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

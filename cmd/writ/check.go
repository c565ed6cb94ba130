package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint"
	"github.com/writ-policy/writ/translator/syntax"
)

const checkHelp = `check translates a policy directory and reports mistakes in its documents: file,
line and column, a code, and what to type instead. It compiles what it emits, so
that documents without errors can be served. It writes no files.

Documents of other kinds, such as a Deployment, are skipped and counted;
--show-skipped lists them. A document that looks like a misspelt one of writ's
kinds is an error.

With files instead of a directory, as editors and pre-commit hooks name them,
check leaves out what only the whole directory can answer, such as whether a
role exists. The current folder is then the top of the directory: its .writ.yaml
and .writignore hold.

A directory without a single policy document is an error too, because an
unmounted volume must not drop every rule. --allow-empty accepts it. A pipe and
standard input may be without one.

` + documents.SourcesHelp + `

` + documents.AcceptedHelp + `

Exit status 0: no errors (there may be warnings, which --strict makes errors);
1: errors; 2: no such directory. writ explain CODE explains a code.`

const checkExamples = `  writ check policies
  writ check policies/role.yaml policies/bind.yaml
  writ check policies -o sarif > writ.sarif
  helm template chart | writ check -
  writ check main:policies
  writ check policies -o json | jq '.diagnostics[] | select(.severity == "error")'`

func newCheck(s cli.Streams) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:     "check DIR|FILE... [-o text|json|sarif]",
		Short:   "Report mistakes in a policy directory",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    documents.OneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			return check(cmd.Context(), s, args, o)
		},
	}
	cli.FormatFlag(cmd, &o.format, "text", "json", "sarif")
	cmd.Flags().BoolVar(&o.showSkipped, "show-skipped", false, "list the documents of other kinds")
	o.documents.Add(cmd)
	o.documents.AddStrict(cmd)
	o.documents.AddWriteBaseline(cmd)
	return cmd
}

type checkOptions struct {
	documents   documents.Flags
	format      string
	showSkipped bool
}

func check(ctx context.Context, s cli.Streams, sources []string, o checkOptions) error {
	o.documents.Part = documents.AreFiles(sources)
	o.documents.AllowEmpty = o.documents.AllowEmpty || documents.AreStreams(sources)
	r, err := o.documents.Open(ctx, s, sources, false)
	if err != nil {
		return err
	}
	if err := r.Compile(ctx); err != nil {
		return err
	}
	if err := o.documents.CheckAssertions(ctx, r); err != nil {
		return err
	}
	if err := o.documents.Silence(r, lint.InCheck); err != nil {
		return err
	}
	if o.format == "text" {
		documents.WriteOverridden(s.Err, r.Overridden)
		for _, note := range r.Notes {
			fmt.Fprintf(s.Err, "%s: note: %s\n", diag.Line(note.At.String()), diag.Line(note.Message))
		}
	}
	if o.showSkipped && o.format == "text" {
		writeSkipped(s.Out, r.Skipped)
	}
	return r.WriteReport(s, o.format)
}

// writeSkipped lists the documents of other kinds.
func writeSkipped(out io.Writer, skipped []syntax.Skipped) {
	for _, k := range skipped {
		what := "a document without a kind"
		switch {
		case k.Kind != "" && k.APIVersion != "":
			what = k.Kind + " of " + k.APIVersion
		case k.Kind != "":
			what = k.Kind + " without an apiVersion"
		}
		fmt.Fprintf(out, "%s:%d: skipped %s\n", k.At.File, k.At.Line, diag.Line(what))
	}
}

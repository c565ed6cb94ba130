package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/syntax"
)

const checkHelp = `check translates a policy directory and reports mistakes in its documents: file, line
and column, a code, and what to type instead. It compiles what it emits, so that documents
without errors can be served. It writes no files.

Documents of other kinds, such as a Deployment, are skipped and counted; --show-skipped lists
them. A document that looks like a misspelt one of writ's kinds is an error.

With files instead of a directory, as editors and pre-commit hooks name them, check leaves out
what only the whole directory can answer, such as whether a role exists. The current folder is
then the top of the directory: its .writ.yaml and .writignore hold.

A directory without a single policy document is an error too, because an unmounted
volume must not drop every rule. --allow-empty accepts it.

Exit status 0: no errors (there may be warnings); 1: errors; 2: no such directory.
writ explain CODE explains a code.`

const checkExamples = `  writ check policies
  writ check policies/role.yaml policies/bind.yaml
  writ check policies -o sarif > writ.sarif
  writ roles --family origin | writ check -
  writ check policies -o json | jq '.diagnostics[] | select(.severity == "error")'`

func newCheck(s streams) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:     "check DIR|FILE... [-o text|json|sarif]",
		Short:   "Report mistakes in a policy directory",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    oneSource,
		RunE: func(cmd *cobra.Command, args []string) error {
			return check(cmd.Context(), s, args, o)
		},
	}
	formatFlag(cmd, &o.format, "text", "json", "sarif")
	cmd.Flags().BoolVar(&o.showSkipped, "show-skipped", false, "list the documents of other kinds")
	o.documents.add(cmd)
	return cmd
}

type checkOptions struct {
	documents   documentFlags
	format      string
	showSkipped bool
}

func check(ctx context.Context, s streams, sources []string, o checkOptions) error {
	o.documents.part = areFiles(sources)
	r, err := o.documents.read(ctx, s, sources, false)
	if err != nil {
		return err
	}
	if err := r.compile(ctx); err != nil {
		return err
	}
	if o.format == "text" {
		writeOverridden(s.err, r.overridden)
		for _, note := range r.notes {
			fmt.Fprintf(s.err, "%s: note: %s\n", quoted(note.At.String()), note.Message)
		}
	}
	if o.showSkipped && o.format == "text" {
		writeSkipped(s.out, r.skipped)
	}
	return writeReport(s, o.format, r)
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
		fmt.Fprintf(out, "%s:%d: skipped %s\n", k.At.File, k.At.Line, quoted(what))
	}
}

// compile compiles the Rego that a translation emits, so that documents without errors
// can be built and activated. Errors of a document's Rego are added to the diagnostics.
func (r *translation) compile(ctx context.Context) error {
	if r.result == nil || !emitsRego(r.result.Files) {
		return nil
	}
	b, err := bundles.Build(r.result, bundles.BuildOptions{})
	if err != nil {
		return foundf("%v", err)
	}
	return progress.Do(ctx, progress.Check, func(context.Context) error { return r.checkBundle(b) })
}

// emitsRego reports whether files have Rego of documents. Without any there is nothing to
// compile: the dispatch of extensions has no text of theirs.
func emitsRego(files map[string][]byte) bool {
	for path := range files {
		if strings.HasSuffix(path, ".rego") && path != "compiled/extensions/dispatch.rego" {
			return true
		}
	}
	return false
}

// checkBundle checks the bundle of a translation. It returns an error only if the bundle is
// not valid for a reason that no document explains.
func (r *translation) checkBundle(b *bundles.Bundle) error {
	err := bundles.Check(b)
	if err == nil {
		return nil
	}
	list := bundles.Diagnose(b, err)
	if len(list) == 0 {
		return foundf("%v", err)
	}
	r.list = append(r.list, list...).Sorted()
	return nil
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
		fmt.Fprintf(s.err, "%s: %s\n", r.read(), summary(r.list))
	}
	return nil
}

// read formats how many documents were read: "14 documents, 9 of other kinds skipped".
func (r *translation) read() string {
	text := diag.Counted(r.result.Documents+len(r.skipped), "document")
	if len(r.skipped) > 0 {
		text += fmt.Sprintf(", %d of other kinds skipped", len(r.skipped))
	}
	if n := r.ignored(); n > 0 {
		text += ", " + diag.Counted(n, "path") + " left out by patterns"
	}
	return text
}

// ignored returns the number of files and folders that patterns leave out.
func (r *translation) ignored() (n int) {
	for _, origin := range r.snapshot.Origins {
		n += origin.Ignored
	}
	return n
}

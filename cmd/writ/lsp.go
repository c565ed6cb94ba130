package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/cmd/writ/lsp"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
	"github.com/writ-policy/writ/translator/source"
)

func newLSP(s cli.Streams) *cobra.Command {
	var flags documents.Flags
	cmd := &cobra.Command{
		Use:   "lsp [DIR]",
		Short: "Serve an editor by the Language Server Protocol",
		Long: `lsp answers an editor on standard input and output by the Language Server
Protocol: diagnostics of the whole policy directory at each key, what a code
means, the role that a binding names and the bindings of a role, and completion
of kinds, fields, roles and verbs. Files that are open in the editor take the
place of stored ones.

DIR is the policy directory, relative to the folder that the editor has open;
without DIR it is that folder. docs/editors.md has the settings of editors.

Exit status 0 after the request shutdown, otherwise 1.`,
		Example: `  writ lsp policies`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef(cmd, "name one policy directory, or none for the folder of the editor")
			}
			given, err := flags.Settings()
			if err != nil {
				return err
			}
			o := lsp.Options{Version: cli.Version(), Compile: compileResult, Verify: func(ctx context.Context, a *editor.Analysis) ([]lsp.Verdict, error) {
				return verifyResult(ctx, &flags, a)
			}}
			if len(args) == 1 {
				o.Dir = args[0]
			}
			o.Open = func(dir string) (*editor.Workspace, error) {
				if err := documents.CheckDirectory(dir); err != nil {
					return nil, err
				}
				return editor.Open(dir, translator.Options{Settings: given, AllowEmpty: flags.AllowEmpty},
					source.DirOptions{NoIgnore: flags.NoIgnore}), nil
			}
			err = lsp.Serve(cmd.Context(), s.In, s.Out, o)
			if errors.Is(err, lsp.ErrNoShutdown) {
				return cli.Findingf("%v", err)
			}
			return err
		},
	}
	flags.Add(cmd)
	return cmd
}

// compileResult returns the mistakes of the Rego that documents without errors result in.
func compileResult(ctx context.Context, result *translator.Result) (diag.List, error) {
	t := documents.Translation{Result: result}
	err := t.Compile(ctx)
	return t.List, err
}

// verifyTime bounds the proofs after an edit.
const verifyTime = 10 * time.Second

// verifyResult returns the verdicts of the assertions of documents without errors.
func verifyResult(ctx context.Context, flags *documents.Flags, a *editor.Analysis) ([]lsp.Verdict, error) {
	at := time.Now()
	now := func() time.Time { return at }
	compiler, err := flags.Compiler(now)
	if err != nil {
		return nil, err
	}
	set := assertions.Of(a.Result.Directory.Documents(), a.Snapshot, compiler.Compile)
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	if err := set.Check(ctx); err != nil || set.List.HasErrors() || len(set.All) == 0 {
		return nil, err
	}
	b, err := bundles.Build(a.Result, bundles.BuildOptions{})
	if err != nil {
		return nil, err
	}
	side, err := compiler.Activate(ctx, b)
	if err != nil {
		return nil, err
	}
	report, err := set.Verify(ctx, side, nil, at, func(t time.Time) { at = t })
	if err != nil {
		return nil, err
	}
	var out []lsp.Verdict
	for i := range report.Assertions {
		r := &report.Assertions[i]
		v := lsp.Verdict{Position: set.All[i].At, Title: r.Verdict, Detail: "**" + r.Verdict + "**: " + r.Text}
		if r.Verdict != verify.Holds {
			v.Title += ": " + r.Text
		}
		if r.Witness != nil {
			for _, w := range r.Witness.Requests {
				v.Detail += "\n\n```json\n" + string(statement.Encode(w.Request)) + "\n```\n" + w.Outcome
			}
		}
		for _, d := range r.Documents {
			v.Detail += "\n\n" + d.Title() + " (" + d.Source + ")"
		}
		out = append(out, v)
	}
	return out, nil
}

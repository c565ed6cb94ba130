package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

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
			o := lsp.Options{Version: cli.Version(), Compile: compileResult}
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

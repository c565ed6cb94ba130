package main

import (
	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
)

func newCompletion(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a shell completion script",
		Long: `completion prints a script that completes commands, flags and values of flags.
Load it in the running shell, or put it into the shell's directory of
completions.`,
		Example: `  source <(writ completion bash)
  writ completion zsh > "${fpath[1]}/_writ"
  writ completion fish | source`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cli.Usagef(cmd, "name one shell: bash, zsh, fish or powershell")
		}
		return nil
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		root := cmd.Root()
		switch args[0] {
		case "bash":
			return root.GenBashCompletionV2(s.Out, true)
		case "zsh":
			return root.GenZshCompletion(s.Out)
		case "fish":
			return root.GenFishCompletion(s.Out, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(s.Out)
		}
		return cli.Unknown("shell", args[0], cmd.ValidArgs, "must be bash, zsh, fish or powershell")
	}
	return cmd
}

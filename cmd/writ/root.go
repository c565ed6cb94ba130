package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-policy/writ/translator/diag"
)

const rootHelp = `writ compiles the authorization documents a team keeps in git (Kubernetes RBAC and
Origin-style roles with deny rules) into one OPA bundle and answers "may they?",
naming the file and line that decided.

Everywhere:
  -  stands for standard input or standard output
  results go to standard output, talk to standard error; -o json is stable
  NO_COLOR or a stream that is no terminal turns colours off
  exit status 0: fine; 1: a finding (an error in documents, a failed test);
  2: wrong usage or input

Every flag can also be set by the environment (--master-namespace by
WRIT_MASTER_NAMESPACE) and in a YAML file named by --config or WRIT_CONFIG
(master-namespace: main). A flag wins over the environment, the environment over
the file, the file over the default.`

const rootExamples = `  writ check policies                      are the documents right?
  writ test policies                       do they decide as we say they do?
  writ build policies -o bundle.tar.gz     a bundle for any OPA
  writ inspect bundle.tar.gz               what is in it, and does it hold?
  writ serve --policies policies           answer over HTTP, reloading on change
  echo '{"user":"alice","verb":"get","resource":"pods","namespace":"shop"}' |
    writ eval --policies policies          answer here`

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "writ",
		Short:         "Authorization documents in, explained decisions out",
		Long:          rootHelp,
		Example:       rootExamples,
		Args:          unknownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(s.out)
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return applySettings(cmd) },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.PersistentFlags().String("config", "", "YAML `file` with values for flags")
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		newCheck(s), newBuild(s), newEval(s), newTest(s), newLint(s), newEffective(s), newServe(s),
		newInspect(s), newPush(s), newRollback(s), newExplain(s), newRoles(s), newVersion(s), newCompletion(s),
	)
	root.SetHelpCommand(newHelp(root))
	return root
}

// newHelp is cobra's help command with our exit status: it takes an unknown
// topic for a question answered.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, args)
			}
			return cmd.Help()
		},
	}
}

// unknownCommand refuses what follows the root and is no command.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return unknown("command", args[0], names, "writ --help lists the commands")
}

// flagError adds the nearest flag to pflag's complaint about an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("%w (writ %s --help lists the flags)", err, cmd.Name())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return unknown("flag", "--"+missing.GetSpecifiedName(), names, cmd.CommandPath()+" --help lists the flags")
}

// unknown says that nothing is called got, and what is called nearly so.
func unknown(what, got string, known []string, otherwise string) error {
	slices.Sort(known)
	if near := diag.Suggest(got, known); near != "" {
		return fmt.Errorf("unknown %s %q: did you mean %q?", what, got, near)
	}
	return fmt.Errorf("unknown %s %q: %s", what, got, otherwise)
}
